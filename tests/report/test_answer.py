"""The answer in words: heading, sentences, the three marks, and the groups of the methods."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from explainers.models.inputs.encoding import Unit
from explainers.models.target import Target
from explainers.report.answer import (
    CHANCE,
    NONE_ALONE,
    RANDOM,
    UNDECIDED,
    abstaining_line,
    advice,
    answer_sentences,
    chance_sentence,
    compared_sentence,
    effect_line,
    group_lines,
    group_title,
    heading,
    heading_meaning,
    marks,
    method_sentence,
    operators_line,
    quoted,
    size_sentence,
)
from explainers.report.confidence import confidence_sentence, margin_sentence
from explainers.results.answer import Answer, Confidence, ErasureEffect
from explainers.results.decision import Settings

WORDS = ("A", "charming", "and", "often", "affecting", "journey")
EFFECT = ErasureEffect(0.95, 0.07, 0.9, 0.84, 0.5, changes_class=True)
SMALL = ErasureEffect(0.98, 0.68, 0.97, 0.96, 0.9)  # still the same class
SUPPORTED = Answer(
    "supported",
    words=(1, 4),
    effect=EFFECT,
    p=0.05,
    orders=19,
    agreement=0.71,
    compared=10,
    members=("lime", "occlusion", "ivra", "aml", "cimi", "gradient_x_input"),
    cut=3,
    naming=9,
    holds=(("delete", True), ("zero", False)),
    supported=("lime", "occlusion"),
    differs=(("ivra", (5,)), ("aml", (0, 2)), ("cimi", (5,))),
    random=("gradient_x_input",),
)
OPEN = Answer("open", words=(1,), effect=EFFECT, p=0.25, orders=19, agreement=0.3, compared=4, cut=3, random=("lime",))
LEADING = replace(OPEN, words=(1, 4), p=1 / 6, orders=5, provisional=True)
REFUSED = Answer("open", refusal="The input has 2 words; the test against random orders needs at least 5.")

METHODS = ("consensus", *SUPPORTED.order[1:])


def comparison(*, label: int = 1, versus: int | None = None, multimodal: bool = False) -> Any:
    units = tuple(Unit(word, 0, 0) for word in WORDS)
    card = SimpleNamespace(labels=("nega\ntive", "positive"))
    settings = Settings()
    encoding = SimpleNamespace(units=units, multimodal=multimodal)
    target = Target(label, versus)
    decision = SimpleNamespace(card=card, encoding=encoding, settings=settings, label=label, target=target)
    name = card.labels[label]
    return SimpleNamespace(
        decision=decision,
        predicted=1,
        explains_predicted=target == Target(1),
        probabilities=(0.05, 0.95),
        probability=(0.05, 0.95)[label],
        label=name,
        names=("",),
        methods=METHODS,
        results=METHODS,
        order=(),
    )


COMPARISON = comparison()


@pytest.mark.parametrize(
    ("answer", "label", "text"),
    [
        (Answer("pending"), 1, ""),
        (SUPPORTED, 1, "“charming” and “affecting” carry the decision for positive"),
        (replace(SUPPORTED, words=(1,)), 1, "“charming” carries the decision for positive"),
        (replace(SUPPORTED, effect=SMALL), 1, "“charming” and “affecting” weigh most in the decision for positive"),
        (replace(SUPPORTED, words=(1,), effect=SMALL), 1, "“charming” weighs most in the decision for positive"),
        (Answer("supported", words=(1,)), 0, "“charming” speaks most for nega tive"),
        (OPEN, 1, CHANCE),
        (REFUSED, 1, "Which words decide cannot be told here"),
    ],
)
def test_the_heading_names_the_words_or_says_that_they_cannot_be_told(answer: Answer, label: int, text: str) -> None:
    assert heading(answer, comparison(label=label)) == text


def test_what_holds_under_its_own_operator_alone_is_said_to() -> None:
    alone = replace(SUPPORTED, words=(1,), holds=(("delete", False), ("zero", False)))
    assert heading(alone, COMPARISON) == "“charming” carries the decision for positive when words are masked"


def test_a_word_that_is_marked_beside_the_heading_needs_no_number() -> None:
    twice = comparison()
    twice.decision.encoding.units = tuple(Unit(word, 0, 0) for word in ("not", "bad", "not"))
    answer = replace(SUPPORTED, words=(2,))
    assert heading(answer, twice).startswith("“not” (number 2 of 2) carries")
    assert heading(answer, twice, brief=True).startswith("“not” carries")


def test_a_sign_is_called_so() -> None:
    signs = comparison()
    signs.decision.encoding.units = tuple(Unit(word, 0, 0) for word in ("dull", ".", "it's"))
    assert quoted((1, 0, 2), signs) == "the symbol “.”, “dull” and “it's”"


def test_the_effect_is_told_by_removing_unless_keeping_tells_much_more() -> None:
    assert effect_line(SUPPORTED, COMPARISON) == ("p(positive) 0.95 → 0.07 without them; 0.84 without two random words")
    redundant = Answer("supported", words=(1,), effect=ErasureEffect(0.98, 0.97, 0.98, 0.98, 0.82))
    assert effect_line(redundant, COMPARISON) == "p(positive) 0.98 → 0.98 with only it; 0.82 with only a random word"


@pytest.mark.parametrize(
    ("naming", "cut", "text"),
    [
        (9, 3, "9 of 10 compared methods rank “charming” and “affecting” among their first 3."),
        (10, 3, "All 10 compared methods rank “charming” and “affecting” among their first 3."),
        (1, 3, "1 of 10 compared methods ranks “charming” and “affecting” among its first 3."),
        (
            0,
            3,
            "None of 10 compared methods ranks all of “charming” and “affecting” among its first 3; only their joint "
            "order does.",
        ),
    ],
)
def test_how_many_methods_have_the_words_among_their_first(naming: int, cut: int, text: str) -> None:
    answer = Answer("supported", words=(1, 4), compared=10, naming=naming, cut=cut)
    assert method_sentence(answer, COMPARISON) == text


def test_a_single_first_word_is_ranked_first() -> None:
    answer = Answer("supported", words=(1,), compared=4, naming=3, cut=1)
    assert method_sentence(answer, COMPARISON) == "3 of 4 compared methods rank “charming” first."
    assert method_sentence(REFUSED, COMPARISON) == ""


def test_which_methods_are_not_compared_is_said_once() -> None:
    assert compared_sentence(SUPPORTED, COMPARISON) == ""
    more = SimpleNamespace(**vars(COMPARISON) | {"methods": (*METHODS, "faml", "random")})
    six = replace(SUPPORTED, compared=6)
    assert compared_sentence(six, more) == "6 of 8 methods are compared, all but fAML and Random."
    assert answer_sentences(six, more)[2] == compared_sentence(six, more)
    assert compared_sentence(six, more) in marks(six, more)[1].meaning
    assert compared_sentence(REFUSED, more) == ""


def test_compared_methods_are_not_among_the_others_before_they_are_tested_or_where_they_cannot_be() -> None:
    more = SimpleNamespace(**vars(COMPARISON) | {"methods": (*METHODS, "faml")})
    untested = replace(LEADING, p=None, orders=0, compared=6, members=SUPPORTED.members, random=())
    assert compared_sentence(untested, more) == "6 of 7 methods are compared, all but fAML."
    unmeasured = replace(SUPPORTED, compared=6, random=())
    assert compared_sentence(unmeasured, more) == "6 of 7 methods are compared, all but fAML."


def test_methods_without_a_result_are_not_compared_and_count_among_all() -> None:
    asked = SimpleNamespace(**vars(COMPARISON) | {"order": (*SUPPORTED.members, "faml", "kernel_shap", "random")})
    six = replace(SUPPORTED, compared=6)
    assert compared_sentence(six, asked) == "6 of 9 methods are compared, all but fAML, KernelSHAP and Random."


def test_the_joint_order_is_compared_with_random_ones() -> None:
    assert chance_sentence(SUPPORTED) == "The methods' joint order beats all 19 random ones."
    alone = replace(SUPPORTED, supported=(), differs=(), random=SUPPORTED.members)
    assert chance_sentence(alone) == f"The methods' joint order beats all 19 random ones. {NONE_ALONE}"
    exact = Answer("supported", words=(1,), p=0.012, orders=840, exact=True)
    assert chance_sentence(exact) == "The methods' joint order is better than 99 % of all orders (p = 0.012)."
    nearly = Answer("supported", words=(1,), p=0.001, orders=840, exact=True)
    assert "better than more than 99 % of all orders" in chance_sentence(nearly)
    assert chance_sentence(OPEN) == (  # 0.25 = (1 + 4) / 20
        "The methods' joint order is not shown to be better than random: 4 of 19 random orders do as well."
    )
    assert chance_sentence(REFUSED) == ""


def test_confidence_is_told_only_where_it_was_measured() -> None:
    assert confidence_sentence(SUPPORTED) == ""
    given = Answer("supported", confidence=Confidence(0.93, 0.88, 0.96, by_agreement=True))
    known = "On other models, whose deciding words are known, the methods' joint order put exactly those words first"
    assert confidence_sentence(given) == f"{known} in 93 % [88, 96] of inputs where methods agreed this much."
    alone = Answer("supported", confidence=Confidence(0.93, 0.88, 0.96, inputs=114))
    assert confidence_sentence(alone) == f"{known} in 93 % [88, 96] of 114 inputs of about this length."


def test_a_missing_confidence_is_told_with_its_reason_once_all_methods_are_there() -> None:
    said = "How often such an answer is right is not known: it was measured for words only."
    lacking = Answer("supported", no_confidence=said)
    assert confidence_sentence(lacking) == said
    assert confidence_sentence(replace(lacking, provisional=True)) == ""
    assert confidence_sentence(replace(lacking, status="open")) == ""


def test_the_verb_of_the_heading_is_explained() -> None:
    first = "The words that stand first in the mean rank of the compared methods."
    assert heading_meaning(SUPPORTED, COMPARISON) == f"{first} Without them the model predicts another class."
    weighs = heading_meaning(replace(SUPPORTED, words=(1,), effect=SMALL), COMPARISON)
    one = first.replace("words that stand", "word that stands")
    assert weighs == f"{one} Without it the model predicts the same class, with another probability."
    assert heading_meaning(LEADING, COMPARISON) == first
    assert heading_meaning(SUPPORTED, comparison(label=0)) == f"{first} The model predicts another class."
    assert heading_meaning(OPEN, COMPARISON) == heading_meaning(REFUSED, COMPARISON) == ""


def test_equal_words_of_a_pair_are_told_apart_also_where_they_are_marked() -> None:
    pair = comparison()
    pair.names = ("Premise", "Hypothesis")
    pair.decision.encoding.units = (Unit("dog", 0, 3), Unit("cat", 0, 3), Unit("dog", 0, 3, segment=1))
    assert quoted((0, 1), pair, brief=True) == "“dog” and “cat”"
    assert quoted((0, 1, 2), pair, brief=True) == "“dog” (premise), “cat” and “dog” (hypothesis)"


def test_three_marks_stand_for_themselves_and_a_failed_operator_is_no_full_mark() -> None:
    effect, agreement, robust = marks(SUPPORTED, COMPARISON)
    assert (effect.text, effect.holds) == ("0.95 → 0.07 without them", True)
    assert (agreement.text, agreement.holds) == ("9 of 10 compared methods name all of them", True)
    assert marks(replace(SUPPORTED, naming=1), COMPARISON)[1].text == "1 of 10 compared methods names all of them"
    nobody = marks(replace(SUPPORTED, naming=0), COMPARISON)[1]
    assert (nobody.text, nobody.holds) == ("no compared method names all of them", False)
    assert (robust.text, robust.holds) == ("holds under 2 of 3 operators", False)
    assert robust.meaning == "Holds when words are deleted; not when embeddings are zeroed."
    assert [mark.holds for mark in marks(OPEN, COMPARISON)] == [False, False, None]
    assert marks(REFUSED, COMPARISON) == marks(Answer("pending"), COMPARISON) == ()


def test_a_fall_hardly_larger_than_that_of_random_words_is_not_marked_as_an_effect() -> None:
    tiny = replace(EFFECT, full=0.08, removed=0.05, random_removed=0.07, kept=0.08, random_kept=0.07)
    effect = marks(replace(SUPPORTED, effect=tiny), COMPARISON)[0]
    assert effect.holds is False
    small = replace(SUPPORTED, effect=tiny)
    assert size_sentence(small, COMPARISON) == "They change p hardly more than random words do."
    assert effect.meaning.endswith(size_sentence(small, COMPARISON))
    assert answer_sentences(small, COMPARISON)[1] == size_sentence(small, COMPARISON)
    one = replace(small, words=(1,))
    assert size_sentence(one, COMPARISON) == "It changes p hardly more than a random word does."
    kept = replace(SUPPORTED, effect=replace(tiny, kept=0.2))
    assert marks(kept, COMPARISON)[0].holds
    assert size_sentence(kept, COMPARISON) == size_sentence(replace(OPEN, effect=tiny), COMPARISON) == ""


@pytest.mark.parametrize(
    ("holds", "line"),
    [
        ((), ""),
        ((("delete", True),), "Holds when words are deleted"),
        ((("delete", False), ("zero", False)), "Does not hold when words are deleted or embeddings are zeroed"),
        (
            (("mask", True), ("delete", True), ("blur", True)),
            "Holds when words are masked, words are deleted or the image is blurred",
        ),
    ],
)
def test_under_which_operators_it_holds(holds: Any, line: str) -> None:
    assert operators_line(Answer("supported", holds=holds), COMPARISON) == line


def test_patches_are_erased_too_where_there_are_any() -> None:
    answer = Answer("supported", holds=(("delete", True), ("zero", True), ("blur", False)))
    assert operators_line(answer, comparison(multimodal=True)) == (
        "Holds when words and patches are deleted or embeddings are zeroed; "
        "not when patches are blurred and words are masked"
    )


def test_every_group_has_its_title_and_methods_that_differ_alike_stand_together() -> None:
    assert SUPPORTED.order == ("consensus", "lime", "occlusion", "ivra", "cimi", "aml", "gradient_x_input")
    assert group_lines(SUPPORTED, COMPARISON) == [
        "Supported, cannot be told apart here: LIME, Occlusion",
        "Differs from the consensus: “journey”: IvRA, CIMI",
        "Differs from the consensus: “A” and “and”: AML",
        "Not shown to be better than random: Gradient × input",
    ]
    assert group_title(SUPPORTED, COMPARISON, "consensus") == group_title(SUPPORTED, COMPARISON, "faml") == ""
    single = Answer("supported", supported=("lime", "aml"), single="lime")
    assert group_title(single, COMPARISON, "aml") == "supported; LIME is ahead of the others"
    assert group_lines(single, COMPARISON) == ["Supported; LIME is ahead of the others: AML"]
    assert group_title(OPEN, COMPARISON, "lime") == RANDOM


def test_of_opened_sentences_more_sentences_may_show_more() -> None:
    whole = replace(OPEN, provisional=False)
    assert "a longer text, or" in advice(whole, COMPARISON)
    opened = comparison()
    opened.decision.settings = Settings("sentence", opened=(0,))
    assert "more sentences, or" in advice(whole, opened)
    assert advice(replace(REFUSED, words=()), opened).startswith("More sentences")


def test_what_comes_after_the_end_of_the_test_is_not_tested() -> None:
    early = replace(SUPPORTED, supported=("lime",), differs=(), random=("ivra", "occlusion", "aml"))
    assert group_lines(early, COMPARISON) == [
        "Supported: LIME",
        "Not shown to be better than random: IvRA",
        "Not tested, because IvRA, tested before, failed: Occlusion, AML",
    ]
    nothing = replace(OPEN, random=("lime", "aml"))  # the consensus has not passed
    assert group_lines(nothing, COMPARISON) == ["Not shown to be better than random: LIME, AML"]


def test_long_lists_are_counted() -> None:
    six = Answer("open", random=("ivra", "cimi", "ciem", "attention_mean", "lime", "occlusion"))
    (line,) = group_lines(six, COMPARISON)
    assert line == "Not shown to be better than random: IvRA, CIMI, CIEM, Attention (mean) and 2 more"


def test_who_explains_another_class_is_named_with_the_class() -> None:
    assert abstaining_line(SUPPORTED, COMPARISON) == ""
    one, two = (abstaining_line(Answer("open", abstaining=who), COMPARISON) for who in (("aml",), ("aml", "cimi")))
    assert one == "AML explains the predicted class only, which is positive"
    assert two == "AML, CIMI explain the predicted class only, which is positive"


def test_a_class_rather_than_another_is_named_with_both() -> None:
    contrast = comparison(versus=0)
    assert heading(SUPPORTED, contrast) == "“charming” and “affecting” speak most for positive rather than nega tive"
    assert effect_line(SUPPORTED, contrast).startswith("p(positive rather than nega tive) 0.95 → 0.07 without them")
    line = abstaining_line(Answer("open", abstaining=("aml", "cimi")), contrast)
    assert line == (
        "AML explains positive, not positive rather than nega tive; "
        "CIMI explains the predicted class only, which is positive"
    )


def test_the_sentences_say_everything_and_nothing_of_what_is_pending() -> None:
    assert answer_sentences(Answer("pending"), COMPARISON) == []
    assert answer_sentences(REFUSED, COMPARISON) == [f"Which words decide cannot be told here: {REFUSED.refusal}"]
    first, methods, chance, holds, *groups = answer_sentences(SUPPORTED, COMPARISON)
    assert first == (
        "“charming” and “affecting” carry the decision for positive: "
        "p(positive) 0.95 → 0.07 without them; 0.84 without two random words."
    )
    assert (methods[:2], chance[:5], holds[:5], len(groups)) == ("9 ", "The m", "Holds", 4)


def test_what_can_be_tried_is_said_where_nothing_can_be_told() -> None:
    assert "Another operator" in advice(OPEN, COMPARISON)
    assert "A longer input" in advice(REFUSED, COMPARISON)
    for unit, more in (
        ("example", "A prompt with more examples"),
        ("sentence", "The same text by word or a longer one"),
    ):
        for units, rest in ((2, " can be tested."), (9, ", another class or other methods may give an answer.")):
            decision = SimpleNamespace(settings=Settings(unit=unit), encoding=SimpleNamespace(units=range(units)))  # type: ignore[arg-type]
            given = advice(REFUSED, SimpleNamespace(decision=decision, results=(1,), probability=0.95))  # type: ignore[arg-type]
            assert given == f"{more}{rest}"
    assert advice(SUPPORTED, COMPARISON) == ""
    assert advice(REFUSED, comparison(label=0)) == "Another class can be explained."


def test_a_model_that_is_nearly_undecided_is_said_to_be() -> None:
    assert margin_sentence(COMPARISON) == ""
    close = SimpleNamespace(**vars(COMPARISON) | {"probabilities": (0.4861, 0.5139)})
    assert margin_sentence(close) == "The model is nearly undecided: positive 0.51, nega tive 0.49."  # type: ignore[arg-type]
    level = SimpleNamespace(**vars(COMPARISON) | {"probabilities": (0.5, 0.5)})
    assert margin_sentence(level) == "The model is nearly undecided: nega tive 0.50, positive 0.50."  # type: ignore[arg-type]
    assert answer_sentences(SUPPORTED, close)[1] == margin_sentence(close)  # type: ignore[arg-type]
    other = SimpleNamespace(**vars(close) | {"explains_predicted": False})
    assert margin_sentence(other) == ""  # type: ignore[arg-type]


def test_what_more_methods_may_change_is_undecided_in_every_sentence() -> None:
    undecided = replace(OPEN, provisional=True)
    assert heading(undecided, COMPARISON) == UNDECIDED
    assert chance_sentence(undecided) == "So far 4 of 19 random orders do as well as the methods' joint order."
    assert group_title(undecided, COMPARISON, "lime") == "not decided yet"
    assert marks(undecided, COMPARISON)[0].holds is None
    assert advice(undecided, COMPARISON) == ""
    first, *rest = answer_sentences(undecided, COMPARISON)
    assert first == "Not decided yet: not all methods are done."
    assert not [sentence for sentence in rest if "chance" in sentence or "distinguishable" in sentence]
    exact = replace(undecided, exact=True)
    assert chance_sentence(exact) == "So far 25 % of all orders do as well as the methods' joint order."


def test_what_beats_the_few_random_orders_that_had_time_is_named_and_not_called_decided() -> None:
    assert LEADING.marked == (1, 4)
    assert heading(LEADING, comparison()) == "So far, “charming” and “affecting” speak most for positive"
    beaten = "So far the methods' joint order beats all 5 random ones (p = 0.167)."
    sentence = f"{beaten} With more time it is tested against 19."
    assert chance_sentence(LEADING) == sentence
    assert effect_line(LEADING, comparison()).startswith("p(positive) 0.95 → 0.07 without them")
    (effect, *_) = marks(LEADING, comparison())
    assert effect.holds is None
    (first, *_) = answer_sentences(LEADING, comparison())
    assert first.startswith("So far, “charming” and “affecting” speak most for positive: ")


@pytest.mark.parametrize(
    "other",
    [{"p": 2 / 6}, {"orders": 19, "p": 0.05, "status": "supported"}, {"provisional": False}, {"refusal": "No."}],
)
def test_nothing_else_leads(other: dict[str, Any]) -> None:
    assert not replace(LEADING, **other).leading
