"""What can go wrong for a reader of the app or of the command line; each message is one sentence to show as it is."""


class ExplanationError(Exception):
    """Something the person can understand and mend: the message says what came, what was possible and what to do."""


class ModelUnavailable(ExplanationError):
    """The model does not exist, or its files are missing or damaged."""


class DataUnavailable(ExplanationError):
    """A data set is missing or not in the format its authors publish."""


class Cancelled(ExplanationError):
    """The person stopped the run."""
