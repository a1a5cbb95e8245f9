"""What a session makes of what its tab sees; the tab is played by a list of scenes."""

import asyncio
from collections.abc import Callable

import pytest

from app.load.client import Sheet
from app.load.measure import Ended, compared

TEXT = "good film"


class ScriptedTab:
    """Each message lets the next scene happen."""

    def __init__(self, *scenes: Callable[["ScriptedTab"], None]) -> None:
        self.scenes = list(scenes)
        self.sheet: Sheet | None = None
        self.errors: list[str] = []
        self.error_boxes: list[str] = []
        self.sentences: list[str] = []

    async def hear(self, seconds: float) -> None:
        if self.scenes:
            self.scenes.pop(0)(self)
        else:
            await asyncio.sleep(seconds)


def sheet(*statuses: str, text: str = TEXT) -> Callable[[ScriptedTab], None]:
    failures = tuple("LIME: no weights" for status in statuses if status == "failed")
    return lambda tab: setattr(tab, "sheet", Sheet(0.0, text, statuses, failures))


def says(*sentences: str, alarm: bool = False) -> Callable[[ScriptedTab], None]:
    def scene(tab: ScriptedTab) -> None:
        tab.sentences += sentences
        tab.error_boxes += sentences if alarm else ()

    return scene


def ended(*scenes: Callable[[ScriptedTab], None]) -> Ended:
    async def play() -> Ended:
        since = asyncio.get_running_loop().time()
        return await compared(ScriptedTab(*scenes), TEXT, since=since, patience=0.05)  # type: ignore[arg-type]

    return asyncio.run(play())


def test_the_first_column_and_all_columns_are_timed() -> None:
    result = ended(sheet("waiting", "waiting"), sheet("done", "running"), sheet("done", "done"))
    assert result.end == "done"
    assert 0 <= (result.first or 0) <= (result.last or 0)


def test_columns_of_the_text_before_do_not_count() -> None:
    assert ended(sheet("done", text="the text before")).end == "late"


@pytest.mark.parametrize(
    ("scenes", "end", "sentence"),
    [
        ([sheet("done", "failed")], "failed", "LIME: no weights"),
        ([lambda tab: tab.errors.append("ValueError: no")], "failed", "ValueError: no"),
        ([sheet("stopped"), says("The model is not available.", alarm=True)], "failed", "Stopped without a reason."),
        ([says("The model is not available.", alarm=True)], "failed", "The model is not available."),
        ([says("Words.", "The server is busy with 9 comparisons. Try again in a moment.")], "refused", "busy"),
        ([sheet("waiting")], "late", "Not done after"),
    ],
    ids=["a failed column", "an exception", "stopped", "an error box", "refused", "too slow"],
)
def test_how_it_ends(scenes: list[Callable[[ScriptedTab], None]], end: str, sentence: str) -> None:
    result = ended(*scenes)
    assert result.end == end
    assert sentence in result.sentences[0]
