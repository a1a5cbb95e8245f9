"""Five words: the top 1, 5, 10 and 20 % are one word, the top 50 % three; AOPC = (4 · one + three) / 5."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from explainers.api import Comparison, explain
from explainers.comparison import Chance, Measured, Question
from explainers.explanation import Attribution
from explainers.metrics.faithfulness import METRICS
from explainers.metrics.masking import MaskingPath
from explainers.models.classifier import FrozenModel
from explainers.models.encoding import Encoding, Unit
from explainers.settings import Settings
from explainers.summary import first_choice, summary

FIVE = ("a", "wonderful", "film", "a", "treat")
FIRST, SECOND, THIRD, FOURTH = ((0.0,) * at + (1.0,) + (0.0,) * (4 - at) for at in range(4))
GOOD = ([0.97, 0.11, 0.11, 0.11, 0.11, 0.11], [0.11, 0.97, 0.97, 0.97, 0.97, 0.97])  # p when removed, when kept
POOR = ([0.97, 0.93, 0.93, 0.93, 0.93, 0.11], [0.11, 0.11, 0.11, 0.11, 0.11, 0.97])
Line = tuple[list[float], list[float]]


def path(line: Line) -> MaskingPath:
    removed, kept = (np.stack([np.asarray(side), 1 - np.asarray(side)], axis=1) for side in line)
    return MaskingPath(tuple(range(len(line[0]))), removed, kept, 0)


def comparison(
    methods: dict[str, tuple[tuple[float, ...], Line]],
    *,
    words: tuple[str, ...] = FIVE,
    chance: Line | None = POOR,
    probabilities: tuple[float, float] = (0.97, 0.03),
    labels: tuple[str, str] = ("positive", "negative"),
    settings: Settings | None = None,
    noise: float = 0.0,
) -> Comparison:
    units = tuple(Unit(word, 10 * place, 10 * place + len(word)) for place, word in enumerate(words))
    places = tuple(range(len(units)))
    encoding = Encoding((" ".join(words),), units, places, (0,) * len(units), places)
    model = SimpleNamespace(labels=labels, name="stub", asks=())
    results = []
    for method, (scores, line) in methods.items():
        figures = {metric.id: metric.score(path(line)) for metric in METRICS}
        attribution = Attribution(method, encoding, 0, scores, "attention" not in method)
        results.append(Measured(attribution, path(line), figures, dict.fromkeys(figures, noise)))
    return Comparison(
        Question(model, encoding, 0, settings or Settings()),  # type: ignore[arg-type]
        probabilities,
        tuple(results),
        Chance((path(chance),) * 10) if chance else None,
    )


def test_most_agree_and_one_is_better_than_the_other() -> None:
    said = summary(
        comparison(
            {
                "integrated_gradients": (SECOND, GOOD),
                "lime": (SECOND, GOOD),
                "occlusion": (SECOND, GOOD),
                "gradient_x_input": (THIRD, POOR),
            }
        )
    )
    # AOPC-C 0.86 = 0.97 - 0.11 for the three, 0.04 = 0.97 - 0.93 by chance; AOPC-S 0 and 0.86
    assert said == (
        "Integrated gradients, LIME and Occlusion agree on “wonderful”; Gradient × input differs. "
        "Removing Integrated gradients' top 20 % takes positive from 0.97 to 0.11, "
        "a random 20 % takes it only to 0.93 on average. "
        "On this input the evidence favours Integrated gradients, LIME and Occlusion: "
        "removing the top words costs most (AOPC-C 0.86, random 0.04), "
        "and keeping only the top words costs least (AOPC-S 0.00, random 0.86)."
    )


def test_two_groups_and_two_that_differ() -> None:
    said = summary(
        comparison(
            {
                "integrated_gradients": (SECOND, GOOD),
                "lime": (THIRD, GOOD),
                "kernel_shap": (THIRD, GOOD),
                "occlusion": (SECOND, GOOD),
                "gradient_x_input": ((0.0,) * 5, GOOD),
            }
        )
    )
    assert said.startswith(
        "Integrated gradients and Occlusion agree on “wonderful”, LIME and KernelSHAP on “film”; "
        "Gradient × input differs. "
    )


def test_no_two_agree() -> None:
    three = {"lime": (FIRST, GOOD), "kernel_shap": (SECOND, GOOD), "occlusion": (THIRD, GOOD)}
    assert summary(comparison(three)).startswith("No two of the 3 methods put the same word first. ")
    del three["lime"]
    assert summary(comparison(three)).startswith("KernelSHAP and Occlusion do not put the same word first. ")


def test_a_constant_explanation_agrees_with_nobody() -> None:
    flat = (0.5,) * 5
    said = summary(comparison({"lime": (flat, GOOD), "occlusion": (flat, GOOD)}))
    assert said.startswith("None of the 2 methods singles out a word. ")
    assert summary(comparison({"lime": (flat, GOOD)})).startswith("LIME singles out no word. ")


@pytest.mark.parametrize(
    ("scores", "first"),
    [((0.1, 0.4), 1), ((0.4, 0.4), None), ((0.4, 0.4 * (1 - 1e-9)), None), ((-0.1, -0.4), None), ((0.0, 0.0), None)],
)
def test_the_first_choice_speaks_for_the_class_and_is_alone(scores: tuple[float, ...], first: int | None) -> None:
    found = comparison({"lime": (scores, ([0.9, 0.5, 0.1], [0.1, 0.5, 0.9]))}, words=("x", "y"), chance=None)
    assert first_choice(found.results[0].attribution) == first


def test_a_word_that_occurs_twice_is_told_apart() -> None:
    said = summary(comparison({"lime": (FOURTH, GOOD), "occlusion": (FOURTH, GOOD)}))
    assert said.startswith("LIME and Occlusion agree on “a” (number 2 of 2). ")


def test_controls_have_no_say_in_the_agreement() -> None:
    said = summary(comparison({"lime": (SECOND, GOOD), "attention_mean": (SECOND, POOR), "random": (SECOND, POOR)}))
    assert said.startswith("LIME puts “wonderful” first. ")
    assert "agree" not in said


def test_a_single_method_is_compared_with_chance() -> None:
    said = summary(comparison({"lime": (SECOND, GOOD)}))
    assert said.endswith(
        "On this input the evidence favours LIME: removing the top words costs more than chance "
        "(AOPC-C 0.86, random 0.04), and keeping only the top words costs less than chance (AOPC-S 0.00, random 0.86)."
    )


def test_a_single_word_cannot_be_ranked() -> None:
    line = ([0.97, 0.5], [0.5, 0.97])
    said = summary(comparison({"lime": ((1.0,), line), "occlusion": ((1.0,), line)}, words=("good",), chance=line))
    assert said == (
        "The text has a single word, so there is nothing to rank; removing it takes positive from 0.97 to 0.50."
    )


def test_where_no_method_beats_chance_none_is_to_be_trusted() -> None:
    said = summary(comparison({"lime": (SECOND, POOR), "occlusion": (THIRD, POOR)}))
    assert said.endswith(
        "Removing LIME's top 20 % takes positive from 0.97 to 0.93, a random 20 % takes it to 0.93 on average. "
        "No method beats random orders on this input: no reason to trust any of these rankings; "
        "with only 5 words chance is often right."
    )


def test_where_all_are_equally_good_none_is_favoured() -> None:
    said = summary(comparison({"lime": (SECOND, GOOD), "occlusion": (SECOND, GOOD)}))
    assert said.endswith(
        "On this input LIME and Occlusion beat random orders, but no method is really ahead of the others."
    )


def test_a_difference_within_the_noise_favours_nobody() -> None:
    nearly = ([0.97, 0.21, 0.21, 0.21, 0.21, 0.11], GOOD[1])  # AOPC-C 0.76 against 0.86
    methods = {"lime": (SECOND, GOOD), "kernel_shap": (SECOND, nearly)}
    assert "favours LIME by one figure" in summary(comparison(methods, noise=0.01))  # 1.96 · √2 · 0.01 = 0.03
    assert "no method is really ahead" in summary(comparison(methods, noise=0.05))  # 1.96 · √2 · 0.05 = 0.14


def test_evidence_that_points_both_ways_is_called_divided() -> None:
    removes, keeps = (GOOD[0], POOR[1]), (POOR[0], GOOD[1])
    said = summary(comparison({"lime": (SECOND, removes), "occlusion": (SECOND, keeps)}))
    assert said.endswith(
        "On this input the evidence is divided: "
        "for LIME, removing the top words costs most (AOPC-C 0.86, random 0.04); "
        "for Occlusion, keeping only the top words costs least (AOPC-S 0.00, random 0.86)."
    )


def test_a_control_that_leads_is_called_a_control() -> None:
    said = summary(comparison({"lime": (SECOND, POOR), "attention_mean": (SECOND, GOOD)}))
    assert "the evidence favours Attention, mean (a control): " in said


def test_a_class_that_is_not_predicted_is_said_first() -> None:
    said = summary(comparison({"lime": (SECOND, GOOD)}, probabilities=(0.4, 0.6)))
    assert said.startswith(
        "The model's first choice is negative (0.60); explained is what speaks for positive (0.40). LIME puts "
    )


def test_what_does_not_change_is_left_where_it_is() -> None:
    same = ([0.97] * 6, [0.97] * 6)
    assert "Removing LIME's top 20 % leaves positive at 0.97, a random" in summary(
        comparison({"lime": (SECOND, same)}, chance=same)
    )


def test_before_the_control_is_known_nothing_is_said_of_chance() -> None:
    said = summary(comparison({"lime": (SECOND, GOOD)}, chance=None))
    assert said == "LIME puts “wonderful” first. Removing LIME's top 20 % takes positive from 0.97 to 0.11."


def test_controls_alone_and_nothing_at_all_give_no_sentence() -> None:
    assert summary(comparison({"random": (SECOND, POOR)})) == ""
    assert summary(comparison({}, chance=None)) == ""


def test_tokens_are_called_tokens() -> None:
    said = summary(comparison({"lime": ((0.0,) * 5, GOOD)}, settings=Settings(unit="token")))
    assert said.startswith("LIME singles out no token. ")
    assert "the top tokens cost" in said


def test_labels_and_words_stay_on_their_line() -> None:
    words = ("a", "won\x00der\nful\u202e", "film", "a", "treat")
    said = summary(comparison({"lime": (SECOND, GOOD)}, words=words, labels=("po\nsi\u202etive", "x")))
    assert "“won␀der ful” first. " in said
    assert "takes po sitive from" in said
    assert "\n" not in said


def test_the_same_figures_give_the_same_words() -> None:
    methods = {"lime": (SECOND, GOOD), "occlusion": (THIRD, POOR)}
    assert summary(comparison(methods)) == summary(comparison(methods))


def test_a_word_of_a_pair_is_said_to_be_of_its_text(pairs: FrozenModel) -> None:
    found = explain(pairs, "the good film", "a good plot", methods=["hypothesis_only", "occlusion"])
    assert re.search(r"Occlusion puts “\w+” \((premise|hypothesis)\) first", summary(found))
