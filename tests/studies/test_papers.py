"""The papers' tables: their data sets, their numbers, and which of their comparisons hold."""

import gzip
from pathlib import Path

import pytest
from typer.testing import CliRunner

from explainers.__main__ import app
from explainers.errors import DataUnavailable
from explainers.installation import ASSETS
from explainers.methods.registry import base_id, method_spec
from explainers.report import paper_tables
from explainers.report.paper_tables import METRICS, Compared, PublishedTable, TableResult, read_tables, verdict
from explainers.studies import papers
from explainers.studies.papers import EMBEDDED, FITTED, METHODS, PAPER_SETS, gains_of
from explainers.studies.published_metrics import PublishedValues


def interval(mean: float, half: float = 0.01) -> dict[str, float]:
    return {"mean": mean, "low": mean - half, "high": mean + half}


@pytest.fixture
def result() -> TableResult:
    """LIME is worse than CIMI in the paper by COMP and better by SUFF; here it is level by COMP, and better by SUFF."""
    paper = PublishedTable(
        "CIMI",
        "Table 1",
        ("cimi",),
        ("cimi_comp", "cimi_suff"),
        "A note.",
        {"clickbait": {"lime": [0.3, 0.1], "occlusion": [0.2, 0.3], "cimi": [0.5, 0.2]}},
    )
    means = {"cimi": (0.4, 0.3), "lime": (0.4, 0.1), "occlusion": (0.1, 0.2), "random": (0.0, 0.9), "alti": (0.2, 0.2)}
    rows = [
        {"method": id, "inputs": 9, "metrics": {"cimi_comp": interval(comp), "cimi_suff": interval(suff)}}
        for id, (comp, suff) in means.items()
    ]
    gains = {
        "lime": {"cimi_comp": interval(0.0), "cimi_suff": interval(-0.2)},
        "occlusion": {"cimi_comp": interval(0.3), "cimi_suff": interval(-0.1)},
    }
    data = {"title": "Headlines", "inputs": 9, "accuracy": {"test": 0.5}, "splits": {"train": 70}}
    return TableResult(paper, "clickbait", {"rows": rows, "gains": {"cimi": gains}, "data": data, "command": "measure"})


def test_a_comparison_holds_in_the_direction_of_the_paper(result: TableResult) -> None:
    outcomes = {(one.other, one.metric): one.outcome for one in result.compared("cimi")}
    assert outcomes == {
        ("lime", "cimi_comp"): "open",
        ("lime", "cimi_suff"): "holds",  # it is worse in both
        ("occlusion", "cimi_comp"): "holds",
        ("occlusion", "cimi_suff"): "reversed",
    }
    assert verdict(result.compared("cimi")) == "not replicated"  # two of four hold
    assert verdict(result.compared("cimi")[:3]) == "partly replicated"
    assert verdict([]) == "open"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0.1, 0.2, "replicated"), (-0.1, 0.2, "open"), (-0.2, -0.1, "not replicated")],
)
def test_a_table_is_replicated_where_every_comparison_holds(low: float, high: float, expected: str) -> None:
    one = Compared("cimi", "lime", "cimi_comp", True, {"mean": 0, "low": low, "high": high})
    assert verdict([one]) == expected


def test_the_order_is_compared_over_the_methods_of_both(result: TableResult) -> None:
    assert result.order("cimi_suff") == pytest.approx(1 / 3)  # LIME < CIMI < Occlusion, and LIME < Occlusion < CIMI
    assert result.methods == ("lime", "occlusion", "cimi", "random")


def test_the_document_has_both_values_the_outcome_and_the_command(
    result: TableResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_tables, "read_tables", lambda: (result.table,))
    monkeypatch.setattr(paper_tables, "stored_measurements", lambda: {"clickbait": result.measured})
    document = paper_tables.papers_document()
    assert "| LIME | 0.300 | 0.400 ± 0.010 | 0.100 | 0.100 ± 0.010 |" in document
    assert "- **CIMI**: not replicated; of 4 comparisons 2 hold, 1 is open, 1 is reversed. " in document
    assert "Reversed: Occlusion by CIMI SUFF. Change from the paper's values, positive is better " in document
    # CIMI .5 to .4 and .2 to .3; LIME .3 to .4 and .1 to .1, occlusion .2 to .1 and .3 to .2; less SUFF is better
    assert "(mean of the others): CIMI COMP -0.100 (+0.000); CIMI SUFF -0.100 (+0.050)." in document
    assert "Headlines, trained on 70 texts; accuracy 50.0 %; n = 9." in document
    assert "```sh\nmeasure\n```" in document
    assert "Not measured yet" not in document


def test_the_papers_numbers_name_metrics_methods_and_data_sets_that_exist() -> None:
    for paper in read_tables():
        for data_set, numbers in paper.sets.items():
            assert data_set in {*PAPER_SETS, *EMBEDDED}
            assert all(method_spec(method).id == method for method in numbers)
            assert all(len(values) == len(paper.metrics) for values in numbers.values())
        assert set(paper.metrics) <= set(METRICS)


def written(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(lines).encode()))


def test_parts_have_no_text_in_common_and_do_not_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in {"TRAIN": 40, "VALIDATION": 10, "TEST": 20, "UNLABELLED": 15}.items():
        monkeypatch.setattr(papers, name, size)
    lines = [f"headline number {number}\t{number % 2}" for number in range(100)]
    written(tmp_path / "clickbait/all.tsv.gz", ["text\tlabel", *lines, lines[0], "short\t1"])
    splits = PAPER_SETS["clickbait"].splits(tmp_path)
    parts = [splits.train, splits.validation, splits.test, splits.explainer]
    assert [len(part) for part in parts] == [40, 10, 20, 15]
    assert len({example.text for part in parts for example in part}) == 85
    assert PAPER_SETS["clickbait"].splits(tmp_path) == splits


def test_ag_news_is_world_against_science_with_its_own_test_part(tmp_path: Path) -> None:
    train = ["And more, of it!\tWorld"]  # it is in the test part
    train += [f"story {number} from afar\t{kind}" for number, kind in enumerate(["World", "Sci/Tech", "Sports"] * 2000)]
    written(tmp_path / "ag_news/train.tsv.gz", train)
    test = ["class\ttitle\tdescription", "1\tA title\tand more of it", "4\tA chip\tis quick", "2\tA match\tis lost"]
    written(tmp_path / "ag_news/test.tsv.gz", test)
    splits = PAPER_SETS["ag_news"].splits(tmp_path)
    assert {(example.text, example.label) for example in splits.test} == {
        ("and more of it", 0),
        ("is quick", 1),
    }
    assert {example.label for example in splits.train} == {0, 1}
    everything = {example.text for part in (splits.train, splits.validation, splits.explainer) for example in part}
    assert "And more, of it!" not in everything


def test_quoted_cells_are_read_as_such_and_a_text_with_two_labels_counts_once(tmp_path: Path) -> None:
    written(
        tmp_path / "yelp/sentences.tsv.gz", ["text\tlabel", '"a ""good"" place"\t1', "fine food\t1", "Fine food.\t0"]
    )
    splits = PAPER_SETS["yelp"].splits(tmp_path)
    assert {example.text for example in splits.test} == {'a "good" place', "fine food"}


def test_the_gains_of_a_data_set_are_those_of_its_tables() -> None:
    better, worse = {"cimi_comp": 0.5, "ciem_comp": 0.5}, {"cimi_comp": 0.1, "ciem_comp": 0.1}
    methods = {"cimi:zero": [better] * 4, "lime": [worse] * 4, "ciem": [better] * 4, "cimi": [better] * 3}
    gains = gains_of("clickbait", PublishedValues(methods, {"cimi": "It failed."}))
    assert set(gains) == {"cimi:zero"}  # CIEM has no table on it, and CIMI failed on one input
    assert set(gains["cimi:zero"]) == {"lime", "ciem"}
    assert gains["cimi:zero"]["lime"] == {"cimi_comp": {"mean": 0.4, "low": 0.4, "high": 0.4, "texts": 4}}


def test_what_is_not_compared_on_all_inputs_is_named(result: TableResult) -> None:
    rows = [row for row in result.measured["rows"] if row["method"] != "occlusion"]
    rows[1] = rows[1] | {"inputs": 8, "reason": "It failed."}
    left = TableResult(result.table, "clickbait", {**result.measured, "rows": rows})
    assert left.left_out == {"lime": "It failed.", "occlusion": "not measured"}
    (line,) = [line for line in paper_tables.outcome_lines(left) if line.method == "Not compared"]
    assert line.text == "LIME: It failed.; Occlusion: not measured."


def test_what_a_training_warned_of_stands_below_its_table(result: TableResult) -> None:
    warned = {"cimi": ["Constant mask.", "No better than random."], "ciem": ["Not in this table."]}
    told = paper_tables.outcome_lines(TableResult(result.table, "clickbait", {**result.measured, "warnings": warned}))
    assert [line.text for line in told if line.method.startswith("Training")] == [
        "Constant mask. No better than random."
    ]
    assert not [line for line in paper_tables.outcome_lines(result) if line.method.startswith("Training")]


def test_every_method_of_the_tables_is_measured() -> None:
    for paper in read_tables():
        assert {*paper.own, *(method for numbers in paper.sets.values() for method in numbers)} <= set(METHODS)
    assert {base_id(id) for id in METHODS if method_spec(id).learns} == {*map(base_id, FITTED), "faml"}


@pytest.mark.parametrize(("lines", "reason"), [(["text\tlabel", "a b\tx"], "line 2: expected"), (None, "No such file")])
def test_files_that_cannot_be_used_are_a_sentence(tmp_path: Path, lines: list[str] | None, reason: str) -> None:
    if lines:
        written(tmp_path / "yelp/sentences.tsv.gz", lines)
    with pytest.raises(DataUnavailable, match=reason):
        PAPER_SETS["yelp"].splits(tmp_path)


def test_an_unknown_data_set_is_a_sentence() -> None:
    outcome = CliRunner().invoke(app, ["study", "papers-measure", "squad", "--data", "."])
    assert outcome.exit_code == 2
    assert "There is no data set 'squad'. Choose one of: rotten_tomatoes, " in outcome.output


def test_what_is_stored_says_how_it_was_measured() -> None:
    for name, measured in paper_tables.stored_measurements().items():
        assert f"papers-measure {name} " in measured["command"]
        assert {row["method"] for row in measured["rows"]} >= {"faml", "aml", "random"}


def test_the_document_is_that_of_the_stored_results() -> None:
    assert (ASSETS / "docs" / "papers.md").read_text(encoding="utf-8") == paper_tables.papers_document()
