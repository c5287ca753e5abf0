"""What the check of a synthetic table says, in words. Every sentence holds numbers of the confidential table."""

from __future__ import annotations

from collections.abc import Iterable

from synth_core.analysis.check.table_check import (
    ABOVE,
    BELOW,
    MOST_RECORDS,
    GroupFit,
    Share,
    TableCheck,
    VariableFit,
)
from synth_core.analysis.check.triples import SAMPLED
from synth_core.analysis.check.unlikely import UnlikelyCombination
from synth_core.analysis.fit_verdict import ROUGHLY_WITHIN
from synth_core.system.number_text import is_or_are, measured, points_at_most

NAMED = 3  # examples in a sentence


def variable_words(fit: VariableFit) -> str:
    """How far a variable is off.

    Examples
    --------
    >>> from synth_core.analysis.check.table_check import Share
    >>> variable_words(VariableFit("pay", 0.0731, 0.05, (Share("below zero", 0.0013, 0.074),)))
    'pay off by 7.4 points; below zero: 7.4 %, and 0.13 % of the confidential records'
    >>> variable_words(VariableFit("pay", 0.03, 0.05, (Share(ABOVE, 0.0, 0.012),)))
    'pay off by 3.0 points; above the largest confidential value: 1.2 %'
    >>> variable_words(VariableFit("rating", 0.138, 0.21, ()))
    'rating off by 13.8 points, no more than chance may give'
    >>> variable_words(VariableFit("pay", 0.03, 0.05, (), (423.6, 94965.0)))
    'pay off by 3.0 points; its mean is 94,965, and 423.6 of the confidential records'
    """
    shares = (
        f"{share.name}: {percent(share.synthetic)}"
        + ("" if _beyond(share) else f", and {percent(share.confidential)} of the confidential records")
        for share in fit.shares
    )
    means = [] if fit.means is None else [_means_words(*fit.means)]
    chance = ", no more than chance may give" if ROUGHLY_WITHIN < fit.distance <= fit.limit else ""
    return "; ".join([f"{fit.name} off by {points_at_most(fit.distance)} points{chance}", *means, *shares])


def _beyond(share: Share) -> bool:
    """Whether it is of values beyond the confidential ones, of which these have none."""
    return share.name in (BELOW, ABOVE)


def _means_words(confidential: float, synthetic: float) -> str:
    return f"its mean is {measured(synthetic)}, and {measured(confidential)} of the confidential records"


def variables_words(check: TableCheck) -> str:
    """How far each variable is off, those that stand out first."""
    fits = sorted(check.variables, key=lambda fit: (not fit.stands_out, -fit.distance))
    return ". ".join(map(variable_words, fits)) + "."


def unlikely_words(check: TableCheck) -> str:
    """The most frequent unlikely combinations."""
    found = check.unlikely
    sampled = (
        f" Sets of three are counted on {SAMPLED:,} records of a table, at random: it has more."
        if found.n_triples and found.triples_sampled
        else ""
    )
    if not found.combinations:
        three = f" and {found.n_triples:,} sets of three" if found.n_triples else ""
        return (
            f"None is far more frequent than in the confidential table, beyond chance: {found.n_pairs:,} pairs of "
            f"columns{three}.{sampled}"
        )
    return (
        f"{percent(found.share)} of the synthetic records, and {percent(found.confidential_share)} of the confidential "
        "ones, have a combination of values that hardly occurs in the confidential table, such as: "
        f"{'; '.join(map(combination_words, found.combinations[:NAMED]))}.{sampled}"
    )


def combination_words(each: UnlikelyCombination) -> str:
    """An unlikely combination.

    Examples
    --------
    >>> each = UnlikelyCombination("AGE", "below 14", "EDU", ("12", "11"), 0.32, 0.0, 0.06, 0, 600.0)
    >>> combination_words(each)
    'of those with AGE below 14, 32 % have EDU 12 or 11 (0 % of the confidential ones)'
    """
    return (
        f"of those with {each.given} {each.given_value}, {percent(each.share)} have {each.column} "
        f"{listed(each.values)} ({percent(each.confidential_share)} of the confidential ones)"
    )


def groups_words(check: TableCheck) -> str:
    """The groups that are furthest off."""
    sampled = (
        f" Groups are compared on {MOST_RECORDS:,} records of a table, at random: it has more."
        if check.groups_sampled
        else ""
    )
    if not check.n_groups:
        return f"No group has enough records.{sampled}"
    if not check.groups:
        return f"All {check.n_groups:,} groups are within 10 points, or within chance.{sampled}"
    return (
        f"{len(check.groups):,} of {check.n_groups:,} groups {is_or_are(len(check.groups))} off by more than "
        f"10 points, such as: {'; '.join(map(group_words, check.groups[:NAMED]))}.{sampled}"
    )


def group_words(each: GroupFit) -> str:
    """A group and its error."""
    return f"{each.name} of those with {each.column} {each.value} by {100 * each.distance:.0f} points"


def left_out_words(check: TableCheck) -> str:
    """Which columns were not compared; empty if all were."""
    return f" Not compared by {listed(check.left_out)}: too many values." if check.left_out else ""


def listed(values: Iterable[str], most: int = 4) -> str:
    """Some values in words.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed("abcdefg")
    ('a', 'a or b', 'a, b, c or 4 more')
    """
    known = list(values)
    comma = "; " if any("," in value for value in known) else ", "
    if len(known) > most:
        known = [*known[: most - 1], f"{len(known) - most + 1} more"]
    return known[0] if len(known) == 1 else f"{comma.join(known[:-1])} or {known[-1]}"


def percent(share: float) -> str:
    """A share with two digits that count.

    Examples
    --------
    >>> percent(0.0), percent(0.00126), percent(0.0737), percent(0.318), percent(1.0)
    ('0 %', '0.13 %', '7.4 %', '32 %', '100 %')
    """
    return f"{float(f'{100 * share:.2g}'):g} %"
