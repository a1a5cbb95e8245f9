"""Which explanation the evidence supports, in a strip of fixed height that is filled as the methods finish."""

from html import escape

import streamlit as st

from app import plain_text
from app.compare.runs import Run
from app.compare.verdicts import verdict_of
from explainers.comparison.verdict import Verdict
from explainers.report import verdict as wording
from explainers.report.guess import guess_sentence
from explainers.report.operators import holds_line

NO_METHOD = "No method is chosen. Choose at least one in the sidebar."
STYLE = """<style>
.verdict { border-left: 4px solid var(--tone); background: color-mix(in srgb, var(--tone) 9%, transparent);
  height: 7rem;
  border-radius: 0.4rem; padding: 0.55rem 1rem; overflow-y: auto; box-sizing: border-box; --tone: #7b8794;
  display: flex; flex-direction: column; gap: 0.15rem; justify-content: safe center; }
.verdict.clear { --tone: #2166ac; }
.verdict.tied { --tone: #5a8fc4; }
.verdict.refused { --tone: #b58105; }
.verdict.old { opacity: 0.55; }
.verdict .headline { font-size: 1.2rem; font-weight: 600; display: flex; flex-wrap: wrap; gap: 0 0.8rem;
  align-items: baseline; overflow-wrap: anywhere; }
.verdict .certainty { font-size: 0.78rem; font-weight: 600; border: 1px solid var(--tone); border-radius: 1rem;
  padding: 0 0.6rem; white-space: nowrap; }
.verdict .evidence { font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.verdict .rest { font-size: 0.84rem; opacity: 0.8; overflow-wrap: anywhere; }
@media (max-width: 1000px) { .verdict { height: 9rem; } }
@media (max-width: 640px) {
  .verdict { height: 15rem; padding: 0.4rem 0.7rem; }
  .verdict .headline { font-size: 1.05rem; }
}
</style>"""
WAITING_FOR_METHODS = "{} compared when all methods are done."


def show(run: Run) -> None:
    """Of what is finished; as long as that is nothing, the verdict before, pale."""
    verdict, shown = verdict_of(run), run
    if verdict.certainty == "pending" and run.active and run.previous is not None:
        verdict, shown = verdict_of(run.previous), run.previous
    key = (shown.settled, run.active, verdict)
    st.html(STYLE + run.view("verdict strip", key, lambda: markup(run, shown, verdict)))
    if any(column.spec.is_given for column in run.columns.values()):
        plain_text.paragraph(run.view("guess place", (run.settled, run.active), lambda: _guess(run)))


def _guess(run: Run) -> str:
    """How a person's order and people's marks compare, as soon as the methods are done."""
    done = run.question is not None and not run.active
    return (guess_sentence(run.comparison()) if done else "") or WAITING_FOR_METHODS.format(
        "Your order is" if run.request.guess else "People's marks are"
    )


def markup(run: Run, shown: Run, verdict: Verdict) -> str:
    """HTML; every text is escaped."""
    if verdict.certainty == "pending" or shown.question is None or not run.columns:
        return _box("", _waiting(run), "", "", "", "")
    comparison = shown.comparison()
    rest = (
        wording.shared_first_line(verdict, comparison),
        holds_line(verdict, comparison),
        wording.within_random_line(verdict),
        wording.abstaining_line(verdict, comparison),
    )
    kind = f"{verdict.certainty}{' old' if shown is not run else ''}"
    return _box(
        kind,
        wording.headline(verdict, comparison),
        wording.certainty_label(verdict, comparison),
        wording.certainty_note(verdict),
        _sentence(wording.evidence_line(verdict, comparison)),
        " ".join(_sentence(line) for line in rest if line),
    )


def _sentence(line: str) -> str:
    return f"{line[:1].upper()}{line[1:]}{'' if line.endswith('.') else '.'}" if line else ""


def _waiting(run: Run) -> str:
    if not run.columns:
        return NO_METHOD
    settled = [column.settled for column in run.columns.values()]
    if run.active and any(settled):
        return "The verdict follows when the random orders are measured."
    if run.active:
        return "Which explanation can be trusted on this input? The first results are on their way."
    if any(column.result is not None for column in run.columns.values()):
        return "The random orders were not measured, so there is no verdict."
    return "No method has finished, so there is no verdict."


def _box(kind: str, headline: str, certainty: str, note: str, evidence: str, rest: str) -> str:
    badge = f'<span class="certainty" title="{escape(note)}">{escape(certainty)}</span>' if certainty else ""
    lines = "".join(
        f'<div class="{name}">{escape(text)}</div>' for name, text in (("evidence", evidence), ("rest", rest)) if text
    )
    return (
        f'<section class="verdict {kind}" aria-label="Verdict" role="status">'
        f'<div class="headline"><span>{escape(headline)}</span>{badge}</div>{lines}</section>'
    )
