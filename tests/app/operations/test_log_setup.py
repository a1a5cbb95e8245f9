import logging
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = """
import logging
from app.server.lifetime import set_up_log
set_up_log(); set_up_log()
{rest}
"""


def errors(rest: str, **variables: str) -> list[str]:
    """What a fresh process writes to its standard error."""
    command = [sys.executable, "-c", SCRIPT.format(rest=rest)]
    done = subprocess.run(command, cwd=ROOT, env={"PATH": "", **variables}, capture_output=True, text=True, check=True)
    return done.stderr.splitlines()


def test_a_line_is_written_once_with_its_time() -> None:
    (line,) = errors("logging.getLogger('app.compare.engine').info('run %s', 'model=sst2')")
    assert line[:2] == "20"
    assert line.endswith(" INFO    crosslight app.compare.engine: run model=sst2")


def test_where_the_root_has_a_handler_a_line_is_written_by_that_one_alone() -> None:
    rest = "logging.basicConfig(format='root %(message)s'); logging.getLogger('explainers.x').warning('once')"
    assert errors(rest) == ["root once"]


@pytest.mark.parametrize(("level", "lines"), [("debug", 3), ("", 2), ("WARNING", 1), ("ERROR", 0)])
def test_the_level_is_that_of_the_variable(level: str, lines: int) -> None:
    rest = "log = logging.getLogger('app.x'); log.debug('1'); log.info('2'); log.warning('3')"
    assert len(errors(rest, **({"CROSSLIGHT_LOG": level} if level else {}))) == lines


def test_a_level_that_is_none_is_named_once() -> None:
    (line,) = errors("", CROSSLIGHT_LOG="loud")
    assert line.endswith("CROSSLIGHT_LOG is 'LOUD'. Choose one of: DEBUG, INFO, WARNING, ERROR.")


def test_nobody_can_write_lines_of_their_own_into_the_log() -> None:
    (line,) = errors(r"logging.getLogger('app.x').info('a\n2026 ERROR\x1b[31m\u2028b')")
    assert line.endswith(r"a\n2026 ERROR\x1b[31m\u2028b")


def test_a_traceback_keeps_its_lines() -> None:
    lines = errors("try: 1/0\nexcept Exception: logging.getLogger('app.x').exception('it failed')")
    assert lines[1] == "Traceback (most recent call last):"


def test_tests_still_capture_what_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    from app.server.lifetime import OwnHandler, set_up_log

    set_up_log()
    try:
        logging.getLogger("app.x").info("captured")
    finally:
        for name in ("app", "explainers"):
            logger = logging.getLogger(name)
            logger.setLevel(logging.NOTSET)
            logger.handlers = [handler for handler in logger.handlers if not isinstance(handler, OwnHandler)]
    assert caplog.messages == ["captured"]
