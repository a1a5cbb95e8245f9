"""The tables of an ablation, as assets/docs/ablations.md has them."""

from collections.abc import Sequence

from explainers.learned.ablation import ABLATIONS, SHARES, Ablated
from explainers.report.markdown_table import interval_cell, markdown_table

HEAD = """{steps} steps, {seeds} seeds, {texts} validation texts, the operator `mask`. A difference is that to the first
row, text by text; brackets are 95 % intervals."""


def ablation_markdown(method: str, rows: Sequence[Ablated]) -> str:
    """What each part reaches, how its loss falls, and what the paper found. `rows` are not empty."""
    first = rows[0]
    return "\n\n".join(
        (
            HEAD.format(steps=first.steps, seeds=len(first.by_seed), texts=first.aopc_c.texts),
            markdown_table([_figures(each) for each in rows]),
            "The mean loss, by share of the steps:",
            markdown_table([_losses(each) for each in rows]),
            f"The paper: {ABLATIONS[method].claim}",
        )
    )


def _figures(row: Ablated) -> dict[str, str]:
    figures = {
        "part": row.part,
        "AOPC-C ↑": interval_cell(row.aopc_c),
        **{f"seed {seed}": f"{mean:.3f}" for seed, mean in enumerate(row.by_seed)},
        "AOPC-S ↓": interval_cell(row.aopc_s),
    }
    if row.avg_sen is not None:
        figures |= {"AvgSen ↓": interval_cell(row.avg_sen)}
    if row.minus_whole is not None:
        comp, suff = row.minus_whole
        figures |= {"difference, AOPC-C": interval_cell(comp, "+"), "difference, AOPC-S": interval_cell(suff, "+")}
    return figures


def _losses(row: Ablated) -> dict[str, str]:
    spans = zip(SHARES, SHARES[1:], row.losses, strict=False)
    return {"part": row.part} | {f"{100 * start:.0f}–{100 * end:.0f} %": f"{loss:.3f}" for start, end, loss in spans}
