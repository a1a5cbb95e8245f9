"""Every page against axe-core: nothing serious or critical, in light and dark."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settled

pytestmark = pytest.mark.browser
axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
SEVERE = ("serious", "critical")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["", "annotate", "interventions", "train", "methods"])
def test_no_page_has_a_serious_fault(visit: Callable[..., Any], server: str, name: str, dark: bool) -> None:
    window = visit(f"{server}{name}", dark=dark)
    page = window.page
    if name:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    else:
        window.done()
        page.locator(".more").first.click()
        window.rows.first.locator(".open").click()
    assert serious(settled(page, 1500)) == []  # the page looks again every second while a duel is searched


def serious(page: Any) -> list[str]:
    """A line per fault, with the element's beginning."""
    page.evaluate((files(axe) / "axe.min.js").read_text(encoding="utf-8"))
    result: dict[str, Any] = page.evaluate(
        """axe.run({ exclude: [['[data-testid="stSpinner"]']] }, { resultTypes: ['violations'] })"""  # Streamlit's own
    )
    return [
        f"{fault['id']}: {node['html'][:150]} {node['failureSummary'][:300]}"
        for fault in result["violations"]
        for node in fault["nodes"]
        if fault["impact"] in SEVERE
    ]
