import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import pytest

from explainers.methods.registry import METHODS
from explainers.report.plots import curves_png, curves_svg, draw_curves, drawable, inline_svg
from explainers.results.comparison import Comparison

Compared = Callable[..., Comparison]
LABELS = (
    "$x$ and $y$",
    "$",
    r"\alpha_{<b>}",
    "]]> \x00 <script>alert(1)</script>",
    "😀 電影",
    "فيلم",
    "a\nb",
    "x" * 500,
)


@pytest.mark.parametrize("label", LABELS)
def test_plots_are_well_formed_for_every_class_name(compared: Compared, label: str) -> None:
    root = ElementTree.fromstring(curves_svg(compared("good film", labels=("no", label))))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_a_plot_can_be_a_png_file_or_an_element_of_a_page(compared: Compared) -> None:
    comparison = compared("good film", labels=("no", "]]> $ \x00 <b>"))
    assert curves_png(comparison).startswith(b"\x89PNG")
    assert ElementTree.fromstring(inline_svg(comparison, kept=False)).get("role") == "img"


def test_dollars_and_backslashes_are_drawn_as_typed_and_not_as_mathematics(compared: Compared) -> None:
    axis = draw_curves(compared("good film", labels=("no", r"$\alpha$"))).axes[0]
    assert axis.get_ylabel() == r"probability of “$\alpha$”"
    assert not axis.yaxis.label.get_parse_math()


def test_a_letter_without_a_glyph_is_replaced() -> None:
    assert drawable("é電") == "é\ufffd"


def test_the_axes_name_operator_and_class(compared: Compared) -> None:
    removing, keeping = draw_curves(compared("good film")).axes
    assert removing.get_xlabel() == "% of the words removed (mask)"
    assert keeping.get_xlabel() == "% of the words kept (others: mask)"
    assert removing.get_ylabel() == "probability of “positive”"


def test_lines_that_coincide_are_seen_behind_each_other_and_none_is_thick(compared: Compared) -> None:
    methods = {spec.id: (1.0, 0.0) for spec in METHODS if not spec.needs and not spec.is_random}
    widths = [line.get_linewidth() for line in draw_curves(compared("good film", methods=methods)).axes[0].lines]
    own = widths[-len(methods) :]  # without the mean of the random orders
    assert own == sorted(own, reverse=True)
    assert own[0] > own[-1] >= 1
    assert max(widths) < 2.5  # points


def test_the_legend_tells_which_methods_ended_early(compared: Compared) -> None:
    whole = compared("good film", methods={"lime": (1.0, 0.0), "occlusion": (0.5, 0.1)})
    first, *others = whole.results
    early = replace(first, attribution=replace(first.attribution, ended_early=True))
    legend = draw_curves(replace(whole, results=(early, *others))).legends[0]
    names = [text.get_text() for text in legend.get_texts()]
    assert "LIME (ended early)" in names
    assert "Occlusion" in names
    assert not any("ended early" in text.get_text() for text in draw_curves(whole).legends[0].get_texts())


def test_a_method_is_one_line_in_its_colour_and_the_control_is_a_band_with_its_mean(compared: Compared) -> None:
    scores = (1.0, 0.0)
    axis = draw_curves(compared("good film", methods={"lime": scores, "random": scores})).axes[0]
    assert [line.get_label() for line in axis.lines] == ["Random: mean of 19 orders", "LIME"]
    lime = axis.lines[1]
    assert lime.get_color() == METHODS.get("lime").colour
    assert lime.get_xdata().tolist() == [0, 50, 100]
    assert lime.get_ydata().tolist() == pytest.approx([0.9, 0.1, 0.1])
    (band,) = axis.collections
    assert band.get_paths()[0].get_extents().bounds[1::2] == pytest.approx((0.1, 0.8))  # both words come first once


def test_without_the_control_a_random_order_is_a_line(compared: Compared) -> None:
    axis = draw_curves(replace(compared("good film", methods={"random": (1.0, 0.0)}), random_control=None)).axes[0]
    assert [line.get_label() for line in axis.lines] == ["Random"]


def test_the_inline_plot_takes_the_colour_of_the_page(compared: Compared) -> None:
    element = inline_svg(compared("good film"), kept=True)
    assert "currentColor" in element
    assert "#010203" not in element
    assert "<style" not in element
    assert 'aria-label="Keeping only the most important"' in element


@pytest.mark.slow
def test_threads_draw_the_same_and_change_no_setting(compared: Compared) -> None:
    comparison, before = compared("good film"), dict(mpl.rcParams)
    with ThreadPoolExecutor(3) as pool:
        files = set(pool.map(curves_png, [comparison] * 3))
    assert files == {curves_png(comparison)}
    assert dict(mpl.rcParams) == before


def test_pages_can_import_the_report_before_torch_and_without_pyplot() -> None:
    modules = (
        "colours",
        "heatmap",
        "tables",
        "plots",
        "document",
        "answer",
        "terminal",
        "evaluation_tables",
    )
    names = ", ".join(f"explainers.report.{name}" for name in modules)
    heavy = "[name for name in ('torch', 'matplotlib.pyplot', 'streamlit') if name in sys.modules]"
    check = f"import sys, explainers.report.summary, {names}; print({heavy})"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"
