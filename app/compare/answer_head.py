"""The head of the page: the input with its decisive words marked, what they do to p, and how sure that is.

It has the same parts in every state, so that nothing moves when the answer comes. As long as a run has none, or where
none came in its time, that of the run before is shown, pale, and said to be that.
"""

from html import escape

import streamlit as st

from app import plain_text
from app.compare import guess, heat_maps, score_sheet, units
from app.compare.runs import Run, answer_of
from app.compare.state import NO_OTHER, PREDICTED, compare_state
from explainers.evaluation.names import RANDOM
from explainers.models.inputs.encoding import Erasure
from explainers.report import answer as answer_report
from explainers.report.confidence import confidence_sentence, margin_sentence
from explainers.report.wording import decimals, escaped, holding_clauses, name_of_units, one_line, plural, target_name
from explainers.results.answer import Answer, ErasureEffect, Units
from explainers.results.comparison import Comparison

NO_METHOD = "No method is chosen. Choose at least one."
WAITING = "Which words carry this decision? The first results are on their way."
NOT_MEASURED = "The random orders were not measured, so there is no answer."
STOPPED_EARLY = "Stopped before there was an answer."
NOTHING = "No method has finished, so there is no answer."
NO_TIME = "No answer in {} s: {} did not fit. Compute the rest, or give more time."
SO_FAR, MISSING = "{} of {} methods so far", "only {} of {} methods had time"
TO_COME, STOPPED, INCOMPLETE = "more to come", "stopped before all was done", "not everything had time"
NOT_YET = "Not decided within {} s: not all methods had time. Compute the rest"
EARLIER, OF_OTHER = "Earlier answer", "Answer for {}"
COMES, LATE = ", until the new one is there", ": {} s were not enough for a new one. Compute the rest"
LONG = 400  # characters of an input that is cut to what is marked
STYLE = """<style>
.answer { --tone: #7b8794; border-left: 4px solid var(--tone); border-radius: 0.4rem; padding: 0.6rem 1rem 0.5rem;
  background: color-mix(in srgb, var(--tone) 8%, transparent); box-sizing: border-box; overflow-wrap: anywhere; }
.answer.supported { --tone: #6a3fb5; }
.answer.open { --tone: #b58105; }
.answer-head { font-size: 1.3rem; font-weight: 650; line-height: 1.3; min-height: 1.7rem; display: flex;
  flex-wrap: wrap; gap: 0 0.8rem; align-items: baseline; }
.answer-old, .answer-more { font-size: 0.78rem; font-weight: 600; border: 1px solid var(--tone); border-radius: 1rem;
  padding: 0 0.6rem; }
.answer.old > :not(.answer-head), .answer.old .answer-head > :not(.answer-old) { opacity: 0.55; }
.answer-input { display: flex; gap: 0.9rem; align-items: safe center; margin: 0.35rem 0 0.5rem; max-height: 11rem;
  overflow-y: auto; }
.answer-input.long { height: 11rem; align-items: start; }
@keyframes below { from { mask-size: 100% calc(100% - 2.2rem), 100% 2.2rem; }
  95%, to { mask-size: 100% 100%, 100% 0; } }
@supports (animation-timeline: scroll(self)) { /* fades where there is more below */
  .answer-input { mask: linear-gradient(#000 0 0) top / 100% 100% no-repeat,
      linear-gradient(#000, transparent) bottom / 100% 0 no-repeat;
    animation: below linear both; animation-timeline: scroll(self); } }
.answer-text { font-size: 1.08rem; line-height: 1.75; white-space: pre-wrap; min-width: 0; }
.answer-text small { opacity: 0.7; margin-inline-end: 0.5rem; }
.answer-text mark { color: inherit; background: color-mix(in srgb, #7d4fd0 34%, transparent); border-radius: 0.25rem;
  padding: 0.1rem 0.2rem; font-weight: 650; box-shadow: inset 0 -2px 0 #7d4fd0; }
.undecided .answer-text mark { background: none; box-shadow: none; outline: 1px dashed #7d4fd0; outline-offset: -1px; }
.answer-text s { opacity: 0.5; }
.answer-image { position: relative; flex: none; line-height: 0; max-width: 100%; }
.answer-image img { max-height: 9.5rem; max-width: 100%; display: block; border-radius: 0.2rem; }
.answer-image i { position: absolute; box-sizing: border-box; outline: 3px solid #7d4fd0; outline-offset: -2px;
  box-shadow: inset 0 0 0 2px #fff; }
.undecided .answer-image i { outline-style: dashed; }
.answer-bars { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: 0.2rem 1.4rem; margin: 0; }
.answer-name { font-size: 0.86rem; display: flex; justify-content: space-between; gap: 0.6rem;
  align-items: baseline; }
.answer-name b { font-size: 1.05rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.answer-track { display: block; height: 0.7rem; border-radius: 3px; background: rgba(128, 128, 128, 0.2);
  margin-top: 0.1rem; }
.answer-track i { display: block; height: 100%; border-radius: 3px; background: #8a8f98; }
.answer-without .answer-track i { background: #7d4fd0; }
.answer-sentence { margin: 0.5rem 0 0.2rem; min-height: 1.5rem; }
.answer-marks { display: flex; flex-wrap: wrap; gap: 0.2rem 1.3rem; list-style: none; margin: 0; padding: 0;
  font-size: 0.85rem; min-height: 1.4rem; }
.answer-marks > span { cursor: help; margin: 0; font-variant-numeric: tabular-nums; }
.answer-marks > span::before { content: "●"; color: #2a8a4a; margin-inline-end: 0.35rem; }
.answer-marks > span.no::before { content: "○"; color: #b58105; }
.answer-marks > span.unknown::before { content: "–"; color: inherit; }
.answer-rest { font-size: 0.84rem; opacity: 0.8; margin: 0.2rem 0 0; }
.answer-room { height: 2.5rem; }
.st-key-answer-buttons { margin-top: -2.5rem; } /* over the room, which stays while they are drawn */
.answer.computed .answer-below { min-height: 6.4rem; } /* of all that may still come */
@media (max-width: 640px) {
  .answer { padding: 0.45rem 0.7rem; }
  .answer-head { font-size: 1.12rem; }
  .answer-below { min-height: 8.2rem; }
  .answer.computed .answer-head { min-height: 4.1rem; align-content: flex-start; }
  .answer.computed .answer-below { min-height: 16.5rem; }
  .answer-bars { grid-template-columns: minmax(0, 1fr); }
  .answer-bars > div { display: grid; grid-template-columns: 1fr 5.5rem; gap: 0.6rem; align-items: center; }
  .answer-input { max-height: 16rem; flex-wrap: wrap; }
  .answer-input.long { height: 16rem; }
  .st-key-given_image { display: none; } /* the answer shows it */
}
</style>"""


def show(run: Run, *, actions: bool = True) -> None:
    """Draw the answer of what is finished; with `actions` also what can be tried next, or as much room."""
    active = run.active  # which a worker may end meanwhile
    shown, answer = shown_answer(run)
    key = (shown.settled, run.active, run.status, id(shown.whole), answer)
    with st.container(key="answer head"):
        st.html(STYLE + run.view("answer head", key, lambda: markup(run, shown, answer)))
    with st.container(key="answer actions"):  # also an empty one, so that what follows keeps its place in the page
        if actions and (run.stored is None or answer.status == "open"):
            known = answer.status in ("supported", "open") and (shown is not run or not active)
            late = shown is not run and not active
            of = (run, answer_of(run)) if late else (shown, answer)
            with st.container(gap=None):
                st.html('<div class="answer-room"></div>')
                if known:
                    _actions(*of, disabled=shown is not run and active)
        given = run.view("guess place", (run.settled, run.active), lambda: guess.place(run))
        if given:
            plain_text.paragraph(given)


def shown_answer(run: Run) -> tuple[Run, Answer]:
    """Return the run and its answer, or those before as long as it has none or where it had no time."""
    answer = answer_of(run)
    if answer.status != "pending" or run.earlier is None:
        return run, answer
    earlier = answer_of(run.earlier)
    same = _question(run) == _question(run.earlier)
    grows = earlier.leading or run.rest_of is run.earlier
    tells = earlier.status == "supported" or not earlier.provisional or (grows and same)
    stays = run.active or (_had_no_time(run) and same)
    return (run.earlier, earlier) if tells and stays else (run, answer)


def markup(run: Run, shown: Run, answer: Answer) -> str:
    """Return HTML; every text is escaped."""
    known = answer.status != "pending" and shown.decision is not None and bool(run.columns)
    named = answer.words if known and not answer.refusal else ()
    old = shown is not run and known
    kind = f"{answer.status if known else 'pending'}{' old' if old else ''}{' computed' if run.stored is None else ''}"
    about = _heading(shown, answer, asks=not run.active) if known else _waiting(run)
    meaning = answer_report.heading_meaning(answer, shown.comparison()) if known else ""
    badge = f'<span class="answer-old">{escape(_old(run, shown))}</span>' if old else ""
    told = run.active or answer.leading or not answer.undecided
    provisional = known and answer.provisional and not old and told
    more = f'<span class="answer-more">{escape(_how_many(shown))}</span>' if provisional else ""
    text = _input(shown if known else run, named, decided=bool(answer.marked))
    return (
        f'<section class="answer {kind}" aria-label="Answer" role="status">'
        f'<div class="answer-head"><span tabindex="0" title="{escape(meaning)}">{escape(about)}</span>'
        f"{badge}{more}</div>"
        f"{text}{_bars(shown, answer if known else None)}"
        f'<div class="answer-below">{_below(shown, answer) if known else _empty_below()}</div></section>'
    )


def _heading(shown: Run, answer: Answer, *, asks: bool = True) -> str:
    """An answer that more methods may turn is not told as if it were one; it `asks` for more time unless that is on its
    way."""
    if asks and shown.is_short and answer.undecided and not answer.leading:
        return NOT_YET.format(shown.short_of)
    return answer_report.heading(answer, shown.comparison(), brief=True)


def _how_many(run: Run) -> str:
    """Return how many of the methods have scores, of those that did not fail, as long as more may change the answer."""
    failed = sum(bool(run.comparison().failure(method)) for method in run.columns)
    scored, able = sum(run.result(method) is not None for method in run.columns), len(run.columns) - failed
    if scored == able:
        return TO_COME if run.active else INCOMPLETE if run.is_short else STOPPED
    return (SO_FAR if run.active else MISSING if run.is_short else STOPPED).format(scored, able)


def _question(run: Run) -> tuple[object, ...]:
    """Return what an answer is about, besides the input and its units."""
    request = run.request
    return request.label, request.versus, request.settings.erasure


def _had_no_time(run: Run) -> bool:
    return run.current is not None and run.current.lacks_methods


def _old(run: Run, shown: Run) -> str:
    """Return what the answer is that is shown, and why."""
    count = len(shown.request.removed)
    other = OF_OTHER.format(f"the text with {count} removed" if count else "the whole text")
    which = EARLIER if shown.request.removed == run.request.removed else other
    return which + (COMES if run.active else LATE.format(run.short_of))


def _waiting(run: Run) -> str:
    if not run.columns:
        return NO_METHOD
    if run.active:
        return WAITING
    if run.status == "stopped":
        return STOPPED_EARLY
    if _had_no_time(run):
        orders = run.current is not None and RANDOM in run.current.postponed
        return NO_TIME.format(run.short_of, "the random orders" if orders else "a second method")
    return NOT_MEASURED if run.current is not None and run.current.results else NOTHING


def _input(run: Run, words: Units, *, decided: bool) -> str:
    """The image and the texts with the `words` marked, which are numbers among the remaining units; dashed where they
    are not `decided`, but named. Of a long input only what stands around them, so that they do not lie below the end of
    the card."""
    numbers, texts = heat_maps.remaining(run), score_sheet.segments(run)
    marked, removed = {numbers[unit] for unit in words}, set(run.request.removed)
    is_long = sum(len(text) for pieces in texts for text, _ in pieces) > LONG
    parts = []
    for name, pieces in zip(score_sheet.labels(run), texts, strict=False):
        label = f"<small>{escaped(name)}</small>" if name else ""
        shown = score_sheet.excerpt(pieces, marked) if is_long and marked else pieces
        parts.append(f'<div dir="auto">{label}{"".join(_piece(*piece, marked, removed) for piece in shown)}</div>')
    kind = f"answer-input{' long' if is_long else ''}{'' if decided else ' undecided'}"
    return f'<div class="{kind}">{_image(run, marked)}<div class="answer-text">{"".join(parts)}</div></div>'


def _piece(text: str, unit: int, marked: set[int], removed: set[int]) -> str:
    tag = "mark" if unit in marked else "s" if unit in removed else ""
    return f"<{tag}>{escaped(text)}</{tag}>" if tag else escaped(text)


def _image(run: Run, marked: set[int]) -> str:
    data = heat_maps.image_data(run)
    if data is None:
        return ""
    boxes = (data["patches"].get(str(unit)) for unit in sorted(marked))
    frames = "".join(
        f'<i title="{escaped(name)}" style="left:{left:.2f}%;top:{top:.2f}%;width:{width:.2f}%;'
        f'height:{height:.2f}%"></i>'
        for left, top, width, height, name in filter(None, boxes)
    )
    return f'<div class="answer-image"><img src="{data["src"]}" alt="The image that is explained">{frames}</div>'


def _bars(shown: Run, answer: Answer | None) -> str:
    """p of the whole, without the marked units, and without random ones; empty bars as long as these are not known."""
    if shown.decision is None:
        bars = [_bar("", "…", None, "")] * 3
    else:
        comparison = shown.comparison()
        label, nouns = target_name(comparison.decision, 24), plural(name_of_units(comparison.decision))
        full = comparison.probability
        whole = f"all other {nouns}" if comparison.removed else f"all {nouns}"
        whole = "the whole text" if comparison.decision.settings.opened and not comparison.removed else whole
        bars = [_bar("", f"{label}, {whole}", full, _meaning(comparison, label))]
        if answer is None or answer.status == "pending":
            bars += [_bar("", f"without the decisive {nouns}", None, ""), _bar("", f"without random {nouns}", None, "")]
        elif answer.marked and answer.effect is not None:
            bars += _effect_bars(comparison, answer, answer.effect)
    return f'<div class="answer-bars">{"".join(bars)}</div>'


def _meaning(comparison: Comparison, label: str) -> str:
    """Return what the probability of the whole input is."""
    decision = comparison.decision
    if decision.target.versus is None:
        return f"p({label}) of the input"
    labels = decision.card.labels
    one, other = (one_line(labels[number]) for number in (decision.target.label, decision.target.versus))
    return f"p({one}) / (p({one}) + p({other})) of the input"


def _effect_bars(comparison: Comparison, answer: Answer, effect: ErasureEffect) -> list[str]:
    """p without the marked units and without random ones; with only them where that tells more. The other experiment
    is in the hover."""
    unit, random = name_of_units(comparison.decision), answer_report.random_units(answer, comparison)
    marked = unit if len(answer.words) == 1 else plural(unit)
    prefix, (own, chance) = answer_report.experiment(effect), effect.shown
    other, (kept, random_kept) = ("With only", (effect.kept, effect.random_kept))
    if not effect.shows_by_removing:
        other, (kept, random_kept) = "Without", (effect.removed, effect.random_removed)
    return [
        _bar("answer-without", f"{prefix} the marked {marked}", own, f"{other} the marked {marked}: {decimals(kept)}."),
        _bar("", f"{prefix} {random}", chance, f"Mean of random orders. {other} {random}: {decimals(random_kept)}."),
    ]


def _bar(kind: str, name: str, p: float | None, meaning: str) -> str:
    value, width = (decimals(p), 100 * p) if p is not None else ("…", 0.0)
    head = f'<div class="answer-name"><span>{escaped(name)}</span><b>{value}</b></div>'
    track = f'<span class="answer-track"><i style="width:{width:.1f}%"></i></span>'
    return f'<div class="{kind}" title="{escaped(meaning)}">{head}{track}</div>'


def _below(shown: Run, answer: Answer) -> str:
    """The sentence, the three marks, and what else is to be said."""
    comparison = shown.comparison()
    sentences = (
        answer.refusal,
        margin_sentence(comparison),
        answer_report.size_sentence(answer, comparison),
        "" if answer.refusal else answer_report.method_sentence(answer, comparison, brief=True),
        answer_report.chance_sentence(answer),
        confidence_sentence(answer),
    )
    rest = (
        answer_report.scope_line(comparison),
        "" if shown.active or answer.refusal else answer_report.compared_sentence(answer, comparison).removesuffix("."),
        answer_report.abstaining_line(answer, comparison),
        answer_report.advice(answer, comparison).removesuffix("."),
    )
    lines = " ".join(f"{line}." for line in rest if line)
    marks = "".join(map(_mark, answer_report.marks(answer, comparison)))
    below = f'<p class="answer-rest">{escaped(lines)}</p>' if lines else ""
    return (
        f'<p class="answer-sentence">{escaped(" ".join(filter(None, sentences)))}</p>'
        f'<div class="answer-marks" role="list">{marks}</div>{below}'
    )


def _mark(mark: answer_report.Mark) -> str:
    kind = {True: "yes", False: "no", None: "unknown"}[mark.holds]
    head = f'<span role="listitem" class="{kind}" tabindex="0" title="{escaped(mark.meaning)}">'
    return f"{head}{escaped(mark.text)}</span>"


def _empty_below() -> str:
    return '<p class="answer-sentence"></p><div class="answer-marks"></div>'


def other_erasures(answer: Answer, comparison: Comparison) -> list[Erasure]:
    """Return the operators under which another answer may come: not those under which this one holds."""
    holding = [comparison.decision.settings.erasure, *(erasure for erasure, holds in answer.holds if holds)]
    return [] if answer.p is None else [one for one in comparison.decision.card.erasures if one not in holding]


def _actions(run: Run, answer: Answer, *, disabled: bool) -> None:
    """Draw buttons for what can be tried next; `disabled` until the next answer has come."""
    comparison, state = run.comparison(), compare_state()
    erasures = other_erasures(answer, comparison)
    settings = comparison.decision.settings
    closed = units.closed_sentences(comparison.decision.encoding, settings, answer.words)
    if comparison.explains_predicted and not erasures and not units.has_actions(closed, settings):
        return
    with st.container(horizontal=True, key="answer buttons"):
        if not comparison.explains_predicted:
            name = one_line(comparison.decision.card.labels[comparison.predicted], 30)
            st.button(
                plain_text.label(f"Explain {name} instead", "Explain the predicted class instead"),
                key="answer predicted",
                on_click=state.change,
                kwargs={"class_": PREDICTED, "versus": NO_OTHER},
                disabled=disabled,
            )
        units.actions(closed, settings, state, marked=answer.status == "supported", disabled=disabled)
        for erasure in erasures:
            st.button(
                f"Erase by {erasure}",
                key=f"answer {erasure}",
                help=f"Compare again where {holding_clauses([(erasure, True)], comparison)[0]}.",
                on_click=state.change,
                kwargs={"erase": erasure},
                disabled=disabled,
            )
