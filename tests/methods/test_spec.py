from dataclasses import fields, replace
from typing import get_args

import numpy as np
import pytest

from explainers.datasets.example import Example
from explainers.datasets.image import InputImage
from explainers.learned.recipes import SHIPPED
from explainers.methods.registry import METHODS
from explainers.methods.spec import KINDS, SETTINGS, SLOW, Group, MethodSpec
from explainers.results.settings import Settings

TEXT, PAIR = Example("a film"), Example("a film", "a plot")
IMAGE = Example("a film", image=InputImage.of(np.zeros((2, 2, 3), np.uint8)))
each_spec = pytest.mark.parametrize("spec", METHODS, ids=METHODS.ids)


@each_spec
def test_every_spec_is_complete(spec: MethodSpec) -> None:
    assert spec.kind in KINDS
    assert spec.group in get_args(Group)
    assert all((spec.name, spec.idea, spec.caution, spec.formula, spec.source))
    assert spec.colour.startswith("#")
    assert len(bytes.fromhex(spec.colour[1:])) == 3


@each_spec
def test_every_method_is_made_with_the_settings_that_it_has(spec: MethodSpec) -> None:
    method = spec.make(erasure="delete", seed=3, samples=70, steps=9)
    settings = {"erasure": "delete", "seed": 3, "samples": 70, **({} if spec.learns else {"steps": 9})}
    values = {field.name: getattr(method, field.name) for field in fields(method)}  # type: ignore[arg-type]
    assert {name: values[name] for name in settings if name in values} == {
        name: value for name, value in settings.items() if name in values
    }
    assert {name: values[name] for name, _ in spec.fixed} == dict(spec.fixed)


@pytest.mark.parametrize(
    ("method", "setting"),
    [
        *((method, setting) for method in ("lime", "kernel_shap") for setting in ("samples", "seed", "sampling")),
        ("integrated_gradients", "steps"),
    ],
)
def test_methods_that_have_a_setting_get_it(method: str, setting: str) -> None:
    made_with = METHODS.get(method).made_with(Settings("word", "mask", samples=70, steps=9, seed=3, sampling="shared"))
    assert getattr(made_with, setting) == {"samples": 70, "seed": 3, "steps": 9, "sampling": "shared"}[setting]


@each_spec
def test_a_method_supports_the_inputs_that_have_what_it_needs(spec: MethodSpec) -> None:
    supported = [spec.supports(example) for example in (TEXT, PAIR, IMAGE)]
    assert supported == {"": [True] * 3, "pair": [False, True, False], "image": [False, False, True]}[spec.needs]


def test_controls_of_one_part_need_that_part() -> None:
    needs = {spec.id: spec.needs for spec in METHODS if spec.needs}
    assert needs == {"premise_only": "pair", "hypothesis_only": "pair", "text_only": "image", "picture_only": "image"}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        *((method, 2) for method in ("aml",)),
        *((method, 1) for method in ("cimi", "ciem", "ivra", "gradient_x_input", "attention_mean", "attention_last")),
        ("faml", 300),
        ("integrated_gradients", 52),  # the steps, and both ends for the gap
        ("lime", 500),
        ("kernel_shap", 600),  # 20 for each of 30 units
        ("occlusion", 31),  # each unit, and the whole input
        *((method, 0) for method in ("premise_only", "hypothesis_only", "text_only", "picture_only", "random")),
    ],
)
def test_the_passes_of_thirty_units_with_the_default_settings(method: str, expected: int) -> None:
    assert METHODS.get(method).passes(30, 500, 50) == expected


def test_the_passes_of_kernel_shap_lie_between_the_samples_and_two_thousand() -> None:
    passes = METHODS.get("kernel_shap").passes
    assert [passes(units, 500, 50) for units in (3, 30, 200)] == [500, 600, 2000]
    assert passes(200, 3000, 50) == 3000


def test_what_a_spec_is_follows_from_its_kind_and_group() -> None:
    def ids(name: str) -> set[str]:
        return {spec.id for spec in METHODS if getattr(spec, name)}

    one_part = {"premise_only", "hypothesis_only", "text_only", "picture_only"}
    assert ids("is_random") == {"random"}
    assert ids("is_control") == {*one_part, "attention_mean", "attention_last", "random"}
    assert ids("learns") == {"aml", "faml", "cimi", "ciem", "ivra"}
    assert set(METHODS.ids) - ids("comparable") == {*one_part, "faml"}
    assert set(METHODS.ids) - ids("explains") == {*one_part, "random"}
    assert set(METHODS.ids) - ids("repeatable") == {spec.id for spec in METHODS if spec.kind in SLOW}
    assert {spec.id for spec in METHODS if spec.display_name.endswith("†")} == ids("optimised") == {"faml"}


def test_a_variant_is_the_method_with_other_weights() -> None:
    spec = METHODS.get("ivra").variant("suff-sparsemax")
    assert (spec.id, spec.name) == ("ivra:suff-sparsemax", "IvRA (suff, sparsemax)")
    assert dict(spec.fixed)["variant"] == "suff-sparsemax"
    assert replace(spec, id="ivra", name="IvRA", fixed=METHODS.get("ivra").fixed) == METHODS.get("ivra")


def test_the_settings_of_shipped_weights_are_listed_and_other_names_are_as_they_were_given() -> None:
    shipped = {variant for variants in SHIPPED.values() for variant in variants}
    assert all(SETTINGS.issuperset(variant.split("-")) for variant in shipped)
    assert METHODS.get("aml").variant("user-aml").name == "AML (user-aml)"
