import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app import components
from app.compare.drawing_options import USUAL, DrawingOptions
from app.compare.engine import Engine
from app.compare.heat_maps import score_text
from app.compare.runs import Column, Request, Run, answer_of
from app.compare.score_sheet import AROUND, age, payload, reserved, row_texts, segments
from app.components import ASSETS
from explainers.datasets.example import Example
from explainers.methods.registry import METHODS, method_spec, select
from explainers.metrics.faithfulness import METRICS
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import MOST_WINDOWS
from explainers.report.wording import visible
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution
from explainers.results.decision import Decision, Settings
from explainers.results.events import Failure

Ran = Callable[..., Run]
Ask = Callable[..., Request]
# The small model has no attention, and no layers.
MANY = tuple(spec.id for spec in METHODS if spec.signed and not (spec.learns or spec.one_window or spec.optimised))
TEN = "a good film but dull and very bad plot not"
RGBA = re.compile(r"rgba\(\d{1,3}, \d{1,3}, \d{1,3}, [01]\.\d{3}\)")
LINE = re.compile(r"[0-5]px")
TEXTS = (
    "a good film but dull",
    "  a  good\n\nfilm,   really\t!  ",
    "<script>alert(1)</script> <img src=x onerror=alert(1)>",
    "it's `code` **bold** [link](javascript:alert(1)) $x^2$ :red[red] &amp; &lt;b&gt;",
    "good\x00film \x1b[31m",
    "👩‍👩‍👧 🎬 naïve cafe\u0301",
    "فيلم رائع جدا",
    "?!...",
)


def scored(run: Run, method: str, *scores: float, **rest: Any) -> Column:
    """A column whose scores are known."""
    assert run.decision is not None
    spec = method_spec(method)
    return Column(spec, Attribution(method, run.decision.encoding, 1, scores, spec.signed, **rest))


def forget(run: Run, method: str) -> None:
    results = run.comparison().results
    run.current = replace(run.comparison(), results=tuple(result for result in results if result.method != method))


def cards_of(run: Run, *columns: Column, options: DrawingOptions = DrawingOptions()) -> list[dict[str, Any]]:  # noqa: B008
    """The rows of a run that has these columns, and no results yet."""
    run.columns = {column.spec.id: column for column in columns}
    run.current = replace(run.comparison(), results=(), random_control=None, answer=None)
    cards: list[dict[str, Any]] = payload(run, options)["rows"]
    return cards


def strings(data: object) -> list[str]:
    if isinstance(data, dict):
        return [*data, *(string for value in data.values() for string in strings(value))]
    if isinstance(data, (list, tuple)):
        return [string for value in data for string in strings(value)]
    return [data] if isinstance(data, str) else []


@pytest.mark.parametrize("text", TEXTS)
def test_the_pieces_are_together_the_text_as_it_was_typed(ran: Ran, text: str) -> None:
    run = ran(text)
    (pieces,) = payload(run, DrawingOptions())["segments"]
    assert "".join(piece for piece, _ in pieces) == visible(text)
    assert run.whole is not None
    assert [index for _, index in pieces if index >= 0] == list(range(len(run.whole.encoding.units)))


def test_a_pair_of_texts_has_two_segments_with_one_numbering(ran: Ran, model: FrozenModel) -> None:
    run = ran()
    run.whole = Decision(model, model.encode(Example("a good film", pair=" dull ")), 1)
    run.columns = {}
    first, second = payload(run, DrawingOptions())["segments"]
    assert [pieces[0] for pieces in first] == ["a", " ", "good", " ", "film", ""]
    assert second == [(" ", -1), ("dull", 3), (" ", -1)]


@pytest.mark.parametrize("text", TEXTS)
def test_everything_is_plain_data_that_survives_json(ran: Ran, text: str) -> None:
    data = payload(ran(text, methods=MANY), DrawingOptions())
    assert json.loads(json.dumps(data)) == json.loads(json.dumps(data, default=str))


def test_what_changes_nothing_is_not_built_again(ran: Ran) -> None:
    run = ran(methods=MANY)
    data = payload(run, DrawingOptions())
    assert payload(run, DrawingOptions()) is data
    other = payload(run, DrawingOptions(opacity=50))
    assert other is not data
    assert all(one["cells"] is two["cells"] for one, two in zip(other["rows"], data["rows"], strict=True))


def test_a_new_score_is_drawn(ran: Ran) -> None:
    run = ran("good film")
    (before,) = cards_of(run, scored(run, "occlusion", 0.5, 0.25))
    (after,) = cards_of(run, scored(run, "occlusion", 0.25, 0.5))
    assert (before["cells"]["0"]["rank"], after["cells"]["0"]["rank"]) == (1, 2)


def test_a_later_drawing_can_be_told_from_an_earlier_one(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components.st, "session_state", {})
    one, other = payload(ran("good"), DrawingOptions()), payload(ran("film"), DrawingOptions())
    first, same, second, again = (components.newest("sheet", data) for data in (one, one, other, one))
    assert same is first
    assert first["time"] < second["time"] < again["time"]


def test_no_card_repeats_what_was_typed(ran: Ran) -> None:
    mark = "zzyzx"
    run = ran(f"good {mark} film", methods=MANY)
    assert not [string for string in strings(payload(run, DrawingOptions())["rows"]) if mark in string]


@pytest.mark.parametrize("preset", ["safe", "captum", "shap"])
@pytest.mark.parametrize("scale", ["method", "shared"])
def test_colours_are_ready_for_the_browser(ran: Ran, preset: str, scale: Any) -> None:
    for card in payload(ran(methods=MANY), DrawingOptions(preset, scale))["rows"]:
        assert card["cells"]
        for cell in card["cells"].values():
            assert RGBA.fullmatch(cell["colour"])
            assert LINE.fullmatch(cell["line"])
        assert all(RGBA.fullmatch(end["colour"]) for end in card["detail"]["legend"])


def test_scores_ranks_and_the_top_share(ran: Ran) -> None:
    run = ran()  # five words: the top 40 % are two
    (card,) = cards_of(run, scored(run, "occlusion", 0.0, 0.4, 0.1, -0.2, 0.4), options=DrawingOptions(percent=40))
    cells = [card["cells"][str(index)] for index in range(5)]
    assert [cell["score"] for cell in cells] == ["0.0000", "+0.4000", "+0.1000", "-0.2000", "+0.4000"]
    assert [cell["rank"] for cell in cells] == [4, 1, 3, 5, 2]
    assert [cell["top"] for cell in cells] == [False, True, False, False, True]
    assert {cell["of"] for cell in cells} == {5}
    assert [cell["line"] for cell in cells] == ["0px", "5px", "1px", "2px", "5px"]


@pytest.mark.parametrize(("percent", "outlined"), [(0, 0), (5, 1), (20, 1), (50, 3), (100, 5)])
def test_the_slider_outlines_the_same_share_in_every_row(ran: Ran, percent: int, outlined: int) -> None:
    run = ran()
    columns = [
        scored(run, "occlusion", 0.1, 0.2, 0.3, 0.4, 0.5),
        scored(run, "attention_mean", 0.5, 0.1, 0.1, 0.2, 0.1),
    ]
    for card in cards_of(run, *columns, options=DrawingOptions(percent=percent)):
        assert sum(cell["top"] for cell in card["cells"].values()) == outlined


def test_a_unit_that_does_not_support_the_class_is_never_outlined(ran: Ran) -> None:
    run = ran()
    (card,) = cards_of(run, scored(run, "occlusion", 0.4, 0.0, -0.1, -0.2, -0.4), options=DrawingOptions(percent=100))
    assert [unit for unit, cell in card["cells"].items() if cell["top"]] == ["0"]


def test_cells_are_numbered_by_the_whole_text_when_words_are_removed(ran: Ran) -> None:
    run = ran(removed=(0, 3))
    data = payload(run, DrawingOptions())
    assert data["removed"] == [0, 3]
    assert [piece for piece, index in data["segments"][0] if index in (0, 3)] == ["a", "but"]
    for card in data["rows"]:
        assert list(card["cells"]) == ["1", "2", "4"]
        assert card["cells"]["1"]["rank"] == 1  # "good"
        assert card["cells"]["1"]["of"] == 3


def test_a_shared_scale_compares_cards_and_an_own_one_does_not(ran: Ran) -> None:
    run = ran("good film")
    strong, weak = scored(run, "occlusion", 1.0, 0.0), scored(run, "lime", 0.25, 0.0)
    own = cards_of(run, strong, weak, options=DrawingOptions(scale="method"))
    shared = cards_of(run, strong, weak, options=DrawingOptions(scale="shared"))
    assert own[0]["cells"]["0"]["colour"] == own[1]["cells"]["0"]["colour"]
    assert shared[0]["cells"]["0"]["colour"] == own[0]["cells"]["0"]["colour"]
    assert shared[1]["cells"]["0"]["colour"].endswith("0.175)")  # 0.7 · 0.25
    assert [end["text"] for end in own[1]["detail"]["legend"]] == ["against positive -0.2500", "for positive +0.2500"]
    assert [end["text"] for end in shared[1]["detail"]["legend"]] == [
        "against positive -1.0000",
        "for positive +1.0000",
    ]


def test_an_unsigned_method_has_one_end(ran: Ran) -> None:
    run = ran("good film")
    (card,) = cards_of(run, scored(run, "attention_mean", 0.3, 0.1))
    assert [end["text"] for end in card["detail"]["legend"]] == ["most 0.3000"]
    assert card["kind"] == "unsigned, one pass, a control"
    assert card["cells"]["0"]["score"] == "0.3000"


def test_scores_that_are_all_zero_have_no_colour(ran: Ran) -> None:
    run = ran("good film")
    (card,) = cards_of(run, scored(run, "occlusion", 0.0, 0.0))
    assert {cell["colour"][-6:] for cell in card["cells"].values()} == {"0.000)"}
    assert {cell["line"] for cell in card["cells"].values()} == {"0px"}


def test_chance_and_the_gap_are_told(ran: Ran) -> None:
    run = ran("good film")
    lime = scored(run, "lime", 0.5, 0.1, spread=(0.02, 0.04), samples=50)
    gradients = scored(run, "integrated_gradients", 0.5, 0.1, gap=0.0042)
    first, second = cards_of(run, lime, gradients)
    assert first["cells"]["0"]["score"] == "+0.5000 ± 0.0200"
    assert first["detail"]["facts"][-2:] == ["50 samples", "standard deviation of a score at most 0.040"]
    assert second["detail"]["facts"][-1] == "completeness gap 0.004"


def test_cards_stand_in_the_order_of_the_answer_and_below_its_titles(ran: Ran) -> None:
    run = ran(TEN, methods=MANY)
    answer, rows = answer_of(run), payload(run, DrawingOptions())["rows"]
    ids = [card["id"] for card in rows]
    assert ids == [*answer.order, *(method for method in MANY if method not in answer.order)]
    assert [card["group"] for card in rows] == [answer.group(method) for method in ids]
    assert all(bool(card["title"]) == (card["group"] not in ("", "consensus")) for card in rows)
    usual = payload(run, DrawingOptions(sort=USUAL))["rows"]
    assert [card["id"] for card in usual] == [CONSENSUS, *MANY]


def test_what_was_optimised_on_the_metrics_stands_last_below_a_title(ran: Ran) -> None:
    rows = payload(ran(TEN, methods=("occlusion", "solvex", "lime", "first_only")), DrawingOptions())["rows"]
    assert [card["id"] for card in rows] == [CONSENSUS, "lime", "occlusion", "first_only", "solvex"]
    assert rows[-1]["title"] == "optimised on these metrics, so not compared"
    assert [card["title"] for card in rows[:-1]].count(rows[-1]["title"]) == 0


@pytest.mark.parametrize("metric", METRICS, ids=[metric.id for metric in METRICS])
def test_sorting_puts_the_best_first(ran: Ran, metric: Any) -> None:
    run = ran(methods=MANY)
    values = []
    for card in payload(run, DrawingOptions(sort=metric.id))["rows"][1:]:
        result = run.result(card["id"])
        assert result is not None
        values.append(result.metrics[metric.id])
    assert values == sorted(values, reverse=metric.higher_is_better)


def test_cards_without_a_metric_come_last_when_sorted(ran: Ran) -> None:
    run = ran(methods=("integrated_gradients", "occlusion"))
    forget(run, "integrated_gradients")
    cards = payload(run, DrawingOptions(sort="aopc_c"))["rows"]
    assert [card["id"] for card in cards] == [CONSENSUS, "occlusion", "integrated_gradients"]


def test_before_the_model_has_read_the_text_it_is_one_piece(request_for: Ask) -> None:
    run = Run(request_for("a good film"), {spec.id: Column(spec) for spec in select(MANY)})
    data = payload(run, DrawingOptions())
    assert data["segments"] == [[("a good film", -1)]]
    assert {card["status"] for card in data["rows"]} == {"waiting"}
    assert {card["note"] for card in data["rows"]} == {"waiting"}
    assert not any(card["cells"] or card["detail"]["facts"] or card["curve"] for card in data["rows"])


def test_a_card_tells_how_far_its_method_is(engine: Engine, request_for: Ask, hold: Any) -> None:
    hold.when = lambda: any(run.columns["lime"].base is not None for run in engine.queue)
    settings = Settings(samples=50, steps=5, sampling="captum")
    run = engine.submit(request_for(TEN, methods=("kernel_shap", "occlusion", "lime"), settings=settings))
    assert hold.reached.wait(60)
    status = {card["id"]: card["status"] for card in payload(run, DrawingOptions())["rows"]}
    assert status == {"consensus": "waiting", "lime": "running", "kernel_shap": "waiting", "occlusion": "done"}
    lime = next(card for card in payload(run, DrawingOptions())["rows"] if card["id"] == "lime")
    assert lime["progress"] == 0
    assert lime["note"] == "0%"
    run.columns["lime"].base = run.meter.used - 25  # half of the 50 samples
    lime = next(card for card in payload(run, DrawingOptions())["rows"] if card["id"] == "lime")
    assert lime["progress"] == 0.5
    assert lime["note"].startswith("50%, about ")
    hold.go.set()


def test_a_row_tells_cost_metrics_and_age(ran: Ran) -> None:
    fresh, remembered = ran(methods=("occlusion",)), ran(methods=("occlusion",))
    (row,) = payload(fresh, DrawingOptions())["rows"]
    assert re.fullmatch(r"\d\.\d\d s, 6 model calls, 0 of them new", row["detail"]["facts"][0])
    assert set(row["metrics"]) == set(METRICS.ids)
    assert (row["status"], row["note"], row["progress"]) == ("done", "", 1)
    (row,) = payload(remembered, DrawingOptions())["rows"]
    assert row["detail"]["facts"][-1] == "remembered from 0 s ago"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (19, "10 s"), (59, "50 s"), (60, "1 min"), (7200, "120 min")]
)
def test_age_is_told_in_steps_so_that_cards_stand_still(
    monkeypatch: pytest.MonkeyPatch, seconds: int, text: str
) -> None:
    monkeypatch.setattr("app.compare.score_sheet.time.time", lambda: 10_000.0 + seconds)
    assert age(10_000.0) == text


def test_a_failed_method_says_why(ran: Ran) -> None:
    run = ran("good film")
    run.take(Failure("occlusion", "Too little <memory>."))
    (card,) = cards_of(run, Column(method_spec("occlusion")))
    assert (card["status"], card["problem"], card["cells"]) == ("failed", "Too little <memory>.", {})


def test_a_stopped_card_says_so_and_a_failed_run_does_not_call_its_cards_stopped(ran: Ran) -> None:
    run = ran("good film")
    forget(run, "lime")
    run.status = "stopped"
    notes = {card["id"]: (card["status"], card["note"]) for card in payload(run, DrawingOptions())["rows"]}
    assert notes["lime"] == ("stopped", "stopped before it was done")
    assert notes["occlusion"] == notes[CONSENSUS] == ("done", "")
    run.status = "failed"
    notes = {card["id"]: (card["status"], card["note"]) for card in payload(run, DrawingOptions())["rows"]}
    assert notes["lime"] == ("stopped", "")


def test_what_was_measured_in_part_says_what_ended_it(ran: Ran) -> None:
    run = ran("good film")
    run.request = replace(run.request, budget=20)
    column = run.columns["occlusion"]
    assert column.attribution is not None
    column.attribution = column.attribution.ended()
    notes = []
    for status in ("running", "done", "stopped"):
        run.status = status
        notes.append(row_texts(run, column).note)
    assert notes == ["", "measured in part in 20 s", "measured in part before it was stopped"]


@pytest.mark.parametrize(
    ("score", "spread", "signed", "text"),
    [
        (0.25, 0.0, True, "+0.2500"),
        (-0.25, 0.0, True, "-0.2500"),
        (0.0, 0.0, True, "0.0000"),
        (-0.00001, 0.0, True, "0.0000"),
        (0.25, 0.0, False, "0.2500"),
        (0.25, 0.5, True, "+0.2500 ± 0.5000"),
    ],
)
def test_numbers_have_a_sign_only_where_it_says_something(score: float, spread: float, signed: bool, text: str) -> None:
    assert score_text(score, spread, signed=signed) == text


def test_a_long_text_is_not_repeated_in_every_card_where_it_was_not_read(ran: Ran, model: FrozenModel) -> None:
    model.tokenizer.enable_truncation(6)  # two of them are special
    run = ran("good film but dull " * 5000)
    (pieces,) = payload(run, DrawingOptions())["segments"]
    read = [piece for piece, index in pieces if index >= 0]
    assert read == ["good", "film", "but", "dull"] * MOST_WINDOWS
    assert sum(len(piece) for piece, _ in pieces) < 10_000


@pytest.mark.parametrize("name", sorted(path.stem for path in ASSETS.glob("*.js")))
def test_the_components_write_text_and_never_html(name: str) -> None:
    source = (ASSETS / f"{name}.js").read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|\bFunction\(|\.srcdoc", source
    )
    style = ASSETS / f"{name}.css"
    source = source.replace("http://www.w3.org/2000/svg", "") + (style.read_text("utf-8") if style.exists() else "")
    assert not re.search(r"https?:", source)


@pytest.mark.parametrize(
    ("characters", "wide", "narrow"), [(100, 0, 2), (400, 3, 7), (5_000, 9, 7)], ids=["short", "longer", "scrolls"]
)
def test_no_more_place_is_kept_for_a_text_than_a_row_shows_of_it(characters: int, wide: int, narrow: int) -> None:
    row = {"group": "supported", "title": "", "featured": True, "status": "done"}
    rows = [row, row, row | {"status": "failed"}]
    style = reserved({"view": "rows", "rows": rows, "segments": [[("x" * characters, 0)]]})
    assert f"--full: 3; --texts: 2; --wide: {wide}; --narrow: {narrow};" in style


def test_of_opened_sentences_the_rows_show_what_stands_around_them(ran: Callable[..., Run]) -> None:
    run = ran(f"{'long' * 100} film. The plot was bad. {'And so on. ' * 40}")
    assert run.whole is not None
    settings = replace(run.request.settings, unit="sentence", opened=(1,))
    run.request = replace(run.request, settings=settings)
    run.whole = replace(run.whole, encoding=run.whole.encoding.within_sentences([1]), settings=settings)
    (pieces,) = segments(run)
    shown = "".join(piece for piece, _ in pieces)
    assert "".join(piece for piece, unit in pieces if unit != -1) == "Theplotwasbad."
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < 2 * AROUND + 60
