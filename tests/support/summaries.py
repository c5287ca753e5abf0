"""Summaries of results that no analysis made, and the same with other numbers."""

from dataclasses import replace

from synth_core.analysis.summary import ResultSummary, ecdf_of, privacy_of


def summary(result, outcome):
    """What a screen would show of a result of one variable."""
    return ResultSummary(
        result.summary_numbers, "density", 0, privacy_of(result, several=False), ecdf_of(result, outcome)
    )


def of_numbers(numbers, **more):
    """What a screen would show of plain numbers alone: no curves."""
    return ResultSummary(numbers, "density", 0, **{"privacy": None, "ecdf": None} | more)


def with_numbers(s, **changes):
    """A summary with other plain numbers."""
    return replace(s, numbers=replace(s.numbers, **changes))


def with_variable(s, **changes):
    """A summary of one variable with other plain numbers of it."""
    return with_numbers(s, variables=(replace(s.numbers.variables[0], **changes),))
