import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.reference import methods, narrators, papers
from explainers.methods import narrator_specs
from explainers.methods.narrator_specs import NARRATORS
from explainers.methods.registry import METHODS, groups
from explainers.metrics.faithfulness import METRICS
from explainers.report import paper_tables
from explainers.report.paper_tables import TableResult, read_tables

Opened = Callable[..., Any]


def unfolded(page: Any) -> Any:
    """The page with every method and narrator opened."""
    page.at.switch_page("pages/methods.py")
    for spec in (*METHODS, *NARRATORS):
        page.at.session_state[f"about {spec.id}"] = True
    page.run()
    return page


@pytest.fixture
def texts(opened: Opened, small: None) -> str:
    page = unfolded(opened())
    elements = [*page.at.markdown, *page.at.caption, *page.at.header, *page.at.title]
    names = [*(element.value for element in elements), *(expander.label for expander in page.at.expander)]
    return "\n".join([*names, *page.plain()])


def test_every_method_says_what_it_is_and_when_not_to_believe_it(texts: str) -> None:
    for spec in (*METHODS, *NARRATORS):
        assert spec.name in texts
        assert spec.idea in texts
        assert spec.caution in texts
        assert spec.source in texts


def test_every_metric_is_explained_with_its_direction(texts: str) -> None:
    for metric in METRICS:
        better = "higher" if metric.higher_is_better else "lower"
        assert f"{metric.name} ({better} is better). {metric.meaning}" in texts


def test_ccmr_says_where_it_differs_from_the_paper_and_its_code(texts: str) -> None:
    for sentence in (narrator_specs.MEANING, *narrator_specs.DEVIATIONS):
        assert sentence in texts


@pytest.mark.usefixtures("small")
def test_every_method_has_its_formula(opened: Opened) -> None:
    page = unfolded(opened())
    formulas = [formula.value.strip("$ \n") for formula in page.at.latex]
    by_group = [spec for group in groups() for spec in METHODS if spec.group == group]
    assert formulas == [spec.formula for spec in (*by_group, *NARRATORS)]
    assert all(formula.count("{") == formula.count("}") for formula in formulas)


@pytest.mark.usefixtures("small")
def test_what_is_folded_is_not_drawn(opened: Opened) -> None:
    """It took a browser seconds."""
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    assert {spec.name for spec in (*METHODS, *NARRATORS)} <= {expander.label for expander in page.at.expander}
    assert not page.at.latex


def metrics(method: str) -> dict[str, Any]:
    names = ("agreement", "states_class", "ccmr", "ccmr_states_class", "composite", "composite_gain", "agreement_gain")
    texts = ("bleu_1", "bleu_4", "distinct_1", "distinct_2", "copied", "mentioned", "simulatability", "words")
    shares = {name: {"mean": 0.5, "low": 0.4, "high": 0.6} for name in (*names, "constraint_met")}
    return {"method": method, **shares, **dict.fromkeys(texts, 0.25)}


@pytest.mark.usefixtures("small")
def test_the_narrators_metrics_are_shown_where_they_were_measured(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small" / "narrative" / "evaluation.json"
    path.parent.mkdir(parents=True)
    rows = [metrics(spec.id) for spec in NARRATORS]
    table = {"rows": rows, "command": "python -m explainers study narratives", "data": {"pairs": 4900}}
    points = {"method": "cause", **dict.fromkeys(("points", "chance", "above_chance", "overlap"), rows[0]["agreement"])}
    judged = {"judge": "lime", "narrators": "all", "tied": 0.25, "rows": [points]}
    settings = {"samples": 500, "erasure": "mask"}
    path.write_text(json.dumps(table | {"tournament": {"inputs": 40, "settings": settings, "tables": [judged]}}))
    monkeypatch.setattr(narrators, "BUNDLES", tmp_path)
    monkeypatch.setattr(narrators, "bundle_names", lambda: ("small",))
    monkeypatch.setattr(paper_tables, "table_results", lambda: ())
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    assert "In words, on 4,900 held-out examples of small" in [header.value for header in page.at.header]
    agreement, tournament = (frame.value for frame in page.at.dataframe[-2:])
    assert list(agreement["method"]) == [spec.name for spec in NARRATORS]
    assert tournament["by chance"].tolist() == ["0.500 ± 0.100"]
    assert any("A stand-in for the paper's tournament" in text and "on 40 inputs" in text for text in page.plain())
    assert any(
        "Judged by LIME, among all 1 narrators (all equal on 25% of the inputs)" in text for text in page.plain()
    )
    assert page.at.code[-1].value == "python -m explainers study narratives"
    assert any("CAuSE + word losses against φ: composite +0.500" in text for text in page.plain())


@pytest.mark.usefixtures("small")
def test_evidence_is_shown_where_it_is_known(opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    share = {"mean": 0.75, "low": 0.5, "high": 1.0}
    row = {"erasure": "mask", "texts": 3, **{metric.id: share for metric in METRICS}}
    evidence = dict.fromkeys(
        ("patch_auc", "patch_pointing", "patch_iou", "word_auc", "word_pointing", "word_iou"), share
    )
    rows = [{"method": "occlusion", **row, **evidence}, {"method": "random", **row}]
    path = tmp_path / "small" / methods.EVALUATION
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"rows": rows, "command": "evaluate", "data": {"texts": 3}}))
    monkeypatch.setattr(methods, "BUNDLES", tmp_path)
    monkeypatch.setattr(methods, "bundle_names", lambda: ("small",))
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    assert "Do the methods find the evidence?" in [subheader.value for subheader in page.at.subheader]
    (table,) = (frame.value for frame in page.at.dataframe if "patches: AUC ↑" in frame.value.columns)
    assert table["method"].tolist() == ["Occlusion"]
    assert table["patches: AUC ↑"].tolist() == ["0.750 ± 0.250"]


@pytest.mark.usefixtures("small")
def test_the_papers_tables_stand_beside_ours(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    (table,) = [table for table in read_tables() if table.paper == "CIMI"]
    interval = {"mean": 0.2, "low": 0.1, "high": 0.3, "texts": 7}
    metrics = dict.fromkeys(table.metrics, interval)
    measured = {
        "rows": [{"method": id, "inputs": 7, "metrics": metrics} for id in (*table.sets["yelp"], "random")],
        "gains": {"cimi:zero": {"lime": metrics}},
        "data": {"title": "Yelp", "inputs": 7, "accuracy": {"test": 0.9}},
        "command": "measure yelp",
    }
    results = tuple(TableResult(table, name, measured) for name in ("clickbait", "yelp"))
    monkeypatch.setattr(paper_tables, "table_results", lambda: results)
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    page.at.selectbox(key="paper table").set_value("CIMI, Table 1: yelp")
    page.run()
    assert any("Yelp; accuracy 90.0 %; n = 7." in text and table.note in text for text in page.plain())
    assert any("are fitted once" in text and "A table is replicated where" in text for text in page.plain())
    assert "measure yelp" in [code.value for code in page.at.code]
    figure = papers.dots(results[1], "cimi_comp")
    diamonds = [trace for trace in figure.data if trace.marker.symbol == "diamond-open"]
    assert [trace.x[0] for trace in diamonds] == [0.31, 0.2287, 0.0992, 0.2362, 0.0809, 0.1497]  # from below
    assert [trace.x[0] for trace in figure.data if trace not in diamonds] == [0.2] * 7


def test_without_measured_tables_there_is_no_section(
    monkeypatch: pytest.MonkeyPatch, opened: Opened, small: None
) -> None:
    monkeypatch.setattr(paper_tables, "table_results", lambda: ())
    page = opened()
    page.at.switch_page("pages/methods.py")
    page.run()
    assert "paper table" not in {selectbox.key for selectbox in page.at.selectbox}
