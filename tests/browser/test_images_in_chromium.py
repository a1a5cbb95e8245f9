"""An image with a text, as a person gives it, explains it and plays with it. Nothing depends on the prediction."""

import base64
import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from app.compare.stored_results import curated_examples
from explainers.models.bundle_cards import bundle_names
from tests.browser.conftest import LOOK, darkened, settled

Visit = Callable[..., Any]
FEW = {
    "model": "scenes",
    "learned": "",
    "gradient": "",
    "perturbation": "Occlusion",
    "attention": "Attention, mean",
    "controls": "",
    "pictures": "Image only",
    "narrators": "",
}
ROWS, PATCHES = 4, 48  # the consensus is a row
FIRST = next(sample for sample in curated_examples() if sample.model == "scenes")
PASTE = """([content]) => {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
    const clipboard = new DataTransfer();
    clipboard.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
    document.body.dispatchEvent(new ClipboardEvent("paste", { clipboardData: clipboard, bubbles: true }));
}"""
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif("scenes" not in bundle_names(), reason="the bundle scenes is not in assets/bundles"),
]


def file(kind: str, size: tuple[int, int]) -> dict[str, Any]:
    """An image as a person chooses it."""
    pixels = np.random.default_rng(1).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    content = BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return {"name": f"mine.{kind.lower()}", "mimeType": f"image/{kind.lower()}", "buffer": content.getvalue()}


def give(window: Any, given: dict[str, Any]) -> None:
    """Give a file once the box of the last one is gone, which Streamlit draws until the run that replaced it ends; one
    that comes while the page is drawn once more is lost."""
    settled(window.page)
    box = window.page.locator("[data-testid=stMain] input[type=file]")
    expect(box).to_have_count(1)
    box.set_input_files(given)


def patch(window: Any, number: int, card: int = 0) -> Locator:
    return window.rows.nth(card).locator(".patch").nth(number)  # type: ignore[no-any-return]


def shows(window: Any, ratio: float) -> None:
    """Waits until the image in the first row has this ratio of width to height, and the run on it is over."""
    window.page.wait_for_function(
        """ratio => [...document.querySelectorAll("*")].some(element => {
            const image = element.shadowRoot?.querySelector(".crosslight-sheet [data-method] img");
            return image && Math.abs(image.naturalWidth / image.naturalHeight - ratio) < 1e-6;
        })""",
        arg=ratio,
        polling=LOOK,
    )
    window.done()


def test_patches_are_pointed_at_clicked_and_brought_back(visit: Visit) -> None:
    window = visit(few=False, **FEW).done()
    page, scores = window.page, window.page.locator(".row[data-method] .score")
    expect(window.rows).to_have_count(ROWS)
    expect(page.locator(".patch")).to_have_count(ROWS * PATCHES)
    expect(page.locator(".row[data-method] .shares").first).to_have_text(
        re.compile(r"^image \d+ % · text \d+ % of the importance$")
    )
    before = window.bars

    patch(window, 20).hover()
    for index in range(ROWS):
        expect(scores.nth(index)).to_have_text(re.compile(r"^[+-]?\d\.\d{4}, rank \d+ of \d+$"))
    expect(page.locator(".patch.near")).to_have_count(ROWS)
    page.mouse.move(5, 5)
    expect(scores.first).not_to_contain_text("rank")

    patch(window, 20, card=1).click()
    expect(page.locator(".patch.removed")).to_have_count(ROWS)
    expect(page.locator(".bars")).to_contain_text("→")
    patch(window, 3).press("Enter")
    expect(page.locator(".patch.removed")).to_have_count(2 * ROWS)
    window.done()
    assert window.bars != before
    page.get_by_role("button", name="Restore all").click()
    expect(page.locator(".unit.removed")).to_have_count(0)
    window.done()
    assert window.bars == before


def test_images_are_given_and_a_wrong_file_loses_nothing(visit: Visit, server: str) -> None:
    window = visit(few=False, **FEW).done()
    page, text = window.page, window.page.get_by_role("textbox", name="Text")
    give(window, file("PNG", (60, 90)))
    expect(page.get_by_text("your own image, 60 × 90 pixels")).to_be_visible()
    shows(window, 60 / 90)
    expect(text).to_have_value(FIRST.text)

    give(window, {"name": "mine.png", "mimeType": "image/png", "buffer": b"this is text"})
    expect(page.get_by_role("alert").filter(has_text="cannot be read as an image")).to_be_visible()
    shows(window, 60 / 90)
    expect(text).to_have_value(FIRST.text)

    content = base64.b64encode(file("PNG", (120, 40))["buffer"]).decode()
    page.evaluate(PASTE, [content])
    expect(page.get_by_text("your own image, 120 × 40 pixels")).to_be_visible()
    expect(page.get_by_text("cannot be read as an image")).to_have_count(0)
    shows(window, 120 / 40)
    settled(page).get_by_role("button", name="Link to this view").click()
    expect(page.get_by_text("a name for your own image")).to_be_visible()
    page.reload()  # another session
    expect(page.get_by_text("your own image, 120 × 40 pixels")).to_be_visible()
    expect(text).to_have_value(FIRST.text)


def test_another_generated_example_is_in_the_address_and_comes_back(visit: Visit) -> None:
    first = visit(few=False, **FEW).done()
    first.page.get_by_role("button", name="Another scene").click()
    expect(first.page.get_by_text("scene 1", exact=True)).to_be_visible()
    expect(first.page).to_have_url(re.compile("picture=scene"))
    first.done()
    said = first.page.get_by_role("textbox", name="Text").input_value()
    assert said != FIRST.text
    second = visit(first.page.url).done()
    expect(second.page.get_by_role("textbox", name="Text")).to_have_value(said)
    assert second.bars == first.bars


def test_the_link_holds_every_method_and_the_correct_answer_is_shown(visit: Visit) -> None:
    window = visit(few=False, **{**FEW, "perturbation": ["LIME", "Occlusion"]}).done()
    page = window.page
    expect(
        page.get_by_text(re.compile(r"Correct answer \(from the generator's rules\): .*The model (agrees|predicts)"))
    ).to_be_visible()
    settled(page).get_by_role("button", name="Link to this view").click()
    link = page.get_by_test_id("stPopoverBody").get_by_test_id("stCode").inner_text().strip()
    assert parse_qs(urlsplit(link).query)["perturbation"] == ["LIME", "Occlusion"]
    assert urlsplit(link).netloc == urlsplit(page.url).netloc


def test_colours_evidence_and_curves_of_one_part(visit: Visit) -> None:
    window = visit(few=False, **FEW, evidence="true", opacity="35").done()
    page, cards = window.page, window.page.locator(".crosslight-sheet")
    assert FIRST.evidence is not None
    expect(page.locator(".row[data-method] .true")).to_have_count(ROWS * len(FIRST.evidence.boxes))
    expect(page.locator(".row[data-method] .unit.evidence")).to_have_count(ROWS * len(FIRST.evidence.words))
    opacity = "cards => getComputedStyle(cards.querySelector('.colour')).opacity"
    assert float(cards.evaluate(opacity)) == pytest.approx(0.35)
    page.get_by_role("button", name="Drawing", exact=True).click()
    slider = page.get_by_role("slider", name=re.compile("Colours over"))
    slider.press("End")
    page.wait_for_function(
        """() => [...document.querySelectorAll("*")].some(element =>
            element.shadowRoot?.querySelector(".crosslight-sheet")?.style.getPropertyValue("--opacity") === "1")"""
    )
    page.get_by_text("Show the true evidence").click()
    page.keyboard.press("Escape")
    expect(page.locator(".row[data-method] .true")).to_have_count(0)

    for part, units in (("Image", "patches"), ("Text", "words"), ("Both", "units")):
        button = page.get_by_role("radio", name=part, exact=True)
        button.or_(page.get_by_role("button", name=part, exact=True)).first.click()
        expect(page.get_by_text(f"% of the {units} removed (mask)")).to_be_visible()
        expect(page.get_by_text(re.compile(r"Erasing .* alone:"))).to_have_count(0)


def test_an_image_fits_into_the_window(visit: Visit, screenshots: Path) -> None:
    window = visit(few=False, **FEW, width=390, height=2400).done()
    give(window, file("JPEG", (90, 400)))
    expect(window.page.get_by_text("your own image, 90 × 400 pixels")).to_be_attached()  # folded on a narrow page
    window.done()
    for width in (390, 1280):
        window.page.set_viewport_size({"width": width, "height": 2400})
        images = settled(window.page).locator(".crosslight-sheet [data-method] .image")
        tall = images.evaluate_all("boxes => boxes.map(box => box.getBoundingClientRect().height)")
        assert max(tall) <= 300
        wide: int = window.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= width
        window.page.screenshot(path=screenshots / f"pictures-{width}.png")
    darkened(window.page).screenshot(path=screenshots / "pictures-1280-dark.png")
