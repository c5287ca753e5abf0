"""The ways a request can end without a result, each with words for the user."""


class InputError(ValueError):
    """Something the user gave cannot be used.

    The message names the column, the row and the rule, and never a confidential value.
    """


class FitError(RuntimeError):
    """The sampler did not return usable draws. The message says what to try."""


class Cancelled(RuntimeError):
    """The work was cancelled on request."""
