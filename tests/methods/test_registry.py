import re
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any, get_args

import numpy as np
import pytest

from explainers.datasets.example import Example, InputImage
from explainers.errors import ExplanationError
from explainers.learned.recipes import SHIPPED
from explainers.methods.registry import (
    KINDS,
    METHODS,
    SETTINGS,
    Group,
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
from explainers.models.inputs.encoding import Encoding, Window
from explainers.results.decision import Settings


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
    assert groups() == ("Gradient", "Perturbation", "Learned", "Attention", "Self-report", "Controls")
    assert "attention_last" not in default_methods()
    assert {"aml", "lime", "random"} <= set(default_methods())


def test_only_methods_that_make_sense_for_the_input_are_applicable() -> None:
    controls = [spec for spec in METHODS.declared if spec.needs in ("pair", "image")]
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
    needed = {"pair": [False, True, False], "image": [False, False, True]}
    assert supported == needed.get(spec.needs, [True] * 3)


def test_controls_of_one_part_need_that_part() -> None:
    needs = {"premise_only": "pair", "hypothesis_only": "pair", "text_only": "image", "image_only": "image"}
    assert {id: METHODS.get(id).needs for id in needs} == needs


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        *((method, 2) for method in ("aml",)),
        *(
            (method, 1)
            for method in ("cimi", "ciem", "ivra", "cxplain", "gradient_x_input", "attention_mean", "attention_last")
        ),
        ("faml", 300),
        *((method, 1) for method in ("alti", "globenc")),
        ("decompx", 32),  # about one for each unit
        ("deeplift", 2),  # the text and its baseline
        ("gradient_shap", 101),  # the versions and the blends of them with the text, and the text
        ("integrated_gradients", 52),  # the steps, and both ends for the gap
        ("lime", 500),
        ("kernel_shap", 600),  # 20 for each of 30 units
        ("owen", 1680),  # the same between sentences, 20 for each unit within them, 16 for each sentence
        ("occlusion", 31),  # each unit, and the whole input
        ("solvex", 3594),  # both ends, single units, and four sets of each size with each unit that they lack
        *((method, 0) for method in ("premise_only", "hypothesis_only", "text_only", "image_only", "random")),
    ],
)
def test_the_passes_of_thirty_units_with_the_default_settings(method: str, expected: int) -> None:
    assert METHODS.get(method).passes(30, 500, 50) == expected


def test_the_passes_of_kernel_shap_lie_between_the_samples_and_two_thousand() -> None:
    passes = METHODS.get("kernel_shap").passes
    assert [passes(units, 500, 50) for units in (3, 30, 200)] == [500, 600, 2000]
    assert passes(200, 3000, 50) == 3000


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"comparable", "explains"}),
        ({"kind": "one pass"}, {"comparable", "explains", "repeatable"}),
        ({"kind": "fine-tuned", "optimised": True}, {"explains"}),
        ({"kind": "random order", "is_control": True}, {"is_random", "is_control", "comparable", "repeatable"}),
        ({"kind": "one part"}, {"is_single_part", "repeatable"}),
        ({"kind": "given", "supplied": "needs marks."}, {"is_given", "is_supplied", "repeatable"}),
        ({"weights_of": "aml"}, {"learns", "explains_predicted_only", "comparable", "explains"}),
        ({"weights_of": "aml", "reads_class": True}, {"learns", "comparable", "explains"}),
        ({"class_independent": True}, {"explains_predicted_only", "comparable", "explains"}),
    ],
)
def test_what_a_method_is_follows_from_its_fields(changes: dict[str, Any], expected: set[str]) -> None:
    names = {name for name, value in vars(MethodSpec).items() if isinstance(value, property)} | {"is_control"}
    spec = replace(METHODS.get("lime"), **changes)
    assert {name for name in names if getattr(spec, name) is True} == expected


@pytest.mark.parametrize(
    ("changes", "several"),
    [
        ({}, True),
        ({"one_window": True}, False),
        ({"weights_of": "aml"}, False),
        ({"weights_of": "aml", "reads_class": True}, True),
    ],
)
def test_what_reads_the_states_of_the_whole_text_needs_one_window(changes: dict[str, Any], several: bool) -> None:
    spec = replace(METHODS.get("lime"), **changes)
    whole = Encoding(("a film",), (), (), (), ())
    assert spec.can_read(whole)
    assert spec.can_read(replace(whole, windows=(Window(0, 1), Window(3, 1)))) == several


@pytest.mark.parametrize(("optimised", "name"), [(False, "LIME"), (True, "LIME †")])
def test_a_method_that_was_optimised_on_the_metrics_is_marked(optimised: bool, name: str) -> None:
    assert replace(METHODS.get("lime"), optimised=optimised).display_name == name


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"id": "My method"}, "id 'My method'"),
        ({"id": ""}, "id ''"),
        ({"group": "Mine"}, "group 'Mine' (one of Consensus, Gradient, Perturbation, "),
        ({"kind": "quick"}, "kind 'quick' (one of given, joint, one pass, "),
        ({"needs": "audio"}, "needs 'audio' (pair, image, prompt or nothing)"),
        ({"colour": "red"}, "colour 'red' (#rrggbb)"),
        ({"idea": ""}, "texts (name, idea, "),
        ({"caution": None}, "texts (name, idea, "),
    ],
)
def test_a_spec_that_no_page_could_show_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"a method's spec has an unusable {sentence}")):
        replace(METHODS.get("lime"), **changes)


def test_a_variant_is_the_method_with_other_weights() -> None:
    spec = METHODS.get("ivra").variant("suff-sparsemax")
    assert (spec.id, spec.name) == ("ivra:suff-sparsemax", "IvRA (suff, sparsemax)")
    assert dict(spec.fixed)["variant"] == "suff-sparsemax"
    assert replace(spec, id="ivra", name="IvRA", fixed=METHODS.get("ivra").fixed) == METHODS.get("ivra")


def test_the_settings_of_shipped_weights_are_listed_and_other_names_are_as_they_were_given() -> None:
    shipped = {variant for variants in SHIPPED.values() for variant in variants}
    assert all(SETTINGS.issuperset(variant.split("-")) for variant in shipped)
    assert METHODS.get("aml").variant("user-aml").name == "AML (user-aml)"
