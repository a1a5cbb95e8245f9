"""Five words: the top 1, 5, 10 and 20 % are one word, the top 50 % three; AOPC = (4 · one + three) / 5."""

import re
from dataclasses import replace

import numpy as np
import pytest

from explainers.api import explain
from explainers.comparison.answer import NOTHING, ONE_METHOD, answer
from explainers.comparison.consensus import consensus_scores, takes_part
from explainers.metrics.faithfulness import all_metrics, random_control
from explainers.models.frozen_model import FrozenModel
from explainers.models.inputs.encoding import Encoding, Unit
from explainers.models.target import Target
from explainers.report.summary import agreement_sentence, first_choice, summary
from explainers.results.answer import CONSENSUS
from explainers.results.attribution import Attribution, ErasureCurves
from explainers.results.comparison import Comparison
from explainers.results.decision import RANDOM_ORDERS, Decision, ModelCard, Settings
from explainers.results.events import MethodResult

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
    card = ModelCard("stub", "1", labels)
    results = []
    for method, (scores, line) in methods.items():
        metrics = all_metrics(curves(line))
        attribution = Attribution(method, encoding, 0, scores, "attention" not in method)
        results.append(MethodResult(attribution, curves(line), metrics, dict.fromkeys(metrics, noise)))
    rows = [result.attribution.scores for result in results if takes_part(result.attribution, Target(0), predicted=0)]
    if len(rows) > 1:
        joint = Attribution(CONSENSUS, encoding, 0, consensus_scores(rows), signed=False)
        best = max((line for _, line in methods.values()), key=lambda line: line == GOOD)
        results.insert(0, MethodResult(joint, curves(best), all_metrics(curves(best)), {}))
    return Comparison(
        Decision(card, encoding, 0, settings or Settings()),
        probabilities,
        tuple(results),
        random_control((curves(random_line),) * RANDOM_ORDERS) if random_line else None,
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
    assert text == (
        "“wonderful” carries the decision for positive: p(positive) 0.97 → 0.11 without it; "
        "0.93 without a random word. 3 of 4 compared methods rank “wonderful” first. "
        "The methods' joint order beats all 19 random ones. "
        "How often such an answer is right is not known: it was not measured for texts with this set of "
        "methods. "
        "Supported, cannot be told apart here: Integrated gradients, LIME, Occlusion. "
        "Not shown to be better than random: Gradient × input. "
        "Integrated gradients, LIME and Occlusion rank “wonderful” first; Gradient × input differs."
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
    assert text.endswith(
        " Integrated gradients and Occlusion rank “wonderful” first, LIME and KernelSHAP “film”; "
        "Gradient × input differs."
    )


def test_no_two_agree() -> None:
    three = {"lime": (FIRST, GOOD), "kernel_shap": (SECOND, GOOD), "occlusion": (THIRD, GOOD)}
    assert summary(comparison(three)).endswith(" Controls aside, no two of the 3 methods rank the same word first.")
    del three["lime"]
    assert summary(comparison(three)).endswith(" KernelSHAP and Occlusion do not rank the same word first.")


def test_a_constant_explanation_agrees_with_nobody() -> None:
    flat = (0.5,) * 5
    text = summary(comparison({"lime": (flat, GOOD), "occlusion": (flat, GOOD)}))
    assert text.endswith(" Controls aside, none of the 2 methods singles out a word.")
    assert summary(comparison({"lime": (flat, GOOD)})).endswith(" LIME singles out no word.")


@pytest.mark.parametrize(
    ("scores", "first"),
    [((0.1, 0.4), 1), ((0.4, 0.4), None), ((0.4, 0.4 * (1 - 1e-9)), None), ((-0.1, -0.4), None), ((0.0, 0.0), None)],
)
def test_the_first_choice_supports_the_class_and_is_alone(scores: tuple[float, ...], first: int | None) -> None:
    two_words = comparison({"lime": (scores, ([0.9, 0.5, 0.1], [0.1, 0.5, 0.9]))}, words=("x", "y"), random_line=None)
    assert first_choice(two_words.results[0].attribution) == first


def test_a_word_that_occurs_twice_is_numbered() -> None:
    text = summary(comparison({"lime": (FOURTH, GOOD), "occlusion": (FOURTH, GOOD)}))
    assert text.endswith(" LIME and Occlusion rank “a” (number 2 of 2) first.")


def test_what_was_optimised_on_the_metrics_is_no_second_voice() -> None:
    made = comparison({"lime": (THIRD, GOOD), "aml": (SECOND, GOOD), "faml": (SECOND, GOOD)})
    assert summary(made).endswith(" LIME and AML do not rank the same word first.")


def test_controls_have_no_part_in_the_agreement() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD), "attention_mean": (SECOND, POOR), "random": (SECOND, POOR)}))
    assert text.endswith(" LIME ranks “wonderful” first.")


def test_controls_are_named_where_they_are_left_out() -> None:
    methods = {"lime": (SECOND, GOOD), "occlusion": (SECOND, GOOD), "random": (SECOND, POOR)}
    agree = "LIME and Occlusion rank “wonderful” first."
    assert agreement_sentence(comparison(methods)) == agree
    with_control = comparison({**methods, "attention_mean": (THIRD, POOR)})
    told = "Attention (mean) is a control and has no part in this."
    assert agreement_sentence(with_control) == f"{agree} {told}"
    poor = comparison({**{name: (SECOND, POOR) for name in methods}, "attention_mean": (THIRD, POOR)})
    assert agreement_sentence(poor) == f"{agree} But no order here is shown to be better than random. {told}"
    assert agreement_sentence(comparison({"attention_mean": (SECOND, POOR)})) == ""


def test_a_single_word_cannot_be_ranked() -> None:
    line = ([0.97, 0.5], [0.5, 0.97])
    text = summary(comparison({"lime": ((1.0,), line), "occlusion": ((1.0,), line)}, words=("good",), random_line=line))
    assert text == (
        "The text has a single word, so no ranking is possible; removing it takes positive from 0.97 to 0.50."
    )


def test_another_class_than_the_predicted_one_is_mentioned_first() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD)}, probabilities=(0.4, 0.6)))
    assert text.startswith("The model predicts negative (0.60); the explanations are for positive (0.40). Which words ")


def test_tokens_are_called_tokens() -> None:
    text = summary(comparison({"lime": ((0.0,) * 5, GOOD)}, settings=Settings(unit="token")))
    assert text.endswith(" LIME singles out no token.")


def test_labels_and_words_stay_on_their_line() -> None:
    words = ("a", "won\x00der\nful\u202e", "film", "a", "treat")
    text = summary(comparison({"lime": (SECOND, GOOD)}, words=words, labels=("po\nsi\u202etive", "x")))
    assert "“won␀der ful” first." in text
    assert "\n" not in text


def test_the_same_metrics_give_the_same_sentences() -> None:
    methods = {"lime": (SECOND, GOOD), "occlusion": (THIRD, POOR)}
    assert summary(comparison(methods)) == summary(comparison(methods))


def test_a_word_of_a_pair_is_named_with_its_text(pairs: FrozenModel) -> None:
    comparison = explain(pairs, "the good film", "a good plot", methods=["hypothesis_only", "occlusion"])
    assert re.search(r"Occlusion ranks “\w+” \((premise|hypothesis)\) first", summary(comparison))


def test_before_the_control_is_finished_nothing_is_tested() -> None:
    text = summary(comparison({"lime": (SECOND, GOOD)}, random_line=None))
    assert text == f"Which words decide cannot be told here: {ONE_METHOD} LIME ranks “wonderful” first."


def test_of_nothing_at_all_it_says_that() -> None:
    assert summary(comparison({}, random_line=None)) == f"Which words decide cannot be told here: {NOTHING}"


def test_a_persons_order_has_no_part_in_the_agreement() -> None:
    both = comparison({"guess": (SECOND, GOOD), "lime": (SECOND, GOOD)}, random_line=None)
    assert agreement_sentence(both) == "LIME ranks “wonderful” first. Which words decide cannot be told here."


def test_agreement_decides_nothing_where_the_answer_does_not() -> None:
    agree = "LIME and Occlusion rank “wonderful” first."
    poor = comparison({"lime": (SECOND, POOR), "occlusion": (SECOND, POOR)})
    assert agreement_sentence(poor) == f"{agree} But no order here is shown to be better than random."
    assert poor.answer is None
    undecided = replace(poor, answer=answer(poor, finished=False))
    assert agreement_sentence(undecided) == f"{agree} But nothing is decided yet."
    assert agreement_sentence(comparison({"lime": (SECOND, GOOD), "occlusion": (SECOND, GOOD)})) == agree
