"""The head of the Interventions page (what it is for, for which model), and its bars of probabilities."""

from collections.abc import Sequence

import streamlit as st

from app import model_pool, plain_text
from app.interventions import computations
from app.interventions.state import interventions_state
from app.model_info import model_info
from app.session import visit
from explainers.report.wording import escaped

NO_NARRATORS = (
    "No model here has narrators yet. Fit one with "
    "`python -m explainers fit cause --model nli --data DIR`, where DIR holds the data set e-SNLI."
)
STYLE = """<style>
.changed { display: grid; grid-template-columns: minmax(5rem, max-content) 1fr max-content; gap: 0.35rem 0.75rem;
        align-items: center; max-width: 34rem; }
.changed .tracks { display: grid; gap: 2px; min-width: 3rem; }
.changed .track { background: rgba(128, 128, 128, 0.2); border-radius: 3px; height: 0.6rem; }
.changed .track div { height: 100%; border-radius: 3px; background: #2166ac; }
.changed .track.before div { background: rgba(33, 102, 172, 0.45); }
.changed span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.changed .strongest { font-weight: 600; }
</style>"""
_BOLD = ' class="strongest"'


def title() -> None:
    st.title("Interventions", anchor=False)
    st.write(
        "A sentence can sound right and have nothing to do with the model. Here the model's internal states are "
        "changed, to see whether its sentences follow."
    )


def narrated_model(pool: model_pool.ModelPool) -> computations.NarratedModel:
    """Return the chosen model; where none has narrators, say what to do and stop the page."""
    models = computations.narrated_models(pool)
    if not models:
        st.info(NO_NARRATORS)
        st.stop()
    state = interventions_state()
    chosen = state.controls.asked if state.controls.asked in models else visit().model
    if chosen and chosen not in models and chosen != model_pool.first_model():  # with which every session begins
        known = model_info(pool, chosen).version
        why = "has no narrators. The Compare page can explain it" if known else "is not loaded. Open it on Compare"
        plain_text.caption(f"{chosen} {why}.")
    first = chosen if chosen in models else next(iter(models))
    name = st.selectbox(
        "Model with narrators", list(models), **state.widget("speaker", options=models, default=first, listed=models)
    )
    return models[name or first]


def head_info(pool: model_pool.ModelPool, narrated: computations.NarratedModel) -> computations.HeadInfo:
    """Return the model's classes and layers."""
    with computations.spinner("Loading the model"):
        return computations.head_info(pool, narrated)


def changed(labels: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    """Return bars with numbers as HTML, in which labels are escaped: a row per class, before above after.

    The bar before is paler, and the class that is likeliest after is bold.
    """
    strongest = max(range(len(after)), key=lambda index: after[index])
    rows = [
        f"<span{_BOLD if index == strongest else ''}>{escaped(label)}</span>"
        f'<div class="tracks">{_track(before[index], "track before")}{_track(after[index], "track")}</div>'
        f"<span>{before[index]:.3f} → {after[index]:.3f}</span>"
        for index, label in enumerate(labels)
    ]
    name = _in_words(labels, before, after)
    return f'{STYLE}<div class="changed" role="img" aria-label="{name}">{"".join(rows)}</div>'


def _track(share: float, kind: str) -> str:
    return f'<div class="{kind}"><div style="width: {100 * share:.1f}%"></div></div>'


def _in_words(labels: Sequence[str], before: Sequence[float], after: Sequence[float]) -> str:
    rows = zip(labels, before, after, strict=True)
    return escaped("; ".join(f"{label}: {one:.3f} before, {other:.3f} after" for label, one, other in rows))
