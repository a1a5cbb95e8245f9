"""Where annotators differ, an owner decides: everybody's answers side by side, and a decision that is stored.

A decision can be replaced later; the earlier ones stay. Marks and checked suggestions are decided in the component in
which people mark, and what that sends is not trusted. Corrected sentences are decided in a form of their own,
everybody's side by side with a field for the final one; other tasks in the form of `decision_form`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import streamlit as st

from app import components, plain_text
from app.annotate import decision_form, payload, projects, session
from app.annotate.disputes import Dispute, OwnerDecision, histories, marks, title, values, words
from app.annotate.session import attempt
from app.annotate.state import Adjudication, Reply, annotate_state
from app.session import put, sent_by, value_of
from app.store import Store
from explainers.annotations import judged, records
from explainers.errors import ExplanationError
from explainers.report.wording import one_line, visible

DRAWN: tuple[records.Task, ...] = ("mark", "inspect")
INSTRUCTIONS: dict[records.Task, str] = {
    "mark": "Take the answer and the marks of one person, or change them. ",
    "inspect": "Take one person's verdict on each suggestion, or your own. Change the marks to correct a suggestion. ",
}
BESIDE = "Your decision stands beside the annotations in downloads."
HELP = "Take one of the sentences above, or write the final one."
SENTENCE_BESIDE = 3  # sentences in a row
AGREED = "No item has answers of several people that differ."
DECIDED = "All items on which people differ in this task are decided. Choose one to revise its decision."
READABLE = 736  # pixels, as wide as the component of a task
LONGEST_NAME = 60  # characters of an item in the list


def drawn_decision(adjudication: Adjudication, done: int, total: int) -> None:
    """Draw the component; `done` of `total` items are decided."""
    state = annotate_state()
    state.adjudication = adjudication
    content = _payload(adjudication, {"done": done, "skipped": 0, "total": total})
    if state.adjudication_payload is None or state.adjudication_payload != content:
        state.adjudication_payload = content
    data = components.newest("adjudicate", state.adjudication_payload)
    components.component("annotate")(key="adjudicate", data=data, on_done_change=decision_sent)


def _payload(adjudication: Adjudication, progress: dict[str, int]) -> dict[str, Any]:
    dispute, earlier = adjudication.dispute, adjudication.earlier
    state, reply = dispute.state, annotate_state().adjudication_reply
    prepared = state.prepared
    drawn = _suggestions(dispute) if dispute.task == "inspect" else _people(adjudication)
    return {
        "key": adjudication.key,
        "task": "adjudicate" if dispute.task == "mark" else "adjudicate suggestions",
        "title": "Decide",
        "instruction": INSTRUCTIONS[dispute.task] + BESIDE,
        "step": "",
        "progress": progress,
        "labels": list(prepared.names) if len(prepared.texts) > 1 else [""],
        "segments": payload.segments(prepared),
        "image": payload.image(state.item, prepared),
        "prediction": payload.prediction(prepared),
        "classes": list(map(visible, adjudication.classes)),
        **drawn,
        "answered": _answered(adjudication, earlier[-1]) if earlier else None,
        "flagged": False,
        "comment": "",
        "can_undo": False,
        "can_skip": False,
        "revisiting": bool(earlier),
        "reply": reply.reply,
        "problem": reply.problem,
        "stored": "Stored." if reply.reply else "",
    }


def _people(adjudication: Adjudication) -> dict[str, Any]:
    """Return what each person marked, and the number of the class for which they did."""
    dispute = adjudication.dispute
    people = [
        {"name": name, "marked": sorted(units), "label": _number(adjudication, dispute.classes.get(name, ""))}
        for name, units in marks(dispute).items()
    ]
    return {"people": people}


def _number(adjudication: Adjudication, own_class: str) -> int | None:
    return adjudication.classes.index(own_class) if own_class in adjudication.classes else None


def _suggestions(dispute: Dispute) -> dict[str, Any]:
    """Return by method the suggested units and everybody's verdict, with the corrected units."""
    maps = dispute.state.prepared.maps
    return {
        "suggestions": [
            {
                "letter": name,
                "suggested": payload.suggestion(maps[method]) if method in maps else [],
                "people": [
                    {"name": person, **_verdict(dispute, single)}
                    for person, answer in dispute.answers.items()
                    for single in records.one_method_answers(answer)
                    if isinstance(single, records.Inspected) and single.method == method
                ],
            }
            for name, method in titled(dispute).items()
        ]
    }


def _verdict(dispute: Dispute, given: records.Inspected) -> dict[str, Any]:
    if given.marked is None:
        return {"verdict": given.verdict}
    return {
        "verdict": given.verdict,
        "marked": sorted(judged.marked_units(given.marked, dispute.state.prepared.encoding)),
    }


def titled(dispute: Dispute) -> dict[str, str]:
    """Return the methods on which people gave verdicts, by a title of their own."""
    named: dict[str, str] = {}
    for number, method in enumerate(values(dispute), start=1):
        named[title(method) if title(method) not in named else f"{title(method)} {number}"] = method
    return named


def _answered(adjudication: Adjudication, decision: OwnerDecision) -> dict[str, Any]:
    dispute = adjudication.dispute
    if dispute.task == "inspect":
        given = {
            answer.method: answer
            for answer in records.one_method_answers(decision.answer)
            if isinstance(answer, records.Inspected)
        }
        named = titled(dispute).items()
        return {"given": {name: _verdict(dispute, given[method]) for name, method in named if method in given}}
    marked = decision.answer if isinstance(decision.answer, records.Marked) else records.Marked()
    units = sorted(judged.marked_units(marked, dispute.state.prepared.encoding))
    label = _number(adjudication, dispute.state.own_class(decision.own_class))
    return {"marked": units, "origin": decision.origin, **({} if label is None else {"label": label})}


def decision_sent() -> None:
    """Store what the component sent; an action may be delivered twice, and counts once."""
    state, sent = annotate_state(), sent_by("adjudicate", "done")
    known = state.adjudication
    if not isinstance(sent, dict) or known is None or sent.get("id") == state.adjudication_reply.reply:
        return
    state.adjudication_reply = Reply(str(sent.get("id", "")))
    if sent.get("key") != known.key:
        return
    if sent.get("action") == "keep":
        state.next_dispute()
        return
    try:
        session.check_pass()
        known.store_decision(*read_decision(known, sent.get("answer") or {}))
        state.next_dispute()
    except (ExplanationError, AttributeError, KeyError, TypeError, ValueError) as error:
        problem = str(error) if isinstance(error, ExplanationError) else decision_form.INCOMPLETE
        state.adjudication_reply = state.adjudication_reply._replace(problem=problem)


def read_decision(adjudication: Adjudication, sent: Mapping[str, Any]) -> tuple[records.Answer, str, str]:
    """Return the answer, its origin and the class of its marks.

    Raises `ExplanationError`, or what a wrong type raises.
    """
    dispute = adjudication.dispute
    if dispute.task == "mark":
        classes = adjudication.classes
        own_class = classes[decision_form.chosen_class(sent, len(classes))] if classes else ""
        return _marked(dispute, sent.get("marked", ())), str(sent.get("origin", "")), own_class
    given = tuple(_inspected(dispute, method, sent["given"][name]) for name, method in titled(dispute).items())
    origins = (
        name for name, answer in dispute.answers.items() if set(given) <= set(records.one_method_answers(answer))
    )
    return given[0] if len(given) == 1 else records.Several(given), next(origins, decision_form.CHANGED), ""


def _inspected(dispute: Dispute, method: str, sent: Mapping[str, Any]) -> records.Inspected:
    verdict = cast(records.Verdict, str(sent["verdict"]))
    return records.Inspected(method, verdict, _marked(dispute, sent["marked"]) if verdict == "correct" else None)


def _marked(dispute: Dispute, units: Any) -> records.Marked:
    prepared = dispute.state.prepared
    return judged.marks_of({int(unit) for unit in units} & set(range(len(prepared.units))), prepared.encoding)


def sentence_form(
    dispute: Dispute, earlier: Sequence[OwnerDecision], key: str, keep: decision_form.Keep, after: Callable[[], None]
) -> None:
    """Draw the form; `keep` gets the answer and its origin, then `after` is called."""
    decision_form.show_input(dispute)
    current = words(dispute.state, earlier[-1].answer) if earlier else {}
    for question, own in values(dispute).items():
        field = f"{key} {question}"
        by_sentence = _by_sentence(own)
        agreed = next(iter(by_sentence)) if len(by_sentence) == 1 else ""
        if value_of(field) is None:
            put(field, current.get(question, agreed))
        plain_text.paragraph(plain_text.Bold(title(question)))
        plain_text.caption(f"Generated: {dispute.state.prepared.sentences.get(question, '–')}")
        _side_by_side(by_sentence, field)
        st.text_area(
            "Final sentence", key=field, max_chars=decision_form.LONGEST_SENTENCE, placeholder=HELP, height="content"
        )
    label = "Replace the decision" if earlier else "Store the decision"
    st.button(
        label,
        type="primary",
        key=f"store {key}",
        on_click=attempt,
        args=(decision_form.store_chosen, dispute, key, keep, after),
    )


def _by_sentence(own: Mapping[str, str]) -> dict[str, list[str]]:
    """Return who wrote each sentence."""
    result: dict[str, list[str]] = {}
    for name, sentence in own.items():
        result.setdefault(sentence, []).append(name)
    return result


def _side_by_side(by_sentence: Mapping[str, Sequence[str]], field: str) -> None:
    listed = list(enumerate(by_sentence.items()))
    for start in range(0, len(listed), SENTENCE_BESIDE):
        row = listed[start : start + SENTENCE_BESIDE]
        for column, (number, (sentence, names)) in zip(
            st.columns(min(len(listed), SENTENCE_BESIDE)), row, strict=False
        ):
            with column, st.container(border=True):
                plain_text.caption(", ".join(names))
                plain_text.paragraph(sentence)
                st.button("Take this sentence", key=f"take {field} {number}", on_click=put, args=(field, sentence))


def adjudicate(
    store: Store, project: projects.Project, differing: Mapping[records.Task, Sequence[Dispute]], by: str
) -> None:
    """Draw the chosen item on which people differ, by default the first one without a decision."""
    if not differing:
        st.caption(AGREED)
        return
    titles = {projects.TITLES[task]: task for task in differing}
    state = annotate_state()
    if state.controls.decided_task not in titles:
        state.change(decided_task=next(iter(titles)))
    if len(titles) > 1:
        st.segmented_control(
            "Task to decide", list(titles), required=True, **state.widget("decided_task", initial="default")
        )
    listed = {dispute.id: dispute for dispute in differing[titles[state.controls.decided_task]]}
    with st.container(width=READABLE):
        _decide_one(store, project, listed, by)


def _decide_one(store: Store, project: projects.Project, listed: Mapping[str, Dispute], by: str) -> None:
    known = histories(store, project)
    done = {id: known.get((value.state.number, value.task), ()) for id, value in listed.items()}
    dispute = listed[_chosen(listed, done)]
    adjudication = Adjudication(store, project, dispute, by, done[dispute.id])
    if dispute.task in DRAWN:
        drawn_decision(adjudication, sum(map(bool, done.values())), len(done))
    else:
        draw = sentence_form if dispute.task == "correct" else decision_form.decision_form
        draw(
            dispute,
            adjudication.earlier,
            adjudication.key,
            adjudication.store_decision,
            after=annotate_state().next_dispute,
        )
    _history(adjudication)


def _chosen(listed: Mapping[str, Dispute], done: Mapping[str, tuple[OwnerDecision, ...]]) -> str:
    """Return the id of the chosen item; in the list, those without a decision come first."""
    still_open = [id for id in listed if not done[id]]
    state = annotate_state()
    if state.controls.decided_item not in listed:
        state.change(decided_item=next(iter(still_open or listed)))

    def name(id: str) -> str:
        item = listed[id].state.item
        return f"{'decided' if done[id] else 'open'}: {one_line(f'{item.id}, {item.example.text}', LONGEST_NAME)}"

    if not still_open:
        st.caption(DECIDED)
    decided = len(listed) - len(still_open)
    label = f"Item ({decided} of {len(listed)} decided)"
    state.renewals["decided_item"] = decided  # the browser keeps the name that the chosen one had
    st.selectbox(label, list(listed), format_func=name, **state.widget("decided_item", listed=listed))
    return state.controls.decided_item


def _history(adjudication: Adjudication) -> None:
    lines = [
        f"Decision {number}: {decision_form.moment(decision)}{_decided(adjudication.dispute, decision)}"
        for number, decision in enumerate(adjudication.earlier, start=1)
    ]
    if lines:
        plain_text.caption("The newest decision counts; all of them are in the downloads.")
        plain_text.bullets(lines)


def _decided(dispute: Dispute, decision: OwnerDecision) -> str:
    """Draw the decision in words; marks are shown in the input, with the class that is named here."""
    decided = words(dispute.state, decision.answer)
    own_class = f"; {decision.own_class}" if decision.own_class else ""
    return own_class + "".join(f"; {title(question)}: {word}" for question, word in decided.items())
