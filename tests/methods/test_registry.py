from collections.abc import Iterator
from dataclasses import replace

import pytest

from explainers.datasets.example import Example
from explainers.errors import ExplanationError
from explainers.methods.registry import (
    METHODS,
    MethodSpec,
    Selection,
    applicable,
    base_id,
    default_methods,
    groups,
    method_spec,
    select,
    selection,
    using_weights_of,
)


@pytest.fixture
def registered() -> Iterator[MethodSpec]:
    spec = replace(METHODS.get("lime"), id="mine", name="Mine", colour="#123456")
    METHODS.register(spec)
    yield spec
    METHODS.unregister(spec.id)


def test_specs_stand_in_the_order_of_display() -> None:
    assert [spec.id for spec in select(["random", "lime", "aml:suff", "aml", "aml:comp"])] == [
        *("aml", "aml:comp", "aml:suff"),
        *("lime", "random"),
    ]
    assert select(["lime", "lime"]) == (METHODS.get("lime"),)
    assert select([]) == ()


@pytest.mark.parametrize(
    ("id", "meant"),
    [
        *((id, "") for id in ("shap", "", ":comp", "lime:comp")),
        *(("AML", "aml"), ("aml:", "aml"), ("intergrated gradients", "integrated_gradients")),
    ],
)
def test_an_unknown_id_is_an_error_with_the_ids_and_the_nearest(id: str, meant: str) -> None:
    question = rf" Did you mean {meant}\?" if meant else ""
    with pytest.raises(ExplanationError, match=rf"Unknown method '{id}'\.{question} Choose from: aml, .*random\."):
        method_spec(id)


def test_a_variant_belongs_to_its_method() -> None:
    assert method_spec("faml:comp").weights_of == "aml"
    assert [base_id(id) for id in ("aml:comp", "aml")] == ["aml", "aml"]
    assert [spec.id for spec in using_weights_of("aml")] == ["aml", "faml"]
    assert using_weights_of("lime") == ()


def test_the_groups_and_the_defaults_of_the_app() -> None:
    assert groups() == ("Gradient", "Perturbation", "Learned", "Attention", "Controls")
    assert "attention_last" not in default_methods()
    assert {"aml", "lime", "random"} <= set(default_methods())


def test_only_methods_that_make_sense_for_the_input_are_applicable() -> None:
    controls = [spec for spec in METHODS.declared if spec.needs]
    assert applicable(controls, Example("a film")) == ()
    assert [spec.id for spec in applicable(controls, Example("a film", "a plot"))] == [
        "premise_only",
        "hypothesis_only",
    ]


def test_a_method_can_be_registered_while_the_program_runs(registered: MethodSpec) -> None:
    assert method_spec("mine") is registered
    assert select(["mine", "lime"])[-1] is registered
    assert "mine" in default_methods()


def test_after_it_was_unregistered_the_method_is_unknown() -> None:
    METHODS.register(replace(METHODS.get("lime"), id="mine"))
    METHODS.unregister("mine")
    with pytest.raises(ExplanationError, match="Unknown method 'mine'"):
        method_spec("mine")


def test_nothing_chosen_is_every_default_method_and_every_fitted_narrator() -> None:
    assert selection(None) == Selection(default_methods(), None)


@pytest.mark.parametrize(
    ("ids", "methods", "narrators"),
    [
        (["lime", "random"], ("lime", "random"), ()),
        (["cause", "aml:comp", "cause_phi"], ("aml:comp",), ("cause_phi", "cause")),
        (["cause", "cause"], (), ("cause",)),
        ([], (), ()),
    ],
)
def test_narrators_are_chosen_like_methods(
    ids: list[str], methods: tuple[str, ...], narrators: tuple[str, ...]
) -> None:
    assert selection(ids) == Selection(methods, narrators)


@pytest.mark.parametrize("id", ["", "cause:comp", "shap", "lime:comp"])
def test_an_unknown_id_is_an_error_with_the_ids_of_both(id: str) -> None:
    with pytest.raises(ExplanationError, match=r"Choose from: aml, .*random") as error:
        selection(["random", id])
    assert ("cause_phi, cause_phi_ts, cause_published, " in str(error.value)) == (id != "lime:comp")
