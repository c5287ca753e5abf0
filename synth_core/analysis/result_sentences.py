"""A result in sentences: the same on the screen, on the command line and in reports."""

from __future__ import annotations

from synth_core.analysis.joint_measures import measures_in_words
from synth_core.analysis.measures import WORST, error_sentence, far_off_sentence
from synth_core.analysis.population import furthest_in_population, populations_words
from synth_core.analysis.result_numbers import ResultNumbers
from synth_core.analysis.settings import Settings
from synth_core.analysis.wording.belief_sentences import epsilon_number, suspicion
from synth_core.analysis.wording.guarantee_sentences import (
    COVERS,
    OWN_TESTED,
    SEED,
    SHARES,
    about_weights,
    explain,
    local_words,
    promise_words,
    whom_words,
)
from synth_core.data.units import unit_words, values_words
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.guarantees import REPLACED, WITHHELD, Guarantee
from synth_core.models import OwnProgram

ONE_RECORD = "everything sensitive about one record withheld, its row and its predictors kept"


def explained(numbers: ResultNumbers, settings: Settings) -> tuple[Guarantee, list[str]]:
    """The guarantee of a result and its explanation.

    Parameters
    ----------
    settings : Settings
        That the result was made with; of several variables, what all have of them is read.
    """
    mechanism, guarantee = numbers.point, numbers.guarantee
    source = settings.weights_source(mechanism.scheme)
    reads_current = mechanism.reads_current(numbers.tuned, numbers.weights_from)
    unit = settings.unit_column
    if numbers.several and not guarantee.strict:
        lines = [
            *promise_words(guarantee, unit),
            about_weights(mechanism.weighted, source, reads_current),
            f"ε = {epsilon_number(numbers.epsilon)} is for {whom_words(WITHHELD, unit) if unit else ONE_RECORD}, "
            "over all combinations of the variables' draws. What replacing it costs is not measured.",
            SEED,
        ]
    else:
        lines = explain(
            guarantee,
            numbers.epsilon,
            numbers.epsilon_replace,
            numbers.n_datasets,
            mechanism.weighted,
            source,
            reads_current,
            numbers.anchor,
            (
                local_words(numbers.oscillation, numbers.oscillation_joint, _worth(numbers)),
                OWN_TESTED if settings.model == OwnProgram.name and not numbers.several else "",
            ),
            unit,
        )
    if numbers.several:
        lines[1:1] = [f"{COVERS}."] if guarantee.strict and unit is None else []
        lines.append(SHARES)
    if len(numbers.population) > 1:
        lines.append(populations_words(numbers.population))
    if of_unit := unit_words(unit, settings.unit_size):
        each = _each_of_unit(mechanism, settings.unit_size)
        more = f" Read “one record” below as all of them: {each}." if settings.unit_size > 1 else ""
        lines.insert(1, of_unit + more)
    return guarantee, lines


def _each_of_unit(mechanism: Mechanism, size: int) -> str:
    """How the records of a unit come under one epsilon, a clause."""
    likelihood = mechanism.likelihood
    if likelihood.clamps or mechanism.guarantee("closed").neighbour == REPLACED:
        return f"each has ε/{size}"
    return "their terms are added up, draw by draw" if likelihood.samples else "a unit counts as one record"


def _worth(numbers: ResultNumbers) -> float:
    """How many independent draws those of a fit are worth."""
    found = [each.diagnostics for each in numbers.variables if each.diagnostics is not None]
    return min([float(numbers.n_draws), *(size for each in found for size in (each.ess_bulk, each.ess_tail))])


def sentence(
    numbers: ResultNumbers,
    settings: Settings,
    measure: str = WORST,
    standing: Guarantee | None = None,
    under_caption: bool = False,
) -> str:
    """Privacy and accuracy of a result in plain words, for readers who know neither ε nor statistics.

    Parameters
    ----------
    settings : Settings
        As for `explained`.
    measure : str
        Of `analysis.measures`: what accuracy is said by. Of several variables what is said of all columns together
        stands beside it, and by default alone, with a mean or percentile that is off by more than 100 %.
    standing : Guarantee, optional
        What a release promises, where that is less than what its mechanism would.
    under_caption : bool
        Whether a caption above says whose accuracy is shown and whom epsilon is for, once for all results.
    """
    if numbers.problems:
        return f"Not for use: {'a' if numbers.several else 'the'} fit has not converged."
    by_weights = furthest_in_population(numbers.population)
    whose, of_unit = numbers.whose_accuracy, unit_words(settings.unit_column, settings.unit_size)
    if under_caption:
        whose = of_unit = ""
    privacy = privacy_in_words(numbers, standing, values_words(settings.unit_column))
    if numbers.joint is not None:
        accuracy = "" if measure == WORST else error_sentence(numbers, measure)
        return " ".join(
            filter(
                None,
                [
                    _unread(numbers),
                    privacy,
                    whose,
                    accuracy,
                    measures_in_words(numbers.joint),
                    far_off_sentence(numbers, measure),
                    of_unit,
                    by_weights,
                ],
            )
        )
    own = (
        "If its target is what the check of the program found: " if settings.model == OwnProgram.name else ""
    )
    parts = [_unread(numbers), own + privacy, whose, error_sentence(numbers, measure), of_unit, by_weights]
    return " ".join(filter(None, parts))


def _unread(numbers: ResultNumbers) -> str:
    """Of which variables the fit reads no record; empty as a rule."""
    unread = [each for each in numbers.variables if each.n_records and not each.n_read]
    of = f" of {' and '.join(each.name for each in unread)}" if numbers.several else ""
    return (
        f"All weights{of} are 0: nothing was fitted, and values are drawn from the prior." if unread else ""
    )


def privacy_in_words(
    numbers: ResultNumbers, standing: Guarantee | None = None, values: str = values_words(None)
) -> str:
    """What epsilon leaves an intruder, where that follows; `standing` as for `sentence`."""
    guarantee = standing or numbers.guarantee
    searched = numbers.joint is None and numbers.epsilon_replace is not None
    if guarantee.strict or guarantee.given is not None or searched:
        return suspicion(
            guarantee,
            numbers.epsilon,
            numbers.epsilon_replace,
            numbers.n_datasets,
            _weights_of_others(numbers),
            values,
        )
    whole = (
        "all that is sensitive about one record"
        if numbers.several and values == values_words(None)
        else values
    )
    return (
        f"In this table ε = {epsilon_number(numbers.epsilon)} bounds what withholding {whole} changes; not promised "
        "for another table."
    )


def above_target(numbers: ResultNumbers, settings: Settings) -> str:
    """A clause where the measured ε is above the target that the mechanism was given; else empty.

    Scalar weights and truncation aim at the unweighted fit's bounds; the refit has its own.
    """
    mechanism = numbers.point
    aims = (
        "epsilon" in mechanism.tuning
        and not mechanism.epsilon_by_construction
        and "epsilon" not in numbers.tuned
    )
    tolerance = 1 + settings.reweight_tolerance
    if not aims or settings.match_epsilon is not None or numbers.epsilon <= tolerance * settings.epsilon:
        return ""
    return (
        f"its ε of {epsilon_number(numbers.epsilon)} is above the target of {settings.epsilon:g}: the target is met "
        "before the refit, and ε is measured after it. A lower target brings it down."
    )


def _weights_of_others(numbers: ResultNumbers) -> str:
    """Whether the weights of other records move with one that changes, for `suspicion`."""
    mechanism = numbers.point
    if not mechanism.weighted:
        return "fixed"
    source = numbers.weights_from
    if source != "current" and not mechanism.reads_current(numbers.tuned, source):
        return "fixed"
    alone, joint = numbers.oscillation, numbers.oscillation_joint
    return "fixed" if alone is not None and joint is not None and joint <= 1.01 * alone else "held"
