"""What can go wrong for a reader of the app or of the command line; each message is one sentence to show as it is."""

import re

FOLDERS = re.compile(  # of an absolute path; in quotes, spaces belong to its names
    r"""(?<=['"`])(?:~[\w.-]*)?/(?:[^'"`/\n]+/)+"""
    r"""|(?<![\w.:/~…-])(?:~[\w.-]*)?/(?:[^\s'"`/]+/)+"""
    r"""|\b[A-Za-z]:\\(?:[^'"`\\\n]+\\)+"""
)


class ExplanationError(Exception):
    """Something the person can understand and mend: the message says what came, what was possible and what to do."""


class ModelUnavailable(ExplanationError):
    """The model does not exist, or its files are missing or damaged."""


class DataUnavailable(ExplanationError):
    """A data set is missing or not in the format its authors publish."""


class Cancelled(ExplanationError):
    """The person stopped the run."""


def without_folders(text: str) -> str:
    """With the last part alone of every absolute path, whoever wrote it."""
    return FOLDERS.sub("…/", text)
