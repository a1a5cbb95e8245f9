"""The lower half of the Compare page: duel, interactions, curves, metrics, agreement; everything on the page as files,
made on demand; and the address that brings the page back.

Interactions are drawn in HTML: the units below each other, an arc for each strong pair, and a table of them.

Support is a full blue line, opposition a dashed orange one; the width tells the size. The table is what a screen
reader reads; the drawing has no more.
"""

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from app import plain_text
from app.compare import drawing_options, duel, file_rows, follow_ups, panels, sheet_rows, two_models
from app.compare.engine import Engine
from app.compare.kept_inputs import HOURS
from app.compare.runs import FollowUp, Run
from app.compare.state import BOTH_KINDS, compare_state
from app.session import described
from explainers.methods.registry import method_spec
from explainers.metrics.erasure import Kind
from explainers.report.wording import decimals, escaped, name_of_units, plural, quoted_among, target_name

if TYPE_CHECKING:
    from explainers.attribution.interactions import PairInteractions
    from explainers.models.calls import Meter
    from explainers.results.comparison import Comparison

HEAT_MAPS = ("Heat maps, PNG", "plots.heatmaps_png", "crosslight-heat-maps.png", "image/png")
LINK = {
    "": "The address holds the settings and the input. Whoever opens it sees this page.",
    "text": "The address holds the settings and a name for the text, which is too long for it. This server keeps it "
    "for {hours} hours after it was last shown. Later the content of the JSON file, pasted as the text, opens this "
    "page.",
    "picture": "The address holds the settings, the text and a name for your own image. This server keeps it for "
    "{hours} hours after it was last shown. Later send the image or the HTML file with it.",
    "text and picture": "The address holds the settings and names for your own image and the text, which is too long "
    "for it. This server keeps both for {hours} hours after they were last shown. Later send them with it, or the HTML "
    "file.",
}

Pair = tuple[tuple[int, int], float]

SHOWN = 8  # pairs
BOUND = 1.96  # standard deviations: what lies within is not drawn
ROW = 24  # pixels of a unit
WIDTH = 130  # pixels of the arcs
WIDEST = 6  # pixels of the strongest line
STYLE = """<style>
.arcs { display: flex; flex-wrap: wrap; gap: 1rem 2.5rem; align-items: flex-start; max-width: 60rem; }
.arcs-drawing { display: flex; min-width: 0; max-width: 100%; }
.arcs-units { margin: 0; padding: 0; list-style: none; text-align: right; min-width: 0; max-width: 11rem; }
.arcs-units li { height: 24px; line-height: 24px; margin: 0; padding: 0 0.4rem 0 0; overflow: hidden;
                 white-space: nowrap; text-overflow: ellipsis; }
.arcs-lines { position: relative; flex: none; }
.arcs-lines i { position: absolute; left: 0; border-left: 0 !important; opacity: 0.85; }
.arcs-lines .support { border: solid #2f7fc4; }
.arcs-lines .oppose { border: dashed #d1781c; }
.arcs table { border-collapse: collapse; font-variant-numeric: tabular-nums; min-width: 0; max-width: 100%; }
.arcs th, .arcs td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; font-weight: 400; overflow-wrap: anywhere;
                     border-bottom: 1px solid rgba(128, 128, 128, 0.3); }
.arcs thead th, .arcs-note { font-size: 0.8rem; opacity: 0.8; }
.arcs .number { text-align: right; white-space: nowrap; }
.arcs-note { flex-basis: 100%; margin: 0; }
</style>"""


def show_downloads(comparison: "Comparison", *, disabled: bool) -> None:
    st.header("Export", anchor=False)
    files = (
        ("Page, HTML", "document.document", "crosslight.html", "text/html"),
        ("Curves, PNG", "plots.curves_png", "crosslight.png", "image/png"),
        ("Curves, SVG", "plots.curves_svg", "crosslight.svg", "image/svg+xml"),
        *((HEAT_MAPS,) if comparison.decision.encoding.multimodal else ()),
        ("Scores, CSV", "tables.csv_scores", "crosslight-scores.csv", "text/csv"),
        ("Metrics, CSV", "tables.csv_metrics", "crosslight-metrics.csv", "text/csv"),
        ("Curves, CSV", "tables.csv_curves", "crosslight-curves.csv", "text/csv"),
    )
    with st.container(horizontal=True):
        for label, maker, name, kind in files:
            st.download_button(
                label,
                data=partial(file_content, maker, comparison),
                file_name=name,
                mime=kind,
                on_click="ignore",
                disabled=disabled,
                key=f"file {name}",
            )
        st.download_button(
            "All, JSON",
            data=partial(file_rows.json_with_view, comparison, described(compare_state().controls)),
            file_name="crosslight.json",
            mime="application/json",
            on_click="ignore",
            disabled=disabled,
            key="file crosslight.json",
        )
        with st.popover("Link to this view"):
            parameters = {name: st.query_params.get_all(name) for name in st.query_params}
            page = urlsplit(st.context.url or "")._replace(query=urlencode(parameters, doseq=True))
            st.code((page if page.path else page._replace(path="/")).geturl(), language=None)
            st.caption(LINK[compare_state().left_out].format(hours=HOURS))


def file_content(maker: str, comparison: "Comparison") -> str | bytes:
    """What `maker`, a function below `explainers.report`, makes of the comparison. It is imported only now."""
    module, _, name = maker.partition(".")
    content: str | bytes = getattr(import_module(f"explainers.report.{module}"), name)(comparison)
    return content


MODALITIES: dict[str, Kind] = {"Image": "patch", "Text": "word"}
PLURALS = {"patch": "patches", "word": "words"}


def show(engine: Engine, run: Run, drawing: drawing_options.DrawingOptions, *, disabled: bool) -> bool:
    """Draw a run with a prediction; downloads are `disabled` until it is over.

    Returns whether something drawn is still to come, as it was before the drawing, so that no result that comes
    meanwhile is missed.
    """
    waits = follow_ups.pending(run)
    waits = duel.show(engine, run) or waits
    waits = show_interactions(engine, run) or waits
    multimodal = run.decision is not None and run.decision.encoding.multimodal
    st.header(f"Removing and keeping words{' and patches' if multimodal else ''}", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        kind = _kind() if multimodal else None
        reverse = st.toggle(
            "Reverse order too",
            help="Dotted: the least important first. The further it lies above the solid line, the better the order.",
            **compare_state().widget("reverse"),
        )
    single = _single_modality(engine, run, kind)
    waits = waits or (single is not None and single.active)
    sheet_rows.show_curves(_curves(run, single.result if single is not None else None, drawing, reverse=reverse))
    st.header("Do the methods agree?", anchor=False)
    panels.agreement(run)
    waits = two_models.show(engine, run, drawing) or waits
    show_downloads(run.comparison(), disabled=disabled)
    return waits or follow_ups.pending(run)


def _kind() -> Kind | None:
    """Which units are erased in the curves; None for both kinds."""
    offered = [BOTH_KINDS, *MODALITIES]
    chosen = st.segmented_control(
        "Erased units",
        offered,
        required=True,
        help="Image: only patches are erased and every word stays. Text: only words are erased and the image stays. "
        "The metrics below always count both.",
        **compare_state().widget("erased", options=offered, initial="default"),
    )
    return MODALITIES.get(chosen or BOTH_KINDS)


def _single_modality(engine: Engine, run: Run, kind: Kind | None) -> FollowUp[follow_ups.ModalityCurves] | None:
    """The curves over one kind of units, once they can be computed; their state in a line."""
    if kind is None:
        return None
    if run.active:
        st.caption(f"The curves over {PLURALS[kind]} alone follow when all methods are done. Below: both kinds.")
        return None
    follow_up = follow_ups.modality_curves(engine, run, kind)
    if follow_up.active and follow_up.result is not None:
        st.caption(f"Erasing {PLURALS[kind]} alone: {follow_up.result.progress(run.comparison())} methods done.")
    elif follow_up.error:
        plain_text.error(follow_up.error)
    return follow_up


def _curves(
    run: Run, single: follow_ups.ModalityCurves | None, drawing: drawing_options.DrawingOptions, *, reverse: bool
) -> dict[str, Any]:
    """Over both kinds of units or a single one, made again only where something has changed."""
    featured = sheet_rows.row_order(run, drawing.sort).featured

    def make() -> dict[str, Any]:
        comparison: Comparison = run.comparison()
        units = "units" if run.request.example.image is not None else f"{run.request.settings.name_of_unit}s"
        if single is not None:
            comparison, units = single.applied_to(comparison), PLURALS[single.kind]
        return sheet_rows.curve_payload(
            comparison, featured=featured, percent=drawing.percent, reverse=reverse, units=units
        )

    key = (run.settled, single and single.settled, drawing.percent, reverse, featured)
    return run.view("curves", key, make)


def interactions_html(comparison: "Comparison", result: "PairInteractions", meter: "Meter") -> str:
    """The drawing, the table of the `SHOWN` strongest pairs, and what it cost."""
    strongest = result.strongest(SHOWN)
    beyond = [pair for pair in strongest if abs(pair[1]) > BOUND * result.spreads[pair[0]]]
    return (
        f'{STYLE}<div class="arcs"><div class="arcs-drawing" aria-hidden="true">{_units(comparison, result)}'
        f"{_arcs(result, beyond)}</div>{_table(comparison, strongest, result)}"
        f'<p class="arcs-note">{escaped(_note(comparison, result, meter, len(beyond)))}</p></div>'
    )


def _units(comparison: "Comparison", result: "PairInteractions") -> str:
    units = comparison.decision.encoding.units
    names = [escaped(units[number].text) for number in result.units]
    return f'<ul class="arcs-units">{"".join(f"<li>{name}</li>" for name in names)}</ul>'


def _arcs(result: "PairInteractions", pairs: list[Pair]) -> str:
    """Brackets with round corners from the middle of one row to that of another; the farther, the wider."""
    row = {number: place for place, number in enumerate(result.units)}
    largest = max((abs(value) for _, value in pairs), default=1.0)
    farthest = max((row[last] - row[first] for (first, last), _ in pairs), default=1)
    drawn = []
    for units, value in pairs:
        first, last = (row[unit] for unit in units)
        top, height = round((first + 0.5) * ROW), (last - first) * ROW
        reach, width = round(WIDTH * (last - first) / farthest), max(1, round(WIDEST * abs(value) / largest))
        drawn.append(
            f'<i class="{"support" if value > 0 else "oppose"}" style="top: {top}px; height: {height}px; '
            f"width: {reach}px; border-width: {width}px; border-radius: 0 {reach}px {reach}px 0 / "
            f'0 {height // 2}px {height // 2}px 0"></i>'
        )
    return f'<div class="arcs-lines" style="width: {WIDTH}px; height: {len(row) * ROW}px">{"".join(drawn)}</div>'


def _table(comparison: "Comparison", pairs: list[Pair], result: "PairInteractions") -> str:
    rows = "".join(
        f'<tr><th scope="row">{" × ".join(escaped(quoted_among(comparison, unit)) for unit in (first, last))}</th>'
        f'<td class="number">{_signed(value)} ± {decimals(result.spreads[first, last])}</td></tr>'
        for (first, last), value in pairs
    )
    head = '<tr><th scope="col">together</th><th scope="col" class="number">change of p ± standard deviation</th></tr>'
    return f'<table aria-label="Strongest interactions"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _signed(value: float) -> str:
    return f"{'+' if value > 0 else ''}{decimals(value)}"


def _note(comparison: "Comparison", result: "PairInteractions", meter: "Meter", drawn: int) -> str:
    arcs = f"{drawn} of the pairs in the table are beyond ± 1.96 standard deviations and have an arc. " if drawn else (
        "No pair is beyond ± 1.96 standard deviations, so there is no arc. "
    )  # fmt: skip
    units = comparison.decision.encoding.units
    others = f"The other {len(units) - len(result.units)} stay in place. " if len(result.units) < len(units) else ""
    return (
        f"{arcs}{others}Above 0, full line: together they raise p({target_name(comparison.decision)}) by more than "
        f"each alone; below 0, dashed: by less. {result.samples:,} masks, {meter.calls:,} of them new."
    )


TITLE = "Which {} act together?"
WAITING = "They can be computed when all methods are done."
ASKING = "Asking the model …"
IDEA = "An interaction is what two of them do together beyond what each does alone (Faith-Shap of order 2)."
REUSED = "Masks about which LIME, KernelSHAP and the random orders have asked are not asked again."


def show_interactions(engine: Engine, run: Run) -> bool:
    """Return whether the result was still to come when it was drawn."""
    if run.decision is None:
        return False
    units, name = len(run.decision.encoding.units), plural(name_of_units(run.decision))
    st.header(TITLE.format(name), anchor=False)
    if units < 2:
        plain_text.caption(f"Interactions need at least two {name}.")
        return False
    among, method = (None, "") if run.active else follow_ups.units_among(run)
    if among == ():
        plain_text.caption(f"An input with more than {follow_ups.MOST_UNITS} {name} needs a method that ranks them.")
        return False
    state = follow_ups.known_interactions(run)
    waits = state is not None and state.active  # before it is drawn: the result may come meanwhile
    if state is None:
        st.caption(WAITING if run.active else f"{IDEA} {REUSED}" if among is None else IDEA)
        if among is not None:
            plain_text.caption(
                f"This input has {units} {name}. Interactions are computed for the {len(among)} with the largest "
                f"scores of {method_spec(method).name}, of either sign; the others stay in place."
            )
        if st.button("Compute interactions", key="interactions", disabled=run.active):
            follow_ups.interactions_of(engine, run)
            st.rerun(scope="app")
    elif state.active:
        st.caption(ASKING)
    elif state.error:
        plain_text.error(state.error)
    elif state.result is not None:
        st.html(interactions_html(run.comparison(), state.result, state.meter))
    return waits
