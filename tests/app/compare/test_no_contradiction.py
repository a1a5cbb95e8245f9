"""Of every stored result, heading, marks, rows, table and downloads say the same."""

import csv
import io
import json
import re
from functools import cache
from html import unescape

import pytest

from app import model_info
from app.compare import answer_head
from app.compare.drawing_options import DrawingOptions
from app.compare.engine import Engine
from app.compare.runs import Request, Run
from app.compare.score_sheet import payload
from app.model_pool import ModelPool
from explainers.comparison.answer import consensus_members
from explainers.datasets.curated_examples import CuratedExample, curated_examples, example_of
from explainers.datasets.example import Example
from explainers.methods.registry import applicable, default_methods, method_spec, select
from explainers.metrics.chance import evidence, sampled_null
from explainers.models.bundle_cards import bundle_names
from explainers.report.answer import heading, marks, quoted
from explainers.report.document import metrics_table
from explainers.report.tables import csv_curves, csv_metrics, csv_scores
from explainers.report.wording import escaped
from explainers.results.answer import CONSENSUS, LEVEL, Answer, Null
from explainers.results.comparison import Comparison
from explainers.results.decision import Settings
from explainers.training.artifacts import not_fitted
from tests.fitted_version import fitted_version

MODELS = {"sst2", "nli", "scenes"}
EXAMPLES = pytest.mark.parametrize(
    "curated", curated_examples(), ids=lambda example: f"{example.model}, {example.title}"
)
pytestmark = pytest.mark.skipif(not set(bundle_names()) >= MODELS, reason="not all bundles are in assets/bundles")
TESTED = ["consensus", "supported", "differs", "random", ""]


@cache
def stored(curated: CuratedExample) -> Run:
    """The run that the page shows, without a model."""
    example = example_of(curated)
    given = Example(example.text, example.pair, image=example.image)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelPool, "warm_up", lambda *_args, **_rest: None)
        patch.setattr(model_info.smollm2, "version_on_card", fitted_version)
        info = model_info.info_on_card(curated.model)
        absent = not_fitted(curated.model, info.version)
        chosen = applicable(select(default_methods()), given)
        methods = tuple(spec.id for spec in chosen if spec not in absent)
        settings = Settings(erasure=info.default_erasure)
        run = Engine(ModelPool()).submit(Request(curated.model, given, None, methods, settings))
    assert run.status == "done", "Write the results again with `python -m explainers study stored-results`."
    return run


def answer_of(curated: CuratedExample) -> tuple[Answer, Comparison]:
    comparison = stored(curated).comparison()
    assert comparison.answer is not None
    return comparison.answer, comparison


def null_of(comparison: Comparison) -> Null:
    assert comparison.random_control is not None
    return comparison.random_control.exact or sampled_null(comparison.random_control.scores)


@EXAMPLES
def test_every_method_that_was_tested_is_in_exactly_one_group(curated: CuratedExample) -> None:
    answer, comparison = answer_of(curated)
    grouped = [*answer.supported, *dict(answer.differs), *answer.random]
    assert len(grouped) == len(set(grouped))
    assert not set(grouped) & {*answer.abstaining, CONSENSUS}
    assert set(grouped) == (
        {member.method for member in consensus_members(comparison)} if not answer.refusal else set()
    )
    assert answer.status != "pending"


@EXAMPLES
def test_who_is_named_is_better_than_chance_and_the_first_who_is_not_ends_the_test(curated: CuratedExample) -> None:
    answer, comparison = answer_of(curated)
    if answer.refusal:
        return
    null, values = null_of(comparison), {result.method: evidence(result.metrics) for result in comparison.results}
    assert answer.p == null.p(values[CONSENSUS])
    assert (answer.p <= LEVEL) == (answer.status == "supported")
    assert all(null.p(values[method]) <= LEVEL for method in answer.better_than_chance)
    if answer.status == "supported" and answer.random:
        assert null.p(values[answer.random[0]]) > LEVEL
    assert answer.single is None or answer.single in answer.better_than_chance


@EXAMPLES
def test_the_words_of_the_heading_are_the_first_of_the_consensus_row_outlined_and_marked(
    curated: CuratedExample,
) -> None:
    (answer, comparison), run = answer_of(curated), stored(curated)
    markup, units = answer_head.markup(run, run, answer), comparison.decision.encoding.units
    marked = re.findall(r"<mark>(.*?)</mark>", markup)
    words = sorted(unit for unit in answer.words if units[unit].kind == "word" and not answer.refusal)
    assert [unescape(word) for word in marked] == [units[unit].text for unit in words]
    if answer.status != "supported":
        assert "carry" not in markup
        return
    row = next(row for row in payload(run, DrawingOptions())["rows"] if row["id"] == CONSENSUS)
    first = {int(unit) for unit, cell in row["cells"].items() if cell["rank"] <= len(answer.words)}
    assert first == set(answer.words)
    assert all(row["cells"][str(unit)]["top"] for unit in answer.words)
    named = quoted(answer.words, comparison)
    assert heading(answer, comparison).startswith(f"{named[:1].upper()}{named[1:]}")
    assert escaped(heading(answer, comparison, brief=True)) in markup


@EXAMPLES
def test_rows_table_and_files_have_the_same_groups(curated: CuratedExample) -> None:
    (answer, comparison), run = answer_of(curated), stored(curated)
    rows = payload(run, DrawingOptions())["rows"]
    assert [row["id"] for row in rows][: len(answer.order)] == list(answer.order) or answer.refusal
    assert {row["id"]: row["group"] for row in rows} == {row["id"]: answer.group(row["id"]) for row in rows}
    places = [TESTED.index(row["group"]) for row in rows]
    assert places == sorted(places)
    table = metrics_table(comparison)
    bold, pale = (re.findall(rf'<tr class="{kind}"><td>(.*?)</td>', table) for kind in ("best", "pale"))
    assert [unescape(name) for name in bold] == [method_spec(method).display_name for method in answer.supported]
    assert [unescape(name) for name in pale] == [method_spec(method).display_name for method in answer.random]
    written = csv.DictReader(io.StringIO(csv_metrics(comparison), newline=""))
    assert all(line["group"] == answer.group(line["method"]) for line in written)


@EXAMPLES
def test_downloads_have_the_answer_and_nothing_else_that_judges(curated: CuratedExample) -> None:
    answer, comparison = answer_of(curated)
    written = json.loads(comparison.as_json())
    texts = [comparison.decision.encoding.units[unit].text for unit in answer.words]
    assert written["answer"] == json.loads(json.dumps({**answer.as_dict(), "texts": texts}))
    assert comparison.manifest()["answer"] == {**answer.as_dict(), "texts": texts}
    assert "verdict" not in written
    for make in (csv_scores, csv_metrics, csv_curves):
        (head, *_) = csv.reader(io.StringIO(make(comparison), newline=""))
        assert {"model", "text", "version"} <= set(head)


@EXAMPLES
def test_an_answer_that_fails_under_an_operator_has_no_full_mark(curated: CuratedExample) -> None:
    answer, comparison = answer_of(curated)
    by_kind = {mark.kind: mark for mark in marks(answer, comparison)}
    if not answer.refusal:
        holding = [answer.status == "supported", *(holds for _, holds in answer.holds)]
        assert by_kind["robust"].holds in (None, all(holding))
        assert by_kind["effect"].holds == (answer.status == "supported")


@EXAMPLES
def test_the_duel_on_which_the_page_opens_separates_two_methods_that_are_named(curated: CuratedExample) -> None:
    answer, _ = answer_of(curated)
    run = stored(curated)
    assert run.stored is not None
    for duel in run.stored.comparison.duels:
        assert duel.winner is not None
        assert duel.p <= LEVEL
        assert {side.method for side in duel.sides} <= set(answer.better_than_chance)
