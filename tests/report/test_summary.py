"""Five words: the top 1, 5, 10 and 20 % are one word, the top 50 % three; AOPC = (4 · one + three) / 5."""

import math
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from explainers.api import explain
from explainers.metrics.faithfulness import all_metrics, random_control
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.report.summary import first_choice, summary
from explainers.results.attribution import Attribution
from explainers.results.comparison import Comparison, MethodResult, Question
from explainers.results.erasure_curves import ErasureCurves
from explainers.results.settings import Settings

FIVE = ("a", "wonderful", "film", "a", "treat")
FIRST, SECOND, THIRD, FOURTH = ((0.0,) * at + (1.0,) + (0.0,) * (4 - at) for at in range(4))
GOOD = ([0.97, 0.11, 0.11, 0.11, 0.11, 0.11], [0.11, 0.97, 0.97, 0.97, 0.97, 0.97])  # p when removed, when kept
POOR = ([0.97, 0.93, 0.93, 0.93, 0.93, 0.11], [0.11, 0.11, 0.11, 0.11, 0.11, 0.97])
Line = tuple[list[float], list[float]]


def curves(line: Line) -> ErasureCurves:
    removed, kept = (np.stack([np.asarray(side), 1 - np.asarray(side)], axis=1) for side in line)
    return ErasureCurves(tuple(range(len(line[0]))), removed, kept, 0)


def comparison(
    methods: dict[str, tuple[tuple[float, ...], Line]],
    *,
    words: tuple[str, ...] = FIVE,
    random_line: Line | None = POOR,
    probabilities: tuple[float, float] = (0.97, 0.03),
    labels: tuple[str, str] = ("positive", "negative"),
    settings: Settings | None = None,
    noise: float = 0.0,
) -> Comparison:
    units = tuple(Unit(word, 10 * at, 10 * at + len(word)) for at, word in enumerate(words))
    positions = tuple(range(len(units)))
    encoding = Encoding((" ".join(words),), units, positions, (0,) * len(units), positions)
    model = SimpleNamespace(labels=labels, name="stub", input_names=())
    results = []
    for method, (scores, line) in methods.items():
        metrics = all_metrics(curves(line))
        attribution = Attribution(method, encoding, 0, scores, "attention" not in method)
        results.append(MethodResult(attribution, curves(line), metrics, dict.fromkeys(metrics, noise)))
    return Comparison(
        Question(model, encoding, 0, settings or Settings()),  # type: ignore[arg-type]
        probabilities,
        tuple(results),
        random_control((curves(random_line),) * 10) if random_line else None,
    )


def test_most_agree_and_one_is_better_than_the_other() -> None:
    text = summary(
        comparison(
            {
                "integrated_gradients": (SECOND, GOOD),
                "lime": (SECOND, GOOD),
                "occlusion": (SECOND, GOOD),
                "gradient_x_input": (THIRD, POOR),
            }
        )
    )
    # AOPC-C 0.86 = 0.97 - 0.11 for the three, 0.04 = 0.97 - 0.93 for random orders; AOPC-S 0 and 0.86
    assert text == (
        "Integrated gradients, LIME and Occlusion agree on “wonderful”; Gradient × input differs. "
        "Removing Integrated gradients' top 20 % takes positive from 0.97 to 0.11; "
        "a random 20 % takes it only to 0.93 on average. "
        "On this input the evidence favours Integrated gradients, LIME and Occlusion: "
        "removing their top words costs most (AOPC-C 0.86, random 0.04), "
        "and keeping only their top words costs least (AOPC-S 0.00, random 0.86)."
    )


def test_two_groups_and_two_that_differ() -> None:
    text = summary(
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
    assert text.startswith(
        "Integrated gradients and Occlusion agree on “wonderful”, LIME and KernelSHAP on “film”; "
        "Gradient × input differs. "
    )


def test_no_two_agree() -> None:
    three = {"lime": (FIRST, GOOD), "kernel_shap": (SECOND, GOOD), "occlusion": (THIRD, GOOD)}
    assert summary(comparison(three)).startswith("No two of the 3 methods rank the same word first. ")
    del three["lime"]
    assert summary(comparison(three)).startswith("KernelSHAP and Occlusion do not rank the same word first. ")


def test_a_constant_explanation_agrees_with_nobody() -> None:
    flat = (0.5,) * 5
    text = summary(comparison({"lime": (flat, GOOD), "occlusion": (flat, GOOD)}))
    assert text.startswith("None of the 2 methods singles out a word. ")
    assert summary(comparison({"lime": (flat, GOOD)})).startswith("LIME singles out no word. ")


@pytest.mark.parametrize(
    ("scores", "first"),
    [((0.1, 0.4), 1), ((0.4, 0.4), None), ((0.4, 0.4 * (1 - 1e-9)), None), ((-0.1, -0.4), None), ((0.0, 0.0), None)],
)
def test_the_first_choice_supports_the_class_and_is_alone(scores: tuple[float, ...], first: int | None) -> None:
    two_words = comparison({"lime": (scores, ([0.9, 0.5, 0.1], [0.1, 0.5, 0.9]))}, words=("x", "y"), random_line=None)
    assert first_choice(two_words.results[0].attribution) == first


def test_a_word_that_occurs_twice_is_numbered() -> None:
    text = summary(comparison({"lime": (FOURTH, GOOD), "occlusion": (FOURTH, GOOD)}))
    assert text.startswith("LIME and Occlusion agree on “a” (number 2 of 2). ")


def test_controls_have_no_part_in_the_agreement() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD), "attention_mean": (SECOND, POOR), "random": (SECOND, POOR)}))
    assert text.startswith("LIME ranks “wonderful” first. ")
    assert "agree" not in text


def test_a_single_method_is_compared_with_random_orders() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD)}))
    assert text.endswith(
        "On this input the evidence favours LIME: removing its top words costs more than removing random ones "
        "(AOPC-C 0.86, random 0.04), and keeping only its top words costs less than keeping only random ones "
        "(AOPC-S 0.00, random 0.86)."
    )


def test_a_single_word_cannot_be_ranked() -> None:
    line = ([0.97, 0.5], [0.5, 0.97])
    text = summary(comparison({"lime": ((1.0,), line), "occlusion": ((1.0,), line)}, words=("good",), random_line=line))
    assert text == (
        "The text has a single word, so no ranking is possible; removing it takes positive from 0.97 to 0.50."
    )


def test_where_no_method_beats_random_orders_none_is_to_be_trusted() -> None:
    text = summary(comparison({"lime": (SECOND, POOR), "occlusion": (THIRD, POOR)}))
    assert text.endswith(
        "Removing LIME's top 20 % takes positive from 0.97 to 0.93; a random 20 % takes it to 0.93 on average. "
        "No method beats random orders on this input, so there is no reason to trust any of these rankings; "
        "with only 5 words, a random order is often right."
    )


def test_where_all_are_equally_good_none_is_favoured() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD), "occlusion": (SECOND, GOOD)}))
    assert text.endswith(
        "On this input LIME and Occlusion beat random orders, but no method is clearly ahead of the others."
    )


def test_a_difference_within_the_noise_favours_nobody() -> None:
    nearly = ([0.97, 0.21, 0.21, 0.21, 0.21, 0.11], GOOD[1])  # AOPC-C 0.76 against 0.86
    methods = {"lime": (SECOND, GOOD), "kernel_shap": (SECOND, nearly)}
    assert "favours LIME by one metric" in summary(comparison(methods, noise=0.01))  # 1.96 · √2 · 0.01 = 0.03
    assert "no method is clearly ahead" in summary(comparison(methods, noise=0.05))  # 1.96 · √2 · 0.05 = 0.14


def test_evidence_that_points_both_ways_is_called_divided() -> None:
    removes, keeps = (GOOD[0], POOR[1]), (POOR[0], GOOD[1])
    text = summary(comparison({"lime": (SECOND, removes), "occlusion": (SECOND, keeps)}))
    assert text.endswith(
        "On this input the evidence is divided: "
        "for LIME, removing its top words costs most (AOPC-C 0.86, random 0.04); "
        "for Occlusion, keeping only its top words costs least (AOPC-S 0.00, random 0.86)."
    )


def test_a_control_that_leads_is_called_a_control() -> None:
    text = summary(comparison({"lime": (SECOND, POOR), "attention_mean": (SECOND, GOOD)}))
    assert "the evidence favours Attention, mean (a control): " in text


def test_another_class_than_the_predicted_one_is_mentioned_first() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD)}, probabilities=(0.4, 0.6)))
    assert text.startswith("The model predicts negative (0.60); the explanations are for positive (0.40). LIME ranks ")


def test_what_does_not_change_is_left_where_it_is() -> None:
    same = ([0.97] * 6, [0.97] * 6)
    assert "Removing LIME's top 20 % leaves positive at 0.97; a random" in summary(
        comparison({"lime": (SECOND, same)}, random_line=same)
    )


def test_before_the_control_is_finished_there_is_no_verdict() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD)}, random_line=None))
    assert text == "LIME ranks “wonderful” first. Removing LIME's top 20 % takes positive from 0.97 to 0.11."


def test_controls_alone_and_nothing_at_all_give_no_sentence() -> None:
    assert summary(comparison({"random": (SECOND, POOR)})) == ""
    assert summary(comparison({}, random_line=None)) == ""


def test_tokens_are_called_tokens() -> None:
    text = summary(comparison({"lime": ((0.0,) * 5, GOOD)}, settings=Settings(unit="token")))
    assert text.startswith("LIME singles out no token. ")
    assert "top tokens cost" in text


def test_labels_and_words_stay_on_their_line() -> None:
    words = ("a", "won\x00der\nful\u202e", "film", "a", "treat")
    text = summary(comparison({"lime": (SECOND, GOOD)}, words=words, labels=("po\nsi\u202etive", "x")))
    assert "“won␀der ful” first. " in text
    assert "takes po sitive from" in text
    assert "\n" not in text


def test_the_same_metrics_give_the_same_sentences() -> None:
    methods = {"lime": (SECOND, GOOD), "occlusion": (THIRD, POOR)}
    assert summary(comparison(methods)) == summary(comparison(methods))


def test_a_word_of_a_pair_is_named_with_its_text(pairs: FrozenModel) -> None:
    comparison = explain(pairs, "the good film", "a good plot", methods=["hypothesis_only", "occlusion"])
    assert re.search(r"Occlusion ranks “\w+” \((premise|hypothesis)\) first", summary(comparison))


def test_where_the_metric_is_not_defined_no_method_is_removed_from() -> None:
    result = comparison({"lime": (SECOND, GOOD)}).results[0]
    undefined = replace(result, metrics=dict.fromkeys(result.metrics, math.nan))
    text = summary(replace(comparison({"lime": (SECOND, GOOD)}), results=(undefined,)))
    assert text.startswith("LIME ranks “wonderful” first. No method beats random orders on this input")


def test_values_that_tie_within_noise_are_named_as_such() -> None:
    nearly = ([0.97, 0.12, 0.12, 0.12, 0.12, 0.11], GOOD[1])  # AOPC-C 0.85 against 0.86
    methods = {"lime": (SECOND, GOOD), "kernel_shap": (SECOND, nearly), "occlusion": (THIRD, POOR)}
    assert (
        "favours LIME and KernelSHAP: removing their top words costs most within sampling noise "
        "(AOPC-C 0.86 and 0.85, random 0.04)"
    ) in summary(comparison(methods, noise=0.01))
