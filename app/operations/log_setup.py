"""The log of the app: lines with time on the standard error, as Streamlit writes its own."""

import logging
import os
import re
from typing import Any

LEVEL_VARIABLE = "CROSSLIGHT_LOG"
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
NAMES = ("app", "explainers")  # the loggers of all our modules are below these
FORMAT = "%(asctime)s %(levelname)-7s crosslight %(name)s: %(message)s"
CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class OneLine(logging.Formatter):
    """A message is one line, whatever a library or a person has put into it; a traceback follows below it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = CONTROLS.sub(lambda sign: repr(sign.group())[1:-1], record.message)
        return super().formatMessage(record)


class OwnHandler(logging.StreamHandler[Any]):
    """Silent where the root has handlers, to which each record goes all the same: no line is written twice."""

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)


def set_up_log() -> None:
    """Set the log up, once however often it is called; the level is that of CROSSLIGHT_LOG, else INFO."""
    wanted = os.environ.get(LEVEL_VARIABLE, "INFO").strip().upper()
    for name in NAMES:
        logger = logging.getLogger(name)
        logger.setLevel(wanted if wanted in LEVELS else "INFO")
        if any(isinstance(handler, OwnHandler) for handler in logger.handlers):
            continue
        handler = OwnHandler()
        handler.setFormatter(OneLine(FORMAT))
        logger.addHandler(handler)
        if wanted not in LEVELS and name == NAMES[0]:
            logger.warning("%s is %r. Choose one of: %s.", LEVEL_VARIABLE, wanted, ", ".join(LEVELS))
