import io
import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from explainers.datasets import entailment
from explainers.errors import ExplanationError
from explainers.narrative import cause
from explainers.narrative.cause import NarratorTraining, Parts, train
from explainers.narrative.fit import recipe_for
from explainers.narrative.generation import generate
from explainers.narrative.language import Language
from explainers.narrative.narrator import Narrator
from explainers.narrative.narrator_input import NarratorInput
from explainers.narrative.recipe import NarratorRecipe
from explainers.narrative.reconstruction import batches, new_optimiser, warm_up
from explainers.narrative.sentences import NarratorItem, sentence, stated_class
from explainers.training.loop import CHECKPOINT, LOG, TrainingLoop
from explainers.training.spec import FitSpec

Made = Callable[..., Narrator]
LABELS = entailment.LABELS
RECIPE = NarratorRecipe(epochs=2, batch=4, learning_rate=1e-2, keep="best")


@pytest.fixture
def items(head: nn.Sequential) -> list[NarratorItem]:
    """The head by hand gives class 0 to half of them and class 1 to the others, and says why."""
    states = torch.tensor([[float(1 + n % 3), 0.0] if n % 2 else [0.0, float(1 + n % 3)] for n in range(16)])
    results = []
    for state, logits in zip(states, head(states), strict=True):
        label = int(logits.argmax())
        reasons = tuple(sentence(LABELS[label], reason) for reason in ("the film was good", "it was not dull"))
        results.append(NarratorItem(state, logits, label, True, reasons))
    return results


def weights(narrator: Narrator) -> list[Tensor]:
    return [weight.clone() for weight in narrator.state_dict().values()]


def equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(*pair) for pair in zip(one, other, strict=True))


def stated(narrator: Narrator, states: Tensor) -> list[int | None]:
    return [stated_class(narrator.language.text(row), LABELS) for row in generate(narrator, NarratorInput(states))]


def lines(folder: Path) -> list[dict[str, dict[str, float]]]:
    return [json.loads(line) for line in (folder / LOG).read_text().splitlines()]


def trained(
    narrator: Narrator, head: nn.Sequential, items: list[NarratorItem], folder: Path, recipe: NarratorRecipe = RECIPE
) -> Narrator:
    train(recipe, narrator, head, LABELS, Parts(items, items[:4]), folder)
    return narrator


def test_every_place_is_in_exactly_one_batch_of_about_equal_lengths() -> None:
    lengths = [number % 10 for number in range(40)]
    results = list(batches(lengths, 4, random.Random(0)))
    assert sorted(place for result in results for place in result) == list(range(40))
    assert all(max(lengths[at] for at in result) - min(lengths[at] for at in result) <= 1 for result in results)
    assert results != list(batches(lengths, 4, random.Random(1)))


def test_one_item_alone_has_no_neighbour_to_exchange_with_and_is_left_out() -> None:
    assert sorted(len(batch) for batch in batches([1] * 9, 4, random.Random(0))) == [4, 4]


def test_batches_with_prefixes_are_short_in_both() -> None:
    rng = random.Random(2)
    lengths, prefixes = ([rng.randint(5, 60) for _ in range(4000)] for _ in range(2))

    def padded(found: Iterable[list[int]]) -> float:
        """Positions per item, padding included."""
        rows = [(len(rows), max(lengths[at] for at in rows) + max(prefixes[at] for at in rows)) for rows in found]
        return sum(count * longest for count, longest in rows) / sum(count for count, _ in rows)

    both = list(batches(lengths, 8, random.Random(0), prefixes))
    assert sorted(at for rows in both for at in rows) == list(range(4000))
    assert padded(both) < 0.85 * padded(batches(lengths, 8, random.Random(0)))


def test_the_learning_rate_rises_and_falls_to_nothing() -> None:
    learner, schedule = new_optimiser(nn.Linear(1, 1), 1.0, 100)
    rates = []
    for _ in range(100):
        rates.append(schedule.get_last_lr()[0])
        learner.step()
        schedule.step()
    assert rates[:5] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert rates[-1] == pytest.approx(1 / 95)
    assert schedule.get_last_lr() == [0.0]


@pytest.mark.slow
@pytest.mark.parametrize("losses", ["phi", "cause"])
def test_the_class_is_learned_from_the_state(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path, losses: str
) -> None:
    network = narrator(losses)
    states = torch.stack([item.state for item in items])
    classes = [item.label for item in items]
    assert [
        stated_class(network.language.text(row), LABELS) for row in generate(network, NarratorInput(states))
    ] != classes
    trained(network, head, items, tmp_path, replace(RECIPE, losses=losses, epochs=25))  # type: ignore[arg-type]
    assert stated(network, states) == classes
    every = [line["terms"] for line in lines(tmp_path) if "terms" in line]
    assert every[-1]["total"] < every[0]["total"]
    assert lines(tmp_path)[-1]["validation"]["states the model's"] == 1.0
    assert ("C2 reads the model's" in lines(tmp_path)[-1]["validation"]) == (losses != "phi")


def test_the_same_seed_gives_the_same_weights(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    first, second = (weights(trained(narrator(), head, items, tmp_path / str(n))) for n in range(2))
    other = weights(trained(narrator(), head, items, tmp_path / "other", replace(RECIPE, seed=1)))
    assert equal(first, second)
    assert not equal(first, other)


def test_an_interrupted_training_goes_on_as_if_nothing_had_happened(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts, straight = Parts(items, items[:4]), trained(narrator(), head, items, tmp_path / "straight")
    epoch = TrainingLoop.run_epoch

    def breaks_down(loop: TrainingLoop, *rest: Any) -> None:
        if loop.epoch == 1:
            raise KeyboardInterrupt
        epoch(loop, *rest)

    monkeypatch.setattr(TrainingLoop, "run_epoch", breaks_down)
    with pytest.raises(KeyboardInterrupt):
        train(RECIPE, narrator(), head, LABELS, parts, tmp_path / "broken")
    monkeypatch.setattr(TrainingLoop, "run_epoch", epoch)
    torch.manual_seed(99)  # whatever the person has drawn in between
    resumed = narrator()
    run = train(RECIPE, resumed, head, LABELS, parts, tmp_path / "broken", resume=True)
    assert equal(weights(straight), weights(resumed))
    assert (run.loop.epoch, run.loop.step_number) == (2, 8)
    epochs = [
        [line["epoch"] for line in lines(tmp_path / name) if "validation" in line] for name in ("straight", "broken")
    ]
    assert epochs == [[1, 2], [1, 2]]


def test_a_finished_training_is_not_done_again(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    first = trained(narrator(), head, items, tmp_path)
    again = narrator()
    run = train(RECIPE, again, head, LABELS, Parts(items, items[:4]), tmp_path, resume=True)
    assert equal(weights(first), weights(again))
    assert run.metrics == {**lines(tmp_path)[-2]["validation"], "epoch": 2}


def test_without_resume_a_training_begins_anew(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    recipe = replace(RECIPE, epochs=1)
    trained(narrator(), head, items, tmp_path, recipe)
    run = train(recipe, narrator(seed=5), head, LABELS, Parts(items, items[:4]), tmp_path)
    assert run.loop.step_number == 4
    assert sum("validation" in line for line in lines(tmp_path)) == 1


def test_training_leaves_head_items_and_the_global_generator_as_they_were(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    before = [weight.clone() for weight in head.parameters()]
    seen = [item.state.clone() for item in items]
    network, generator = narrator(), torch.get_rng_state()
    trained(network, head, items, tmp_path)
    assert equal(before, list(head.parameters()))
    assert all(weight.grad is None and not weight.requires_grad for weight in head.parameters())
    assert equal(seen, [item.state for item in items])
    assert torch.equal(torch.get_rng_state(), generator)
    assert not network.training
    assert not any(weight.requires_grad for weight in network.parameters())


def test_validating_changes_nothing_that_training_goes_on_with(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    run = NarratorTraining(RECIPE, narrator().train(), head, LABELS, Parts(items, items), tmp_path)
    before, generator = weights(run.narrator), run.loop.generator.get_state()
    global_state = torch.get_rng_state()
    run.validate()
    assert equal(before, weights(run.narrator))
    assert torch.equal(torch.get_rng_state(), global_state)
    assert torch.equal(run.loop.generator.get_state(), generator)
    assert run.narrator.training


def test_a_loss_that_is_no_number_stops_with_a_sentence(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    network = narrator()
    with torch.no_grad():
        network.psi.weight.fill_(float("nan"))
    run = NarratorTraining(RECIPE, network, head, LABELS, Parts(items, items), tmp_path)
    with pytest.raises(ExplanationError, match=r"not a number after 0 steps\. Choose a smaller learning rate"):
        run.loop.step(run.terms(items[:2], [network.language.ids(item.sentences[0]) for item in items[:2]]))


def test_a_crash_while_saving_leaves_the_checkpoint_before(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = NarratorTraining(RECIPE, narrator(), head, LABELS, Parts(items, items), tmp_path)
    run.loop.save(run)
    before = (tmp_path / CHECKPOINT).read_bytes()

    def breaks(_values: object, path: Path) -> None:
        path.write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(torch, "save", breaks)
    with pytest.raises(OSError, match="no space"):
        run.loop.save(run)
    assert (tmp_path / CHECKPOINT).read_bytes() == before


def test_every_reason_is_taken_in_some_epoch(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: set[tuple[int, ...]] = set()
    network = narrator("phi")

    def terms(_run: NarratorTraining, _items: object, sentences: list[list[int]]) -> dict[str, float]:
        taken.update(map(tuple, sentences))
        return {}

    monkeypatch.setattr(NarratorTraining, "terms", terms)
    monkeypatch.setattr(TrainingLoop, "step", lambda _loop, _terms: {})
    train(replace(RECIPE, losses="phi", epochs=3), network, head, LABELS, Parts(items, items[:4]), tmp_path)
    assert taken == {tuple(network.language.ids(sentence)) for item in items for sentence in item.sentences}


def test_the_language_model_is_warmed_up_on_sentences_alone(narrator: Made, language: Language) -> None:
    texts = ["the film was very good", "the plot was not dull"] * 40
    phis = [narrator("phi").phi for _ in range(2)]
    generator, log = torch.get_rng_state(), io.StringIO()

    def loss(phi: nn.Module) -> float:
        ids = torch.tensor([language.ids(texts[0])])
        begun = torch.cat([torch.tensor([[language.end_id]]), ids[:, :-1]], 1)
        result = nn.functional.cross_entropy(phi(input_ids=begun).logits[0], ids[0])
        return result.item()

    before = loss(phis[0])
    for phi in phis:
        warm_up(phi, language, texts, epochs=15, seed=0, log=log, rate=1e-2)  # type: ignore[arg-type]
    assert loss(phis[0]) < before / 2
    assert loss(phis[0]) == loss(phis[1])
    assert torch.equal(torch.get_rng_state(), generator)
    assert not phis[0].training


def test_the_weights_of_the_best_epoch_are_kept(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what the judge says, weighed by how often the class is the model's; of equals the later one."""
    judged, weights_then = iter([0.2, 0.9, 0.3, 0.9]), []
    monkeypatch.setattr(cause, "agreement", lambda *_: 1.0)

    def judge(_texts: Sequence[str]) -> dict[str, float]:
        weights_then.append(weights(network))
        return {"right": next(judged)}

    network = narrator("phi")
    recipe = replace(RECIPE, losses="phi", epochs=4)
    run = train(recipe, network, head, LABELS, Parts(items, items[:4], judge), tmp_path)
    assert run.metrics["epoch"] == 4
    assert equal(weights(network), weights_then[3])
    judged = iter([0.2, 0.9, 0.3, 0.1])
    network = narrator("phi")
    run = train(recipe, network, head, LABELS, Parts(items, items[:4], judge), tmp_path)
    assert (run.metrics["epoch"], run.metrics["right"]) == (2, 0.9)
    assert equal(weights(network), weights_then[5])
    assert not equal(weights_then[5], weights_then[7])


def test_in_the_first_epochs_the_sentences_are_learned_alone_and_none_of_these_is_the_best(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = iter([0.9, 0.8, 0.1, 0.2])
    recipe = replace(RECIPE, epochs=4, phi_epochs=2)
    parts = Parts(items, items[:4], lambda _texts: {"right": next(judged)})
    monkeypatch.setattr(cause, "LOG_EVERY", 1)
    run = train(recipe, narrator(), head, LABELS, parts, tmp_path)
    every = [(line["epoch"], set(line["terms"])) for line in lines(tmp_path) if "terms" in line]
    assert {len(names) for epoch, names in every if epoch < 2} == {2}  # phi and the total
    assert {len(names) for epoch, names in every if epoch >= 2} == {5}
    assert run.metrics["epoch"] == 4


def test_the_first_epochs_must_leave_some_for_all_losses() -> None:
    spec = FitSpec("cause", "nli", settings=(("epochs", "2"), ("phi_epochs", "2")))
    with pytest.raises(ExplanationError, match="phi_epochs must be below epochs, which are 2"):
        recipe_for(spec)


def test_without_ends_only_the_class_is_learned_of_a_sentence_without_a_reason(
    narrator: Made, head: nn.Sequential, items: list[NarratorItem], tmp_path: Path
) -> None:
    network, text = narrator("phi"), sentence("neutral")
    runs = [
        NarratorTraining(replace(RECIPE, ends=ends), network, head, LABELS, Parts(items, items), tmp_path)
        for ends in (True, False)
    ]
    whole, cut = (run.ids(text) for run in runs)
    assert whole == network.language.ids(text)
    assert cut == [*network.language.opening, *network.language.pieces_within("neutral")]
    assert whole[: len(cut)] == cut
    with_reason = sentence("neutral", "the film was good")
    assert runs[1].ids(with_reason) == network.language.ids(with_reason)
