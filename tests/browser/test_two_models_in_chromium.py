"""A second model beside the first, in Chromium."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit as Window
from tests.browser.conftest import choose, settled

pytestmark = pytest.mark.browser
FEW = {"learned": "AML", "gradient": "", "attention": "", "controls": "", "perturbation": ["LIME", "Occlusion"]}


def test_a_second_model_is_chosen_and_explained_word_by_word(
    visit: Callable[..., Window], tmp_path: Path, screenshots: Path
) -> None:
    text = "A slow and lifeless film with one moving scene."
    window = visit(text=text, model="sst2", few=False, **FEW).done()
    page = window.page
    box = page.get_by_role("combobox", name="Second model")
    box.scroll_into_view_if_needed()  # scrolling closes a list that is open
    settled(page)
    choose(page, "Second model", "sst2-ivra-comp", exact=True)
    expect(page.get_by_role("button", name="Both models, JSON")).to_be_enabled()
    assert "beside=sst2-ivra-comp" in page.url
    section = page.locator(".two-models section")
    expect(section).to_have_count(3)  # AML was not fitted to the second
    expect(page.get_by_text("Only for sst2: AML.")).to_be_visible()
    for block in section.all():
        first, second = block.locator("[dir=auto]").all()
        assert first.inner_text() == second.inner_text() == text
        places = [
            row.locator("[data-unit]").evaluate_all("all => all.map(x => x.offsetLeft)") for row in (first, second)
        ]
        assert places[0] == places[1]  # word above word
    settled(page).locator(".two-models").screenshot(path=screenshots / "two-models.png")
    with page.expect_download() as download:
        page.get_by_role("button", name="Both models, JSON").click()
    download.value.save_as(tmp_path / "both.json")
    both = json.loads((tmp_path / "both.json").read_text())
    assert [both[which]["model"] for which in ("first", "second")] == ["sst2", "sst2-ivra-comp"]
    assert both["only_first"] == ["aml"]

    page.reload()  # the address brings it back
    expect(page.get_by_role("button", name="Both models, JSON")).to_be_enabled()
    expect(section).to_have_count(3)
