import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from explainers import evaluate_command, evaluation
from explainers.attribution.random_floor import RandomFloor
from explainers.cli import app
from explainers.comparison import ORDERS
from explainers.datasets.example import Example
from explainers.entry import Entry
from explainers.errors import DataUnavailable, ExplanationError
from explainers.evaluate_command import Wanted, everything, of_split
from explainers.evaluation import (
    AVGSEN,
    POSITION,
    RANDOM,
    Plan,
    Record,
    difference,
    evaluate,
    figures,
    read,
    table,
)
from explainers.explanation import Attribution
from explainers.learned.entries import DEFAULT_VARIANTS
from explainers.learned.recipes import RECIPES
from explainers.learned.weights import available
from explainers.methods import METHODS, chosen
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.masking import Asked, masking_path
from explainers.models import tasks
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import ERASURES, Erasure
from explainers.models.meter import Meter
from explainers.report.evaluation import flat, markdown, name_of, ordered, write
from explainers.settings import Settings

TEXTS = tuple(map(Example, ("the film was not good !", "a very dull plot", "", "unwatchable", "bad film , dull plot")))
LONG = "the film was not good , but a very dull plot ! the unwatchable film was very very bad , a dull film !"
CHEAP = ("occlusion", "attention_mean")


def plan(*methods: str, **fields: Any) -> Plan:
    return Plan(chosen(methods or CHEAP), **{"erasures": ("mask", "zero"), **fields})


def done(model: FrozenModel, wanted: Plan, out: Path, texts: Sequence[Example] = TEXTS) -> list[Record]:
    list(evaluate(model, texts, wanted, out))
    return read(out, [entry.id for entry in wanted.entries], model)


def timeless(rows: Sequence[Record]) -> list[Any]:
    """Up to the last digits, which depend on what else was in a batch."""
    return [pytest.approx({**flat(row), "seconds": 0}, abs=1e-6) for row in rows]


@pytest.mark.parametrize("erasure", ERASURES)
@pytest.mark.parametrize("text", ["good", "not good", "unwatchable film , dull plot", LONG])
def test_figures_are_those_of_the_whole_path(bert: FrozenModel, text: str, erasure: Erasure) -> None:
    encoding = bert.encode(text)
    units, chance = len(encoding.units), np.random.default_rng(0)
    for _ in range(2):
        scores = tuple(chance.standard_normal(units).tolist())
        for label in range(3):
            path = masking_path(Asked(bert, encoding, erasure), scores, label)
            expected = {metric.id: metric.score(path) for metric in METRICS}
            assert figures(Asked(bert, encoding, erasure), scores, label) == pytest.approx(expected, abs=1e-6)


def test_a_decision_that_flips_late_or_never_is_asked_to_the_end(bag: Callable[..., FrozenModel]) -> None:
    model = bag({"good": 1.0, "bad": -3.0, "the": 0.0})
    encoding = model.encode("bad the the the the the good good")  # negative, because 2 - 3 < 0
    first_words_last = tuple(float(place) for place in range(8))
    assert figures(Asked(model, encoding, "mask"), first_words_last, 0)["dffot"] == 1  # with no word left it is 1/2
    first_words_first = first_words_last[::-1]
    assert figures(Asked(model, encoding, "mask"), first_words_first, 0)["dffot"] == 1 / 8  # without "bad"
    goods_last = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 0.1, 0.2)
    assert figures(Asked(model, encoding, "mask"), goods_last, 0)["dffot"] == 6 / 8  # "bad" is the sixth to go


def test_flips_in_long_texts_are_exact_not_in_steps(bert: FrozenModel) -> None:
    bert.tokenizer.enable_truncation(64)
    encoding = bert.encode(" ".join(["good", "bad", "dull", "very"] * 20), "token")  # 62 units: drawn in steps of 2 %
    units, chance = len(encoding.units), np.random.default_rng(0)
    exact = 0
    for _ in range(3):
        scores = tuple(chance.standard_normal(units).tolist())
        path = masking_path(Asked(bert, encoding, "mask"), scores, 0, tuple(range(units + 1)), kept=False)
        classes = path.removed.argmax(axis=1)
        first = int(np.flatnonzero(classes != classes[0])[0]) if len(set(classes)) > 1 else units
        found = figures(Asked(bert, encoding, "mask"), scores, 0)["dffot"]
        assert found == pytest.approx(first / units)
        exact += first < units
    assert exact


def test_every_method_and_control_is_measured_on_every_text_under_every_operator(
    bert: FrozenModel, tmp_path: Path
) -> None:
    wanted = plan()
    records = done(bert, wanted, tmp_path)
    assert {(record["text"], record["method"]) for record in records} == {
        (text, method) for text in (0, 1, 3, 4) for method in (*CHEAP, RANDOM, POSITION)
    }  # text 2 has no words
    for record in records:
        encoding = bert.encode(TEXTS[record["text"]])
        label = int(bert.probabilities(encoding, [[1] * len(encoding.units)]).argmax())
        if record["method"] == POSITION:
            scores = tuple(float(-place) for place in range(len(encoding.units)))
        elif record["method"] in CHEAP:
            (entry,) = chosen([record["method"]])
            scores = entry.make(erasure="mask", seed=0, samples=500, steps=50).attribute(bert, encoding, label).scores
        else:
            continue
        for erasure in wanted.erasures:
            expected = figures(Asked(bert, encoding, erasure), scores, label)
            assert record["figures"][erasure] == pytest.approx(expected, abs=1e-6)


def test_the_random_control_is_the_mean_of_its_orders(bert: FrozenModel, tmp_path: Path) -> None:
    records = done(bert, plan(settings=Settings(seed=3)), tmp_path)
    (found,) = (each["figures"]["mask"] for each in records if (each["text"], each["method"]) == (0, RANDOM))
    encoding = bert.encode(TEXTS[0])
    label = int(bert.probabilities(encoding, [[1] * len(encoding.units)]).argmax())
    orders = [RandomFloor(seed=4000 + draw).attribute(bert, encoding, label).scores for draw in range(ORDERS)]
    each = [figures(Asked(bert, encoding, "mask"), order, label) for order in orders]
    expected = {name: np.mean([one[name] for one in each]) for name in each[0]}
    assert found == pytest.approx(expected, abs=1e-6)


def test_explanations_are_made_with_the_settings_and_scored_with_every_operator(
    bert: FrozenModel, tmp_path: Path
) -> None:
    records = done(bert, plan("occlusion", settings=Settings(unit="token", erasure="zero")), tmp_path, TEXTS[3:4])
    encoding = bert.encode(TEXTS[3], "token")
    label = int(bert.probabilities(encoding, [[1, 1, 1]]).argmax())
    (entry,) = chosen(["occlusion"])
    scores = entry.make(erasure="zero", seed=0, samples=500, steps=50).attribute(bert, encoding, label).scores
    for erasure in ("mask", "zero"):
        expected = figures(Asked(bert, encoding, erasure), scores, label)
        assert records[0]["figures"][erasure] == pytest.approx(expected, abs=1e-6)


def test_what_a_method_costs_is_kept(bert: FrozenModel, tmp_path: Path) -> None:
    records = done(bert, plan("occlusion"), tmp_path)
    costs = {record["text"]: record["calls"] for record in records if record["method"] == "occlusion"}
    assert costs == {0: 7, 1: 5, 3: 2, 4: 6}  # each word, and the whole text
    assert all("calls" not in record for record in records if record["method"] in (RANDOM, POSITION))


def test_sensitivity_is_measured_on_the_first_texts_and_not_for_what_is_too_dear(
    bert: FrozenModel, tmp_path: Path
) -> None:
    wanted = plan("occlusion", "lime", sensitive=1, erasures=("mask",), settings=Settings(samples=10))
    records = done(bert, wanted, tmp_path, TEXTS[:2])
    assert [(record["text"], record["method"]) for record in records if AVGSEN in record] == [(0, "occlusion")]
    assert all(0 <= record[AVGSEN] <= 1 for record in records if AVGSEN in record)
    (row,) = (row for row in table(records) if (row["method"], row["erasure"]) == ("occlusion", "mask"))
    assert (row["texts"], row[AVGSEN]["texts"]) == (2, 1)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.77, 0.99])
def test_an_interrupted_evaluation_goes_on_to_the_same_table(bert: FrozenModel, tmp_path: Path, share: float) -> None:
    whole = done(bert, plan(), tmp_path)
    path = tmp_path / "texts.jsonl"
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    again = done(bert, plan(), tmp_path)
    assert [flat(row) | {"seconds": 0} for row in table(again)] == timeless(table(whole))
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == len({(line.get("text"), line.get("method")) for line in lines}) == 1 + 4 * 4


def test_what_is_done_is_not_asked_again(bert: FrozenModel, tmp_path: Path) -> None:
    done(bert, plan(), tmp_path)
    before, meter = (tmp_path / "texts.jsonl").read_text(encoding="utf-8"), Meter()
    assert list(evaluate(bert.metered(meter), TEXTS, plan(), tmp_path)) == [1, 2, 3, 4, 5]
    assert meter.calls == 0
    assert (tmp_path / "texts.jsonl").read_text(encoding="utf-8") == before


def test_two_processes_find_the_same_as_one(bert: FrozenModel, tmp_path: Path) -> None:
    one = done(bert, plan(), tmp_path / "one")
    assert list(evaluate(bert, TEXTS, plan(), tmp_path / "two", processes=2)) == [1, 2, 3, 4, 5]
    both = read(tmp_path / "two", CHEAP, bert)
    assert timeless(table(both)) == [{**flat(row), "seconds": 0} for row in table(one)]
    assert len(both) == 4 * 4  # the empty text has nothing to explain


def test_another_method_is_added_to_what_is_there(bert: FrozenModel, tmp_path: Path) -> None:
    first = done(bert, plan("occlusion"), tmp_path)
    both = done(bert, plan("occlusion", "attention_mean"), tmp_path)
    assert [record for record in both if record["method"] != "attention_mean"] == first
    assert read(tmp_path, ["occlusion"], bert) == first


def test_a_method_that_was_fitted_again_is_measured_again(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checksums = {"cimi": "old"}
    monkeypatch.setattr(evaluation, "weights_of", lambda _model, method: checksums.get(method, ""))
    done(bert, plan("cimi"), tmp_path, TEXTS[:2])
    checksums["cimi"] = "new"
    records = done(bert, plan("cimi"), tmp_path, TEXTS[:2])
    assert [(each["text"], each["weights"]) for each in records if each["method"] == "cimi"] == [(0, "new"), (1, "new")]
    lines = (tmp_path / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 3 + 2  # the old ones stay, the controls are not made anew


@pytest.mark.parametrize(
    ("texts", "changed"),
    [
        (TEXTS[:-1], {}),
        ((*TEXTS[:-1], Example("another text")), {}),
        ((*TEXTS[:-1], Example(TEXTS[-1].text, "with a pair")), {}),
        (TEXTS, {"erasures": ("mask",)}),
        (TEXTS, {"settings": Settings(seed=1)}),
        (TEXTS, {"settings": Settings(erasure="delete")}),
        (TEXTS, {"settings": Settings(unit="token")}),
        (TEXTS, {"sensitive": 1}),
    ],
    ids=["fewer texts", "another text", "a pair", "operators", "seed", "operator", "unit", "sensitivity"],
)
def test_another_evaluation_needs_another_folder(
    bert: FrozenModel, tmp_path: Path, texts: Sequence[Example], changed: dict[str, Any]
) -> None:
    done(bert, plan("attention_mean"), tmp_path)
    before = (tmp_path / "texts.jsonl").read_text(encoding="utf-8")
    with pytest.raises(ExplanationError, match=r"belongs to another evaluation. Choose another folder or delete it"):
        next(evaluate(bert, texts, plan("attention_mean", **changed), tmp_path))
    assert (tmp_path / "texts.jsonl").read_text(encoding="utf-8") == before


def test_another_version_of_the_model_needs_another_folder(bert: FrozenModel, tmp_path: Path) -> None:
    done(bert, plan("attention_mean"), tmp_path, TEXTS[:1])
    bert.version = "2"
    with pytest.raises(ExplanationError, match="belongs to another evaluation"):
        next(evaluate(bert, TEXTS[:1], plan("attention_mean"), tmp_path))


def test_a_method_that_fails_on_a_text_stops_neither_itself_nor_others(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    final = evaluation.final

    def broken(entry: Entry, question: Any) -> Attribution:
        if entry.id == "occlusion" and "dull" in question.encoding.texts[0]:
            raise ExplanationError("Too long.")
        return final(entry, question)

    monkeypatch.setattr(evaluation, "final", broken)
    records = done(bert, plan(), tmp_path)
    failed = [record for record in records if "failed" in record]
    assert [(record["text"], record["method"]) for record in failed] == [(1, "occlusion"), (4, "occlusion")]
    counts = {(row["method"], row["erasure"]): row["texts"] for row in table(records)}
    assert counts[("occlusion", "mask")] == 2
    assert counts[("attention_mean", "zero")] == counts[(RANDOM, "zero")] == 4


def test_a_method_that_fails_on_a_changed_text_keeps_its_figures(
    bert: FrozenModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_args: object, **_named: object) -> float:
        raise ExplanationError("Too long.")

    monkeypatch.setattr(evaluation, "sensitivity", broken)
    records = done(bert, plan("occlusion", sensitive=5), tmp_path)
    assert sum("figures" in record for record in records if record["method"] == "occlusion") == 4


def record(text: int, method: str, **by: float) -> Record:
    found = {metric.id: by.get(metric.id, 0.0) for metric in METRICS}
    return {"text": text, "method": method, "weights": "", "figures": {"mask": found}}


def row_of(records: Sequence[Record], method: str) -> Record:
    (found,) = (row for row in table(records) if row["method"] == method)
    return found


def test_the_table_has_means_and_gains_over_random_on_the_same_texts() -> None:
    records = [
        record(0, "occlusion", aopc_c=0.5, aopc_s=0.1),
        record(1, "occlusion", aopc_c=0.3, aopc_s=0.3),
        record(0, RANDOM, aopc_c=0.1, aopc_s=0.4),
        record(1, RANDOM, aopc_c=0.2, aopc_s=0.4),
        record(2, RANDOM, aopc_c=0.9, aopc_s=0.9),
    ]
    row = row_of(records, "occlusion")
    assert (row["texts"], row["erasure"]) == (2, "mask")
    assert row["aopc_c"]["mean"] == pytest.approx(0.4)
    assert row["aopc_c_gain"]["mean"] == pytest.approx((0.4 + 0.1) / 2)
    assert row["aopc_s_gain"]["mean"] == pytest.approx((0.3 + 0.1) / 2)  # lower is better
    assert row["aopc_s_gain"]["texts"] == 2
    assert row_of(records, RANDOM)["aopc_c"]["mean"] == pytest.approx(0.4)
    assert "aopc_c_gain" not in row_of(records, RANDOM)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.id)
def test_a_gain_is_positive_where_the_method_is_better_than_random(metric: Any) -> None:
    better, worse = (0.7, 0.2) if metric.higher_is_better else (0.2, 0.7)
    records = [record(0, "occlusion", **{metric.id: better}), record(0, RANDOM, **{metric.id: worse})]
    assert row_of(records, "occlusion")[f"{metric.id}_gain"]["mean"] == pytest.approx(0.5)
    assert difference(records, "occlusion", RANDOM, metric, "mask").mean == pytest.approx(0.5)
    assert difference(records, RANDOM, "occlusion", metric, "mask").mean == pytest.approx(-0.5)


def test_a_difference_is_paired_by_text() -> None:
    records = [
        *(record(text, "occlusion", aopc_c=text + 0.25) for text in (3, 1, 0, 2)),
        *(record(text, "lime", aopc_c=text) for text in range(5)),
        {"text": 4, "method": "occlusion", "weights": "", "failed": "Too long."},
    ]
    found = difference(records, "occlusion", "lime", METRICS[0], "mask")
    assert (found.mean, found.low, found.high, found.texts) == (0.25, 0.25, 0.25, 4)


def test_gains_that_may_be_nothing_are_marked() -> None:
    sure = [record(text, "occlusion", aopc_c=0.5) for text in range(4)]
    unsure = [record(text, "attention_mean", aopc_c=0.1 * (-1) ** text) for text in range(4)]
    controls = [record(text, each) for text in range(4) for each in (RANDOM, POSITION)]
    rows = markdown(table([*controls, *unsure, *sure]), "mask").split("\n")[2:]
    cells = {row.split("|")[1].strip(): row.split("|")[2].strip() for row in rows}
    assert cells == {
        "Occlusion": "0.500 ± 0.000",
        "Attention, mean": f"0.000 ± {cells['Attention, mean'][8:13]}°",
        "Position only (first words first)": "0.000 ± 0.000°",
        f"Random, mean of {ORDERS} orders": "0.000 ± 0.000",
    }


def test_rows_stand_in_the_order_of_display_and_controls_last() -> None:
    names = (RANDOM, POSITION, "attention_mean", "lime", "aml:suff", "aml", "ivra")
    rows = table([record(0, name) for name in names])
    assert [row["method"] for row in ordered(rows, "mask")] == [
        *("aml", "aml:suff", "ivra", "lime", "attention_mean"),
        *(RANDOM, POSITION),
    ]
    assert ordered(rows, "zero") == []


def test_what_was_optimised_on_the_figures_carries_a_mark() -> None:
    assert name_of("faml") == "fAML †"
    assert name_of("aml:comp") == "AML (comp)"
    assert {method.id for method in METHODS if name_of(method.id).endswith("†")} == {"faml"}


def test_the_files_hold_the_same_figures(bert: FrozenModel, tmp_path: Path) -> None:
    rows = table(done(bert, plan("occlusion", sensitive=1), tmp_path))
    write(rows, {"model": "small"}, tmp_path)
    found = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert found == {"model": "small", "rows": rows}
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["method"], line["erasure"]) for line in lines] == [(row["method"], row["erasure"]) for row in rows]
    for line, row in zip(lines, rows, strict=True):
        for metric in METRICS:
            given = [float(line[f"{metric.id}{end}"]) for end in ("", "_low", "_high")]
            assert given == [row[metric.id][name] for name in ("mean", "low", "high")]


def test_everything_is_every_method_and_every_set_of_weights(bert: FrozenModel) -> None:
    ids = [entry.id for entry in everything(bert)]
    assert set(ids) == {*RECIPES, "faml", *(entry.id for entry in METHODS if entry.group != "Learned")} - {RANDOM}
    assert len(ids) == len(set(ids))
    bert.version = "2"  # for which nothing was fitted
    assert {entry.group for entry in everything(bert)} == {"Captum", "Controls"}


def test_weights_that_are_not_the_first_choice_are_named(bert: FrozenModel, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = (each for each in available("small", "1") if each.method == "aml")
    both = (replace(first, variant="comp"), first)
    monkeypatch.setattr(evaluate_command, "available", lambda *_args: both)
    learned = [entry.id for entry in everything(bert) if entry.group == "Learned"]
    assert learned == ["aml", "aml:comp", "faml"]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    words = ("good", "bad", "dull", "very good", "not bad")
    path.write_text("\n".join(f"the {thing} was {word}" for thing in ("film", "plot", "a", "!") for word in words))
    return path


def wanted(**fields: Any) -> Wanted:
    return Wanted(**{"model": "small", "data": None, "split": "test", "n": 3, "methods": (), "erasures": (), **fields})


def test_texts_are_taken_by_the_seed(texts: Path) -> None:
    first, again, other = (of_split(wanted(data=texts), (), seed) for seed in (0, 0, 1))
    assert first == again != other
    assert len(first) == 3
    assert set(of_split(wanted(data=texts, n=0), (), 0)) == set(map(Example, texts.read_text().splitlines()))
    assert of_split(wanted(data=texts, n=5), (), 0)[:3] == first


def test_of_a_models_own_data_a_split_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    class Splits:
        test = tuple(Example(f"test {number}", label=1) for number in range(5))
        validation = tuple(Example(f"other {number}", label=1) for number in range(5))

    class Task:
        read = staticmethod(lambda _folder: Splits)

    monkeypatch.setitem(tasks.TASKS, "small", Task)
    assert {each.text.split()[0] for each in of_split(wanted(), (), 0)} == {"test"}
    assert {each.text.split()[0] for each in of_split(wanted(split="validation"), (), 0)} == {"other"}
    with pytest.raises(DataUnavailable, match=r"There is no split 'train'. Choose test or validation"):
        of_split(wanted(split="train"), (), 0)


def ran(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("evaluate", *arguments))


@pytest.fixture
def asked(hub_folder: Path, texts: Path, tmp_path: Path) -> tuple[str, ...]:
    return (
        *("--model", str(hub_folder), "--data", str(texts), "--methods", "occlusion", "--device", "cpu"),
        *("--n", "3", "--sensitive", "1", "--out", str(tmp_path / "out")),
    )


def test_from_the_command_line_tables_are_printed_and_files_written(asked: tuple[str, ...], tmp_path: Path) -> None:
    result = ran(*asked, "--erasures", "mask,zero", "--seed", "2")
    assert result.exit_code == 0, result.stderr
    assert "Scored by `mask` on 3 texts:" in result.stdout
    assert result.stdout.count("| Occlusion |") == 2
    assert "3 of 3 texts" in result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["table.csv", "table.json", "texts.jsonl"]
    found = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert found["data"] == {"split": "test", "texts": 3, "seed": 2}
    assert found["settings"] == asdict(Settings(seed=2))
    assert {(row["method"], row["erasure"]) for row in found["rows"]} == {
        (method, erasure) for method in ("occlusion", RANDOM, POSITION) for erasure in ("mask", "zero")
    }
    again = ran(*asked, "--erasures", "mask,zero", "--seed", "2", "--json")
    assert json.loads(again.stdout) == found


def test_from_the_command_line_texts_are_shared_out(asked: tuple[str, ...], tmp_path: Path) -> None:
    result = ran(*asked, "--erasures", "mask", "--processes", "2")
    assert result.exit_code == 0, result.stderr
    found = json.loads((tmp_path / "out" / "table.json").read_text(encoding="utf-8"))
    assert "--erasures mask --processes 2" in found["command"]
    result = ran(*asked, "--processes", "0")
    assert result.exit_code == 2
    assert "There must be at least 1 process, not 0." in result.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--erasures", "mask,blur"), "There is no erasure 'blur'. Choose from: mask, delete, zero."),
        (("--methods", "shap"), "There is no method 'shap'. Choose from: "),
        (("--unit", "letter"), "There is no unit 'letter'."),
        (("--model", "no such model"), "There is no model 'no such model'."),
        (("--data", "no-such-file.txt"), "Give a file with texts for "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_a_person_can_mend_is_one_sentence_and_exit_code_2(
    asked: tuple[str, ...], tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    result = ran(*asked, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith(sentence)
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "out").exists()


def test_the_default_variants_are_among_the_weights_of_the_small_store() -> None:
    found = {(each.method, each.variant) for each in available("small", "1")}
    assert found == {(method, DEFAULT_VARIANTS[method]) for method in RECIPES}


def test_pairs_are_evaluated_with_their_own_controls_and_sensitivity(pairs: FrozenModel, tmp_path: Path) -> None:
    texts = [Example("the film was not good", "a dull plot !"), Example("good film", "very bad , not good")]
    rows = done(pairs, plan("occlusion", "premise_only", "hypothesis_only", sensitive=2), tmp_path, texts)
    assert {row["method"] for row in rows} == {"occlusion", "premise_only", "hypothesis_only", RANDOM, POSITION}
    assert all("figures" in row for row in rows)
    assert [0 <= row[AVGSEN] <= 1 for row in rows if row["method"] == "occlusion"] == [True, True]
    assert "| Hypothesis only |" in markdown(table(rows), "mask")


def test_controls_for_pairs_are_left_out_of_single_texts(bert: FrozenModel, tmp_path: Path) -> None:
    rows = done(bert, plan("occlusion", "premise_only"), tmp_path)
    assert {row["method"] for row in rows} == {"occlusion", RANDOM, POSITION}


def test_own_texts_must_be_pairs_where_the_model_asks_for_them(texts: Path, tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="asks for pairs, premise and hypothesis, and these are single texts"):
        of_split(wanted(data=texts), ("premise", "hypothesis"), 0)
    table = tmp_path / "pairs.csv"
    table.write_text("premise,hypothesis\n" + "".join(f"text {n},other\n" for n in range(20)))
    assert of_split(wanted(data=table), ("premise", "hypothesis"), 0)[0].pair == "other"
