"""What more than one page draws: components of assets/<name>.js and .css, uploaders, and heat maps of learned
coefficients."""

import time
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots

from app import plain_text, session
from explainers.installation import ASSETS
from explainers.report.wording import join_names

if TYPE_CHECKING:
    from streamlit.runtime.uploaded_file_manager import UploadedFile
    from torch import Tensor

    from explainers.training.artifacts import Artifact

PARTS = {  # what comes before a component's own script
    "sheet": ("sheet_units", "sheet_rows", "sheet_matrix"),
    "annotate": ("annotate_units", "annotate_read", "annotate_tasks"),
    "judged": ("annotate_units",),
}
STYLES = {"judged": "annotate"}  # of a component without a style of its own
NAMED = 2  # files in a sentence
KEPT = 25 * 2**20  # bytes of an uploader's files that a session keeps
TITLES = {"omega_q": "ω of queries", "omega_k": "ω of keys", "lambda_hat": "heads, λ̂", "eta_hat": "layers, η̂"}


@cache
def component(name: str) -> Any:
    """The component of `assets/<name>.js` and .css, preceded by the scripts that it is made of."""
    scripts = ("element", *PARTS.get(name, ()), name)
    js = "".join((ASSETS / f"{script}.js").read_text(encoding="utf-8") for script in scripts)
    css = (ASSETS / f"{STYLES.get(name, name)}.css").read_text(encoding="utf-8")
    return st.components.v2.component(f"crosslight_{name}", css=css, js=js)


def newest(name: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data with the `time` at which they first replaced others, by which the component `name` drops older ones:
    Streamlit may deliver two payloads in the wrong order."""
    sent = session.visit().newest
    if name not in sent or sent[name][0] is not data:
        sent[name] = (data, {**data, "time": time.time()})
    return sent[name][1]


def uploaded(
    label: str, types: Sequence[str], key: str, *, megabytes: int, help_text: str | None = None, several: bool = False
) -> "tuple[UploadedFile, ...]":
    """Draw an uploader and return its files; without a `label` its name is hidden.

    Streamlit forgets them when the uploader is not drawn for a while. The session keeps them, unless they are large,
    until others are given or they are removed.
    """
    given: Any = st.file_uploader(
        label or key.capitalize(),
        type=list(types),
        accept_multiple_files=several,
        key=key,
        max_upload_size=megabytes,
        help=help_text,
        on_change=_take_files,
        args=(key,),
        label_visibility="visible" if label else "collapsed",
    )
    files = _as_files(given)
    if files:
        return files
    earlier = session.visit().files.get(key, ())
    if earlier:
        with st.container(horizontal=True, vertical_alignment="center"):
            others = " New files replace them." if several else ""
            plain_text.caption(f"Given before: {named_files([file.name for file in earlier])}.{others}")
            st.button("Remove", key=f"remove {key}", on_click=forget_files, args=(key,))
    return earlier


def uploaded_file(
    label: str, types: Sequence[str], key: str, *, megabytes: int, help_text: str | None = None
) -> "UploadedFile | None":
    """Return the file of `uploaded`, where it takes one; None without one."""
    return next(iter(uploaded(label, types, key, megabytes=megabytes, help_text=help_text)), None)


def forget_files(key: str) -> None:
    """Forget what was given to an uploader."""
    session.visit().files.pop(key, None)


def _take_files(key: str) -> None:
    """Take what a person gave or removed."""
    files = _as_files(session.value_of(key))
    session.visit().files[key] = files if sum(file.size for file in files) <= KEPT else ()


def _as_files(given: "UploadedFile | list[UploadedFile] | None") -> "tuple[UploadedFile, ...]":
    """Return the files without those that Streamlit has deleted meanwhile, of which only the number is left."""
    files = given if isinstance(given, list) else [given]
    return tuple(file for file in files if file is not None and hasattr(file, "getvalue"))


def named_files(names: Sequence[str]) -> str:
    """Return "a.csv", "a.csv and b.png", or "a.csv, b.png and 7 more"."""
    return join_names([*names[:NAMED], f"{len(names) - NAMED} more"] if len(names) > NAMED else names)


def coefficients(weights: "dict[str, Artifact]", key: str) -> None:
    """Heat maps, by the name of the weights, of what was learned at feature, head and layer level."""
    if not st.toggle("Show the coefficients", key=f"coefficients {key}"):
        return
    chosen = next(iter(weights))
    if len(weights) > 1:
        chosen = st.selectbox("Weights", list(weights), key=f"coefficients of {key}")
    from app.model_pool import import_transformers

    import_transformers()  # with torch, after the page was drawn
    from explainers.learned.ivra_readout import stored_coefficients

    st.plotly_chart(heat_maps(stored_coefficients(weights[chosen])), key=f"coefficient maps {key}")


def heat_maps(levels: "dict[str, Tensor]") -> go.Figure:
    """ω (layers, heads, d_k) with a row per head, λ̂ (layers, heads) and η̂ (layers,), each on its own scale."""
    names = [name for name in TITLES if name in levels]
    figure = make_subplots(1, len(names), subplot_titles=[TITLES[name] for name in names], horizontal_spacing=0.06)
    for column, name in enumerate(names, start=1):
        values = levels[name]
        table = values.reshape(-1, values.shape[-1]) if values.ndim != 1 else values[:, None]
        figure.add_trace(
            go.Heatmap(z=table.tolist(), colorscale="Viridis", showscale=False, hovertemplate=_hover(name)),
            row=1,
            col=column,
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(height=460, margin={"l": 30, "r": 10, "t": 40, "b": 30})
    return figure


def _hover(name: str) -> str:
    axes = {"lambda_hat": "layer %{y}, head %{x}", "eta_hat": "layer %{y}"}
    return axes.get(name, "layer and head %{y}, feature %{x}") + ": %{z:.3f}<extra></extra>"
