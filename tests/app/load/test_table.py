import pytest

from app.load.__main__ import _counts
from app.load.measure import LoadLevel, Outcome, Soaked, fairness, runs, spread, text_of
from app.load.server import Sample
from app.load.table import DOCUMENT, clients_section, document, means, soak_lines, table
from explainers.errors import ExplanationError

TWO = (
    Outcome(0, 0.0, "done", 1.0, 2.0),
    Outcome(0, 2.0, "done", 1.0, 4.0),
    Outcome(1, 0.0, "done", 3.0, 9.0),
    Outcome(1, 9.0, "refused", sentences=("The server is busy.",)),
)


def test_the_spread_is_the_median_and_the_nearest_rank() -> None:
    assert spread([None, *map(float, range(1, 21))]) == {"median": 10.5, "p95": 19.0}  # 95 % of 20 values: the 19th
    assert spread([None]) is None


def test_fairness_compares_the_means_of_the_sessions() -> None:
    assert fairness(TWO, 2) == 3.0  # (2 + 4) / 2 = 3 against 9
    assert fairness(TWO, 3) is None  # one of them got nothing


def test_a_refusal_is_no_error() -> None:
    samples = (Sample(100.0, 5, 0.0), Sample(300.0, 9, 1.0), Sample(200.0, 6, 0.5))
    summary = LoadLevel(2, 11.0, 0.5, TWO, samples).summary()
    assert (summary["errors"], summary["refused"], summary["done"]) == (0, 1, 3)
    assert summary["sentences"] == [("The server is busy.", 1)]
    assert table([summary]).splitlines()[-1] == (
        "| 2 | 4 | 1.00 / 3.00 | 4.00 / 9.00 | 0 | 1 | 1–2 | 3.00 | 100 → 200 | 5 → 6 |"
    )


def test_a_session_without_a_result_counts() -> None:
    level = LoadLevel(1, 1.0, None, (Outcome(0, 0.0, "late", sentences=("Not done after 1 s.",)),), ())
    assert level.errors == 1
    assert "| – | – | 1 |" in table([level.summary()])


def test_the_same_numbers_give_the_same_text_and_others_another() -> None:
    texts = {text_of(0, session, number) for session in range(40) for number in range(40)}
    assert len(texts) == 1600
    assert text_of(0, 3, 4) in texts


def test_the_soak_reports_memory_after_it_has_settled() -> None:
    samples = tuple(Sample(100.0 + number, 5, 0.1) for number in range(40))
    after = Sample(90.0, 4, 0.01, {"queue": {"waiting": 0, "running": 0}})
    summary = Soaked(390.0, 8, (), (), samples, after).summary()
    assert (summary["memory_settled"], summary["memory_at_end"], summary["left_over"]) == (130, 139, 0)  # 300 s: no. 30
    assert "0 runs" in soak_lines(summary)[-1]


def test_memory_is_averaged_over_each_full_five_minutes() -> None:
    assert means({"memory_by_sample": [100] * 30 + [200] * 30 + [900] * 29}) == [100, 200]


def test_what_the_app_does_not_say_is_unknown() -> None:
    assert runs(Sample(1.0, 1, 0.0)) is None
    assert runs(Sample(1.0, 1, 0.0, {"version": "1"})) is None


@pytest.mark.parametrize("given", ["eight", "0", "1,999", "-1"])
def test_other_than_numbers_of_sessions_are_refused(given: str) -> None:
    with pytest.raises(ExplanationError, match="with commas"):
        _counts(given)


def test_the_costs_of_clients_are_divided_by_comparisons_and_by_the_machine() -> None:
    def cost(client: str, tabs: int, own: float, memory: float) -> dict[str, object]:
        its = {"seconds": 10.0, "comparisons": 5, "client_seconds": own, "server_seconds": 2.0, "memory": memory}
        return {"client": client, "tabs": tabs, **its}

    costs = [
        cost("own", 1, 0.1, 1),
        cost("own", 8, 0.1, 2),
        cost("Chromium", 1, 4.0, 800),
        cost("Chromium", 8, 16.0, 2200),
    ]
    text = clients_section({"cores": 2, "costs": costs})
    # 16 s for 5 comparisons; 16 of the 20 s that two cores have in 10 s; 16 s against 2 s; 1,400 MB for 7 more tabs
    assert "| Chromium | 8 | 5 | 3.200 | 0.400 | 80% | 10% | 2,200 |" in text
    assert "takes 8 times the processor time" in text
    assert "about 200 MB" in text
    assert "5.0% of the server" in text.replace("\n", " ")


def test_the_document_is_that_of_the_stored_results() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == document()
