"""Every page against axe-core: nothing serious or critical, in light and dark."""

from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import QUIET, darkened, settled

pytestmark = pytest.mark.browser
axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
SEVERE = ("serious", "critical")
COUNT_RUNS = """() => {
  window.__runs = 0;
  const app = document.querySelector('[data-testid="stApp"]');
  new MutationObserver(() => (window.__runs += 1)).observe(app, { attributeFilter: ["data-test-script-state"] });
}"""
MOST_READINGS = 20


@pytest.mark.parametrize("name", ["", "annotate", "interventions", "train", "methods"])
def test_no_page_has_a_serious_fault(visit: Callable[..., Any], server: str, name: str) -> None:
    window = visit(f"{server}{name}")
    page = window.page
    if name:
        expect(page.get_by_role("heading", level=1)).to_be_visible()
    else:
        window.done()
        page.locator(".more").first.click()
        window.rows.first.locator(".open").click()
    quiet = QUIET if name else 1500  # Compare looks again every second while a duel is searched
    assert serious(page, quiet) == []
    assert serious(darkened(page), quiet) == []


def serious(page: Page, quiet: int = QUIET) -> list[str]:
    """A line per fault of a page at rest, with the element's beginning.

    What is drawn again is pale meanwhile, and a component may ask for that at any time (a name from a slow browser,
    seconds after the page): the page is read again until no script ran while it was read.
    """
    settled(page, quiet).evaluate((files(axe) / "axe.min.js").read_text(encoding="utf-8"))
    page.evaluate(COUNT_RUNS)
    for _ in range(MOST_READINGS):
        runs = settled(page, quiet).evaluate("() => window.__runs")
        result: dict[str, Any] = page.evaluate(
            """axe.run({ exclude: [['[data-testid="stSpinner"]']] }, { resultTypes: ['violations'] })"""  # Streamlit's
        )
        if page.evaluate("() => window.__runs") == runs:
            return [
                f"{fault['id']}: {node['html'][:150]} {node['failureSummary'][:300]}"
                for fault in result["violations"]
                for node in fault["nodes"]
                if fault["impact"] in SEVERE
            ]
    raise AssertionError("the page never came to rest")
