import json
from pathlib import Path
from typing import Any

import pytest

from explainers.errors import ModelUnavailable
from explainers.models.bundle_cards import bundle_names, generator_noun, input_names_of, is_generated, read_card
from explainers.models.tasks import TASKS


def test_bundles_stand_by_their_position_then_by_name(tmp_path: Path) -> None:
    cards = {"zebra": "{}", "nli": '{"position": 2}', "sst2-ivra-comp": "{}", "sst2": '{"position": 1}', "ant": "{"}
    for name, card in cards.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "card.json").write_text(card)
    assert bundle_names(tmp_path) == ("sst2", "nli", "ant", "sst2-ivra-comp", "zebra")


def test_folders_without_a_card_are_no_bundles(tmp_path: Path) -> None:
    for name in ("tiny", "empty"):
        (tmp_path / name).mkdir()
    (tmp_path / "tiny" / "card.json").write_text("{}")
    assert bundle_names(tmp_path) == ("tiny",)


def test_the_shipped_cards_agree_with_their_tasks() -> None:
    assert bundle_names()[: len(TASKS)] == tuple(TASKS)
    for name, task in TASKS.items():
        assert is_generated(name) == task.generated, name
        assert bool(generator_noun(name)) == task.generated, name


@pytest.mark.parametrize("name", ["owner/model", "../bundles/sst2", "\0", "", "a" * 5000])
def test_other_models_have_no_abilities_of_bundles(name: str) -> None:
    assert (is_generated(name), generator_noun(name)) == (False, "")


@pytest.mark.parametrize(
    ("texts", "input_names"), [({}, ("text",)), ({"texts": ["premise", "hypothesis"]}, ("premise", "hypothesis"))]
)
def test_a_card_has_the_input_names_of_its_model(
    tmp_path: Path, texts: dict[str, Any], input_names: tuple[str, ...]
) -> None:
    (tmp_path / "card.json").write_text(json.dumps({"labels": ["no"], "sha256": "0", **texts}))
    assert input_names_of(read_card(tmp_path)) == input_names


@pytest.mark.parametrize("texts", [[], ["a", "b", "c"], "premise", [1, 2], ["premise", ""], 3])
def test_a_card_with_impossible_input_names_is_damaged(tmp_path: Path, texts: object) -> None:
    (tmp_path / "card.json").write_text(json.dumps({"labels": ["no"], "sha256": "0", "texts": texts}))
    with pytest.raises(ModelUnavailable, match="cannot be read"):
        read_card(tmp_path)
