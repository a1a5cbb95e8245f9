"""The lower half of the Train page: every training, its progress and its result."""

import time
from contextlib import suppress

import streamlit as st

from app.components import coefficients
from app.markdown import markdown
from app.model_info import info_on_card
from app.store import Job, Store
from app.train import charts as losses
from app.train.jobs import EXPLAINERS, Jobs, card
from app.train.log import Log, duration, pace, read
from explainers.errors import ExplanationError
from explainers.methods.registry import METHODS
from explainers.methods.spec import MethodSpec
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.spec import MetricSpec
from explainers.training.artifacts import find_artifact

TICK = 2.0  # seconds between two redraws while anything is on its way
COLOURS = {"waiting": "gray", "running": "blue", "done": "green", "failed": "red", "cancelled": "orange"}
CHART_BUTTONS = {"displayModeBar": False}


@st.cache_resource(show_spinner=False, on_release=Jobs.close)
def _jobs() -> Jobs:
    return Jobs(Store(), EXPLAINERS).begin()


def jobs() -> Jobs:
    """One for all sessions; it takes over the trainings of an earlier app. Stops the page if it fails."""
    try:
        return _jobs()
    except ExplanationError as error:
        st.error(markdown(str(error)))
        st.stop()


def trainings(jobs: Jobs) -> None:
    """Draws all trainings, again and again as long as one is on its way."""
    st.header("Trainings", anchor=False)
    active = any(job.active for job in jobs.all())
    st.fragment(run_every=TICK if active else None)(_list)(jobs, active)


def _list(jobs: Jobs, was_active: bool) -> None:
    every = jobs.all()
    if not every:
        st.caption("None yet. Trainings appear here, and continue when you close the page.")
    waiting = [job.id for job in reversed(every) if job.active]
    latest = {(job.method, job.model, job.variant): job.id for job in reversed(every) if job.status == "done"}
    for number, job in enumerate(every):
        with st.container(border=True, key=f"job-{job.id}"):
            _head(jobs, job)
            _progress_and_problems(job, ahead=waiting.index(job.id) if job.active else 0)
            if job.status == "done" and latest[job.method, job.model, job.variant] != job.id:
                st.caption("A later training has replaced these weights.")
            elif job.status == "done":
                result(job)
            _record(job, newest=number == 0)
    if was_active != any(job.active for job in every):
        st.rerun(scope="app")  # begins or ends the ticking


def _head(jobs: Jobs, job: Job) -> None:
    """What is trained, its status, and buttons."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(job.status, color=COLOURS[job.status])  # type: ignore[arg-type]
        noun = info_on_card(job.model).generator_noun or "example"
        source = f"{job.texts:,} texts" if job.texts else f"generated {noun}s"
        st.markdown(f"**{markdown(title(job))}** for {markdown(job.model)}, {source}", width="stretch")
        if job.active:
            st.button("Cancel", key=f"cancel {job.id}", on_click=jobs.cancel, args=(job.id,))
            return
        if job.status in ("failed", "cancelled"):
            st.button(
                "Resume",
                key=f"resume {job.id}",
                on_click=jobs.resume,
                args=(job.id,),
                help="Continues after the last finished epoch.",
            )
        with st.popover("Delete", key=f"ask {job.id}"):
            st.write("Deletes the texts, the log and the checkpoint of this training. Its weights stay.")
            st.button("Delete it", key=f"delete {job.id}", on_click=jobs.delete, args=(job.id,))


def _progress_and_problems(job: Job, *, ahead: int) -> None:
    log = read(job.run_folder)
    if job.status == "waiting":
        st.caption(f"Waits for {ahead} other training{'' if ahead == 1 else 's'}." if ahead else "Starts in a moment.")
    if job.status == "running":
        st.progress(*_progress(job, log))
    if job.error:
        st.error(markdown(job.error))
    if job.finished is not None:
        st.caption(_when(job))
    for sentence in log.warnings if log is not None else ():
        st.warning(markdown(sentence))


def _record(job: Job, *, newest: bool) -> None:
    """The curves, open for the newest training, and the command."""
    log = read(job.run_folder)
    if log is not None and log.terms:
        if job.status == "running":
            curves(job, log)
        else:
            with st.expander("Losses and metrics", expanded=newest, key=f"curves {job.id}", on_change="rerun") as part:
                if part.open:
                    curves(job, log)
    with st.expander("Command", key=f"command {job.id}"):
        st.code(job.typed, "sh", wrap_lines=True)


def _progress(job: Job, log: Log | None) -> tuple[float, str]:
    """How far a running training is, from 0 to 1 and in words."""
    if log is None or not log.steps:
        return 0.0, "Loading the model and predicting every text"
    if log.step >= log.steps:
        return 1.0, "Checking and saving the weights"
    key = f"pace {job.id} {job.started}"
    since = st.session_state.setdefault(key, (log.step, log.moment))
    seconds = pace(log, since)
    left = f", about {duration(seconds * (log.steps - log.step))} left" if seconds else ""
    epoch = f"epoch {min(len(log.epochs) + 1, log.total_epochs)} of {log.total_epochs}"
    return log.step / log.steps, f"Step {log.step:,} of {log.steps:,}, {epoch}{left}"


def _when(job: Job) -> str:
    moment = time.strftime("%d %B, %H:%M", time.localtime(job.finished))
    took = f", after {duration(job.finished - job.started)}" if job.finished and job.started else ""
    return f"{job.status.capitalize()} on {moment}{took}."


def curves(job: Job, log: Log) -> None:
    """A small plot for each term of the loss, and one for the metrics on held-out texts."""
    validated = [metric for metric in METRICS if metric.validated]
    charts = [(name, losses.term(name, log.terms[name])) for name in losses.ordered(log.terms)]
    if log.epochs:
        charts.insert(1, ("validation", losses.validation(log.epochs, validated)))
    cells = [cell for _ in range(0, len(charts), 3) for cell in st.columns(3)]
    for cell, (name, figure) in zip(cells, charts, strict=False):
        with cell:
            st.plotly_chart(figure, key=f"chart {job.id} {name}", config=CHART_BUTTONS, alt=f"{name} by step")
    if log.epochs:
        st.caption(
            f"{' and '.join(f'{metric.name} ({_better(metric)} is better)' for metric in validated)} are measured on "
            "held-out texts after every epoch. Pale lines are single steps."
        )


def _better(metric: MetricSpec) -> str:
    return "higher" if metric.higher_is_better else "lower"


def _spec(job: Job) -> MethodSpec | None:
    """None where an earlier version of the app has left a job of a method that is gone."""
    return METHODS.get(job.method) if job.method in METHODS.ids else None


def title(job: Job) -> str:
    """As the Compare page calls it."""
    spec = _spec(job)
    return spec.variant(job.variant).name if spec is not None else f"{job.method}:{job.variant}"


def result(job: Job) -> None:
    """Where to find the weights, and what is known about them."""
    spec, details = _spec(job), card(job)
    default = spec is not None and job.variant == spec.default_variant
    name = spec.name if spec is not None and default else title(job)
    where = "the methods" if default else "the other weights"
    st.success(
        f"Listed on the Compare page under {where} as **{markdown(name)}**; in commands, write "
        f"`{job.method}:{job.variant}`."
    )
    query = {"model": job.model} if default else {"model": job.model, "variants": name}
    st.page_link(
        "pages/compare.py", label="Compare with the other methods", icon=":material/arrow_forward:", query_params=query
    )
    if details is not None:
        with st.expander("Card", key=f"card {job.id}"):
            st.json(details)
    version = (details or {}).get("model", {}).get("version", "")
    if spec is not None and spec.has_coefficients and version:
        with suppress(ExplanationError):  # deleted by hand
            weights = find_artifact(job.model, version, job.method, job.variant)
            coefficients({job.variant: weights}, key=f"job {job.id}")
