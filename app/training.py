"""The lower half of the Train page: every training, how far it is, and what came of it."""

import time
from contextlib import suppress

import streamlit as st

from app import learned, losses
from app.jobs import EXPLAINERS, Jobs, card
from app.logbook import Log, duration, pace, read
from app.safe import markdown
from app.store import Job, Store
from explainers.errors import ExplanationError
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.learned.weights import place
from explainers.methods import METHODS
from explainers.metrics.faithfulness import METRICS

TICK = 2.0  # seconds between two looks while anything is on its way
ENTRIES = {entry.id: entry for entry in METHODS}
FIGURES = {metric.id: metric.name for metric in METRICS if metric.id in ("aopc_c", "aopc_s")}
COLOURS = {"waiting": "gray", "running": "blue", "done": "green", "failed": "red", "cancelled": "orange"}
CHART_BUTTONS = {"displayModeBar": False}


@st.cache_resource(show_spinner=False, on_release=Jobs.close)
def _jobs() -> Jobs:
    return Jobs(Store(), EXPLAINERS).begin()


def jobs() -> Jobs:
    """One for all sessions; begins by looking after what an earlier app has left. Stops the page if it fails."""
    try:
        return _jobs()
    except ExplanationError as error:
        st.error(markdown(str(error)))
        st.stop()


def listed(jobs: Jobs) -> None:
    """Draws all trainings, again and again as long as one is on its way."""
    st.header("Trainings", anchor=False)
    active = any(job.active for job in jobs.all())
    st.fragment(run_every=TICK if active else None)(_list)(jobs, active)


def _list(jobs: Jobs, was_active: bool) -> None:
    found = jobs.all()
    if not found:
        st.caption("None yet. What you start appears here, and goes on when you close the page.")
    waiting = [job.id for job in reversed(found) if job.active]
    latest = {(job.method, job.model, job.variant): job.id for job in reversed(found) if job.status == "done"}
    for number, job in enumerate(found):
        with st.container(border=True, key=f"job-{job.id}"):
            _head(jobs, job)
            _standing(job, ahead=waiting.index(job.id) if job.active else 0)
            if job.status == "done" and latest[job.method, job.model, job.variant] != job.id:
                st.caption("A later training has replaced these weights.")
            elif job.status == "done":
                result(job)
            _record(job, newest=number == 0)
    if was_active != any(job.active for job in found):
        st.rerun(scope="app")  # begins or ends the ticking


def _head(jobs: Jobs, job: Job) -> None:
    """What it is, how it stands, and what can be done with it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(job.status, color=COLOURS[job.status])  # type: ignore[arg-type]
        learned_from = f"{job.texts:,} texts" if job.texts else "generated scenes"
        st.markdown(f"**{markdown(title(job))}** for {markdown(job.model)}, {learned_from}", width="stretch")
        if job.active:
            st.button("Cancel", key=f"cancel {job.id}", on_click=jobs.cancel, args=(job.id,))
            return
        if job.status in ("failed", "cancelled"):
            st.button(
                "Resume",
                key=f"resume {job.id}",
                on_click=jobs.resume,
                args=(job.id,),
                help="Goes on after the last finished epoch.",
            )
        with st.popover("Delete", key=f"ask {job.id}"):
            st.write("Texts, log and checkpoint of this training are deleted. Weights that it has made stay.")
            st.button("Delete it", key=f"delete {job.id}", on_click=jobs.delete, args=(job.id,))


def _standing(job: Job, *, ahead: int) -> None:
    """How far it is, what went wrong, and what to beware of."""
    log = read(job.run_folder)
    if job.status == "waiting":
        st.caption(f"Waits for {ahead} other training{'' if ahead == 1 else 's'}." if ahead else "Starts in a moment.")
    if job.status == "running":
        st.progress(*_progress(job, log))
    if job.error:
        st.error(markdown(job.error))
    if job.finished is not None:
        st.caption(_when(job))
    for sentence in log.alarms if log is not None else ():
        st.warning(markdown(sentence))


def _record(job: Job, *, newest: bool) -> None:
    """The curves, open where they are new, and the command."""
    log = read(job.run_folder)
    if log is not None and log.terms:
        if job.status == "running":
            curves(job, log)
        else:
            with st.expander("Losses and figures", expanded=newest, key=f"curves {job.id}", on_change="rerun") as part:
                if part.open:
                    curves(job, log)
    with st.expander("Command", key=f"command {job.id}"):
        st.code(job.typed, "sh", wrap_lines=True)


def _progress(job: Job, log: Log | None) -> tuple[float, str]:
    """How far a running training is, from 0 to 1 and in words."""
    if log is None or not log.steps:
        return 0.0, "Loads the model and asks it about every text"
    if log.step >= log.steps:
        return 1.0, "Checks and keeps the weights"
    key = f"pace {job.id} {job.started}"
    since = st.session_state.setdefault(key, (log.step, log.moment))
    seconds = pace(log, since)
    left = f", about {duration(seconds * (log.steps - log.step))} left" if seconds else ""
    epoch = f"epoch {min(len(log.epochs) + 1, log.epochs_wanted)} of {log.epochs_wanted}"
    return log.step / log.steps, f"Step {log.step:,} of {log.steps:,}, {epoch}{left}"


def _when(job: Job) -> str:
    moment = time.strftime("%d %B, %H:%M", time.localtime(job.finished))
    took = f", after {duration(job.finished - job.started)}" if job.finished and job.started else ""
    return f"{job.status.capitalize()} on {moment}{took}."


def curves(job: Job, log: Log) -> None:
    """A small chart for each term of the loss, and one for the figures on held-out texts."""
    charts = [(name, losses.term(name, log.terms[name])) for name in losses.ordered(log.terms)]
    if log.epochs:
        charts.insert(1, ("validation", losses.validation(log.epochs, FIGURES)))
    cells = [cell for _ in range(0, len(charts), 3) for cell in st.columns(3)]
    for cell, (name, figure) in zip(cells, charts, strict=False):
        with cell:
            st.plotly_chart(figure, key=f"chart {job.id} {name}", config=CHART_BUTTONS, alt=f"{name} by step")
    if log.epochs:
        st.caption(
            "AOPC-C (higher is better) and AOPC-S (lower is better) are measured on held-out texts after every epoch. "
            "Pale lines are single steps."
        )


def title(job: Job) -> str:
    """As the Compare page calls it."""
    entry = ENTRIES.get(job.method)
    return entry.variant(job.variant).name if entry is not None else f"{job.method}:{job.variant}"


def result(job: Job) -> None:
    """Where the weights are found, and what is known about them."""
    first = job.variant == DEFAULT_VARIANTS.get(job.method)
    name = ENTRIES[job.method].name if first and job.method in ENTRIES else title(job)
    where = "among the methods" if first else "among the other weights"
    st.success(f"On the Compare page {where} as **{markdown(name)}**, in commands `{job.method}:{job.variant}`.")
    query = {"model": job.model} if first else {"model": job.model, "variants": name}
    st.page_link(
        "pages/compare.py", label="Compare it with the others", icon=":material/arrow_forward:", query_params=query
    )
    found = card(job)
    if found is not None:
        with st.expander("Card", key=f"card {job.id}"):
            st.json(found)
    version = (found or {}).get("model", {}).get("version", "")
    if job.method == "ivra" and version:
        with suppress(ExplanationError):  # deleted by hand
            learned.coefficients({job.variant: place(job.model, version, "ivra", job.variant)}, key=f"job {job.id}")
