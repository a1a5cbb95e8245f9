"""What a new project asks people, and about which methods and narrators: the part of the form that the model decides.

A task that the model cannot serve is disabled with the reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from app import plain_text
from app.annotate import projects
from app.annotate.projects import NEEDS_MAPS, NEEDS_SENTENCES, ORDER, TITLES
from app.model_info import ModelInfo
from explainers.annotations.records import Task
from explainers.errors import ExplanationError
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS
from explainers.methods.spec import MethodSpec
from explainers.training.artifacts import available_artifacts, check_fitted

QUESTIONS: dict[Task, str] = {
    "mark": "Which answer is right, and from which words or patches does it follow?",
    "simulate": "What did the model answer? People see a map without the answer.",
    "rank": "Which map convinces most?",
    "rate": "Is the sentence about the input and the answer, is it good language?",
    "inspect": "Are the units in a method's top 20 % the evidence?",
    "correct": "What should the generated sentence say?",
}
NO_NARRATOR = "Not with this model: no narrator is fitted to it, so it has no sentences."
ONE_CLASS = "Not with this model: it has a single class, so there is nothing to guess."
UNFITTED = "Not fitted to this model, so without maps: {names}. Fit them on the Train page."
PER_ITEM = (
    "Guessing, checking and correcting ask about so many methods of an item, drawn for every person and item. With all "
    "of them, people judge the same maps, which agreement needs; but a guess may then rest on the maps before it."
)
TO_RANK = "So many maps are drawn for every item, the same for everybody. More of them are hard to keep apart."


@dataclass(frozen=True)
class TaskChoice:
    """The fields of a `ProjectSpec` that this form fills in."""

    tasks: tuple[Task, ...]
    methods: tuple[str, ...]
    narrators: tuple[str, ...]
    methods_per_item: int
    maps_to_rank: int


def choose_tasks(model: str, info: ModelInfo) -> TaskChoice:
    """Draws the tasks, and of what they need only what was chosen asks for."""
    fitted = {artifact.method for artifact in available_artifacts(model, info.version, "narrative")}
    offered = {spec.name: spec.id for spec in NARRATORS if spec.id in fitted}
    tasks = _tasks(impossible(info, narrators=bool(offered)))
    methods = _methods(model, info) if set(tasks) & set(NEEDS_MAPS) else ()
    narrators = _picked("Sentences of", "project narrators", offered) if set(tasks) & set(NEEDS_SENTENCES) else ()
    left, right = st.columns(2)
    with left:
        per_item = _methods_per_item(tasks, methods, narrators)
    with right if per_item is not None else left:
        to_rank = _maps_to_rank(methods) if "rank" in tasks else projects.MAPS_TO_RANK
    return TaskChoice(tasks, methods, narrators, per_item or 1, to_rank)


def impossible(info: ModelInfo, *, narrators: bool) -> dict[Task, str]:
    """The tasks that a model cannot serve, each with the reason. `narrators` tells whether one is fitted to it."""
    reasons: dict[Task, str] = {} if narrators else dict.fromkeys(NEEDS_SENTENCES, NO_NARRATOR)
    return {**reasons, "simulate": ONE_CLASS} if len(info.labels) == 1 else reasons


def _tasks(reasons: Mapping[Task, str]) -> tuple[Task, ...]:
    st.markdown(":small[Tasks, asked in this order]")
    chosen: list[Task] = []
    places = [place for _ in ORDER[::2] for place in st.columns(2)]
    for place, task in zip(places, ORDER, strict=True):
        key, reason = f"project task {task}", reasons.get(task)
        st.session_state.setdefault(key, task == "mark")
        if reason:
            st.session_state[key] = False
        with place.container(gap=None):
            if st.checkbox(TITLES[task], key=key, disabled=bool(reason)):
                chosen.append(task)
            st.caption(reason or QUESTIONS[task])
    return tuple(chosen)


def _methods(model: str, info: ModelInfo) -> tuple[str, ...]:
    """The ids of the chosen methods, of those that can explain this model."""
    general = [spec for spec in METHODS if not spec.needs]
    unfitted = [spec.name for spec in general if not _is_fitted(spec, model, info.version)]
    offered = {spec.name: spec for spec in general if spec.name not in unfitted}
    default = [name for name, spec in offered.items() if spec.default and not spec.is_control]
    picked = _picked("Maps of", "project methods", {name: spec.id for name, spec in offered.items()}, default)
    if unfitted:
        plain_text.caption(UNFITTED.format(names=", ".join(unfitted)))
    return picked


def _is_fitted(spec: MethodSpec, model: str, version: str) -> bool:
    try:
        check_fitted(model, version, [spec])
    except ExplanationError:
        return False
    return True


def _picked(title: str, key: str, offered: Mapping[str, str], default: Sequence[str] | None = None) -> tuple[str, ...]:
    """The ids of the chosen names, by default all."""
    chosen = list(offered) if default is None else list(default)
    picked = st.pills(title, list(offered), selection_mode="multi", default=chosen, key=key)
    return tuple(offered[name] for name in picked or ())


def _methods_per_item(tasks: Sequence[Task], methods: Sequence[str], narrators: Sequence[str]) -> int | None:
    """About how many methods guessing, checking and correcting ask; None where there is nothing to choose."""
    maps = len(methods) if set(tasks) & {"simulate", "inspect"} else 0
    most = min(max(maps, len(narrators) if "correct" in tasks else 0), projects.MOST_METHODS)
    if most < 2:
        return None
    return int(st.number_input("Methods per item", 1, most, 1, key="project methods per item", help=PER_ITEM))


def _maps_to_rank(methods: Sequence[str]) -> int:
    most = min(len(methods), projects.MOST_METHODS)
    if most < 3:
        return projects.MAPS_TO_RANK
    default = projects.MAPS_TO_RANK
    return int(st.number_input("Maps to rank per item", 2, most, default, key="project maps to rank", help=TO_RANK))
