"""The app as a person starts it, in Chromium; every visit is watched for errors and for requests that leave."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Locator, Page, expect, sync_playwright
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import TimeoutError as TimedOut

from app.load.server import ROOTS_VARIABLE, WITHOUT_FITTED, write_one_layer
from explainers.installation import STORE_VARIABLE
from explainers.models.bundle_cards import bundle_names
from explainers.studies.speed import measure

SCREENSHOTS = Path(__file__).parents[2] / "screenshots"
ENDING = 60.0  # seconds
PATIENCE = 300_000  # milliseconds; a machine that also does other work may take long
FEW = {
    "learned": ["AML", "CIMI"],
    "gradient": ["Integrated gradients"],
    "perturbation": ["LIME", "Occlusion"],
    "attention": ["Attention, mean"],
    "controls": "",
}  # to save time
QUICK = {
    **FEW,
    **WITHOUT_FITTED,
    "gradient": ["Integrated gradients", "Gradient × input"],
    "attention": ["Attention, mean", "Attention, last layer"],
}  # as many rows, of a model to which nothing is fitted
expect.set_options(timeout=PATIENCE)
SETTLED = """(since) => {
  const now = performance.now(), app = document.querySelector('[data-testid="stApp"]');
  const busy = !app || app.dataset.testScriptState !== "notRunning" || app.dataset.testConnectionState !== "CONNECTED"
  ||
    document.querySelector('[data-testid="stSpinner"], [data-testid="stSkeleton"], [data-stale="true"]') ||
    document.getAnimations().some((animation) =>
      animation.playState === "running" && animation.effect?.getComputedTiming().endTime < Infinity);
  if (busy || window.__quietSince === undefined || window.__asked !== since) {
    window.__asked = since;
    window.__quietSince = now;
    return false;
  }
  return now - window.__quietSince >= QUIET;
}"""
QUIET = 200  # milliseconds for which nothing may move: a rerun that an event has just asked for begins within them
LOOK = 50  # milliseconds between two looks at what is waited for; `expect` waits for a second where it takes long
OVER = "() => [...document.querySelectorAll('button')].some(button => button.textContent.includes('Compute again'))"


def settled(page: Page, quiet: int = QUIET) -> Page:
    """Waits until nothing is animated, no spinner turns, and no script runs or is about to. Returns the page."""
    page.wait_for_function(SETTLED.replace("QUIET", str(quiet)), arg=time.monotonic(), polling=LOOK)
    return page


def darkened(page: Page) -> Page:
    """The page as it is drawn for a system that has become dark. Returns it at rest."""
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("() => getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    return settled(page)


def press_until(button: Locator, sign: Locator) -> None:
    """Presses again where a press came to nothing, as while a reloaded page is still drawn, until `sign` is there."""
    for _ in range(3):
        with suppress(TimedOut):  # it has gone meanwhile
            button.click(timeout=30_000)
        with suppress(AssertionError):
            expect(sign).to_be_visible(timeout=30_000)
            return
    expect(sign).to_be_visible()


def choose(page: Page, label: str, option: str, *, exact: bool = False) -> None:
    """A run that ends may close the list; then it is opened again."""
    for _ in range(20):
        page.get_by_role("combobox", name=label).click()
        with suppress(TimedOut):
            page.get_by_role("option", name=option, exact=exact).click(timeout=3_000)
            return
    raise AssertionError(f"{label} has no option {option}")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        try:
            path = measure.chromium(measure.LIGHT)
            browser = playwright.chromium.launch(executable_path=path, args=measure.ARGUMENTS)
        except BrowserError as error:
            pytest.skip(f"there is no Chromium here: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


BEFORE = pytest.StashKey[list[int]]()  # the sizes of the logs when a test begins
LOGS: list[IO[bytes]] = []  # of the apps that were started here
OPEN = ExitStack()
LONGEST_LOG = 4000  # bytes of each that a failure shows


def started(port: int) -> "subprocess.Popen[bytes]":
    """The app; a test that fails shows what it has logged meanwhile, because its page hides what went wrong."""
    LOGS.append(OPEN.enter_context(TemporaryFile()))  # noqa: SIM115 (the stack closes it)
    return measure.start(port, LOGS[-1])


def _size(log: IO[bytes]) -> int:
    return os.fstat(log.fileno()).st_size


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[BEFORE] = [_size(log) for log in LOGS]
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        before = item.stash.get(BEFORE, [])
        for number, log in enumerate(LOGS):
            begin = max(before[number] if number < len(before) else 0, _size(log) - LONGEST_LOG)
            text = os.pread(log.fileno(), LONGEST_LOG, begin).decode(errors="replace")
            if text:
                report.sections.append((f"Log of app {number + 1}", text))
    return report


def pytest_sessionfinish() -> None:
    OPEN.close()


@contextmanager
def running_app(store: Path, model: str = "") -> Iterator[str]:
    """The address of an app with this store that may open the folder `model`; it is stopped at the end."""
    if "sst2" not in bundle_names():
        pytest.skip("the bundle sst2 is not in assets/bundles")
    port = measure.free_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(STORE_VARIABLE, str(store))
        if model:
            patch.setenv(ROOTS_VARIABLE, str(Path(model).parent))
        app = started(port)
    try:
        measure.wait_for(port)
        yield f"http://127.0.0.1:{port}/"
    finally:
        app.send_signal(signal.SIGINT)
        try:
            app.wait(timeout=ENDING)
        finally:
            app.kill()


@pytest.fixture(scope="session")
def quick_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a model of one layer, which explains a text in a tenth of the time."""
    return str(write_one_layer(tmp_path_factory.mktemp("models") / "one-layer"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, quick_model: str) -> Iterator[str]:
    """The address of the app of all files that ask for none of their own: who needs a run asks about a text that no
    other test asks about."""
    with running_app(tmp_path_factory.mktemp("browser-store"), quick_model) as address:
        yield address


class Visit:
    """One person's window."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("console", self._listen)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _listen(self, line: ConsoleMessage) -> None:
        """Streamlit looks for its server below the page's own address first; that it is not there is no fault."""
        address = line.location["url"]
        probing = "404" in line.text and re.search(r"/\w+/_stcore/", address)
        if line.type == "error" and not probing:
            self.errors.append(f"{line.text} {address}")

    @property
    def rows(self) -> Locator:
        """Of the score sheet, also those behind the names of folded ones."""
        return self.page.locator(".crosslight-sheet [data-method]")

    @property
    def bars(self) -> str:
        """Classes and probabilities, as text."""
        return self.page.locator(".bars").inner_text()

    def done(self) -> "Visit":
        """Waits for the end of the run that is on its way, until all of it is drawn."""
        settled(self.page)  # what was pressed has begun: the buttons of the run before are gone
        self.page.wait_for_function(OVER, polling=LOOK)
        expect(self.page.get_by_role("button", name="Compute again")).to_be_visible()
        expect(self.page.locator('.crosslight-sheet [data-method]:not([data-status="done"])')).to_have_count(0)
        expect(self.rows).not_to_have_count(0)
        settled(self.page)  # the sheet comes after the button, and then the whole page once more
        return self

    def write(self, text: str) -> "Visit":
        box = self.page.get_by_role("textbox", name="Text", exact=True)
        box.fill(text)
        box.press("Control+Enter")
        self.page.wait_for_function(
            """text => [...document.querySelectorAll("*")].some(
                element => element.shadowRoot?.querySelector(".crosslight-sheet .text")?.textContent === text)""",
            arg=text,
            polling=LOOK,
        )
        return self.done()

    def unit(self, word: str, row: int = 0) -> Locator:
        return self.rows.nth(row).locator(".unit").filter(has_text=word).first

    def leaves_nothing_behind(self) -> None:
        outside = [url for url in self.requests if urlsplit(url).hostname not in ("127.0.0.1", None)]
        assert outside == []
        assert self.errors == []


@pytest.fixture
def visit(chromium: Browser, server: str, quick_model: str) -> Iterator[Callable[..., Visit]]:
    """Opens the app in a window of its own; at the end nothing may have gone wrong or out in any of them.

    A text is explained by the model of one layer, where no other is named.
    """
    visits: list[Visit] = []

    def opened(
        url: str = "", *, width: int = 1280, height: int = 900, dark: bool = False, few: bool = True, **address: str
    ) -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            accept_downloads=True,
        )
        window = Visit(context)
        visits.append(window)
        query: dict[str, Any] = dict(FEW) if few else {}
        if "text" in address:  # an example's results are stored with the default number of samples
            query["samples"] = "50"
            if "model" not in address:
                query |= {"model": quick_model, **(QUICK if few else WITHOUT_FITTED)}
        query |= address
        window.page.goto(url or f"{server}?{urlencode(query, doseq=True)}")
        return window

    yield opened
    for visit in visits:
        try:
            visit.leaves_nothing_behind()
        finally:
            visit.context.close()


@pytest.fixture(scope="session")
def screenshots() -> Path:
    SCREENSHOTS.mkdir(exist_ok=True)
    return SCREENSHOTS
