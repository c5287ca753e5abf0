"""How near the synthetic table is to the confidential one, as lines of the gate that warn and never refuse.

A refusal makes what is published depend on the draw, at e^epsilon times its probability, and a poor mechanism would be
refused often. So these lines tell whoever decides, and what they find stays inside, their status included.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from synth_core.analysis.any_analysis import AnyAnalysis, R
from synth_core.analysis.check.table_check import TableCheck, check_result
from synth_core.analysis.check.words import groups_words, left_out_words, unlikely_words, variables_words
from synth_core.analysis.population import Population, missing_words
from synth_core.analysis.summary import Closeness
from synth_core.release.output.gate_check import INTERNAL, PASS, WARN, GateCheck

CLOSENESS = ("variables", "combinations", "groups")
PUBLIC = "Compared with the confidential table; what was found stays in the internal report."
ADVICE = (
    "Compare other mechanisms, models, predictors or a larger ε, on a table that may be looked at, and make another "
    "plan. A release that is withheld for this counts as a refusal: it stays charged."
)
ONCE = " Each record counts once here, although accuracy is of the population."
RULES = " What cannot be at all, declare as a rule (codebook, structural zeros): every record then keeps it."


def closeness_checks(
    check: TableCheck, weighted: bool = False, populations: Sequence[Population] = ()
) -> list[GateCheck]:
    """A line for the variables, one for combinations of values, one for groups.

    Parameters
    ----------
    weighted : bool
        Whether all other accuracy goes by survey weights, as these lines never do.
    populations : sequence of Population
        Of these the shares that are missing are told beside those of the records.
    """
    line, once = partial(GateCheck, public=PUBLIC, published=INTERNAL), ONCE if weighted else ""
    far, odd, groups = (
        any(fit.stands_out for fit in check.variables),
        check.unlikely.stands_out,
        bool(check.groups),
    )
    return [
        line(
            "variables",
            "Fit of each variable",
            WARN if far else PASS,
            " ".join(filter(None, [variables_words(check) + once, missing_words(populations)])),
            advice=ADVICE if far else "",
        ),
        line(
            "combinations",
            "Unlikely combinations",
            WARN if odd else PASS,
            unlikely_words(check) + left_out_words(check) + once,
            advice=ADVICE + RULES if odd else "",
        ),
        line(
            "groups",
            "Accuracy of groups",
            WARN if groups else PASS,
            groups_words(check) + once,
            advice=ADVICE if groups else "",
        ),
    ]


def closeness_lines(analysis: AnyAnalysis[R], result: R) -> tuple[Closeness, ...]:
    """The lines of a result that is no release: what each is about, whether it warns, and its finding."""
    check, weighted = check_result(analysis, result), bool(analysis.settings.accuracy_by)
    lines = closeness_checks(check, weighted, result.summary_numbers.population)
    return tuple(Closeness(line.title, line.status == WARN, line.finding) for line in lines)


def closeness_warnings(analysis: AnyAnalysis[R], result: R) -> list[str]:
    """What these lines warn of on the table that settings are tuned on, before anything is charged."""
    return [f"{line.title}: {line.finding}" for line in closeness_lines(analysis, result) if line.warns]
