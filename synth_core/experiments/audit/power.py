"""Whether an audit could refute a claim, said before it runs: the largest lower bound that so many runs can give.

How many neighbours and statistics share the error is known only once the runs are there, so there are two bounds: what
could be shown if few do, and what can be shown however many do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from synth_core.experiments.audit.lower_bound import detectable
from synth_core.experiments.audit.neighbour_runs import PARAMETERS
from synth_core.experiments.audit.neighbours import relations_of
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.system import limits
from synth_core.system.number_text import ceiling, floored, rounded_up

NEIGHBOURS = (1, 3)  # that are tried for a line, see `neighbours.worst_records`; of units one more may be
# Of a run, at fewest and at most: of the density ratio, of parameters, and of synthetic values, of categories one.
STATISTICS = (2, 2 + PARAMETERS + 5)
EACH_VARIABLE = 4  # more of the synthetic values of whole records, for each sensitive variable
ROUNDED_TO = 1_000


@dataclass(frozen=True)
class Power:
    """What an audit can say of a claim.

    Attributes
    ----------
    claim : float
        epsilon of one data set.
    surely, at_most : float
        The largest lower bound that can be shown however many share the error, and if few do.
    needed : int or None
        Runs with which a larger lower bound than the claim can surely be shown; None beyond what an audit may take.
    """

    claim: float
    runs: int
    surely: float
    at_most: float
    needed: int | None

    @property
    def words(self) -> str:
        """The power in words, as half a sentence."""
        claim, runs = f"ε = {rounded_up(self.claim, 4)}", f"{self.runs:,} runs"
        if self.claim < self.surely:
            return f"{runs} can test {claim}: a lower bound of up to {floored(self.surely, 1)} can be shown"
        needs = (
            f"needs about {self.needed:,}"
            if self.needed is not None
            else f"even {limits.AUDIT_RUNS[1]:,} would not do"
        )
        if self.claim >= self.at_most:
            return f"too weak to test {claim} with {runs}, which show at most {ceiling(self.at_most, 1)}; {needs}"
        shown = floored(self.surely, 1)
        return f"perhaps too weak to test {claim} with {runs}, which surely show {shown} only; {needs}"


def n_lines(mechanisms: Iterable[Mechanism], frozen: bool, as_set: bool, together: bool = False) -> int:
    """How many lines of an audit share the error: mechanism by source of weights by neighbour relation.

    Parameters
    ----------
    frozen : bool
        Whether there is a risk map frozen on another table.
    as_set : bool
        Whether weights come only from where the settings say; else those from the table itself are audited too.
    together : bool
        As of `relations_of`.
    """
    both = frozen and not as_set
    return sum(
        len(relations_of(mechanism, together)) * (2 if mechanism.weighted and both else 1)
        for mechanism in mechanisms
    )


def power(
    claim: float, runs: int, lines: int, confidence: float = 0.95, variables: int = 1, units: bool = False
) -> Power:
    """What an audit of so many runs on each table can say of a claim.

    Parameters
    ----------
    lines : int
        See `n_lines`; they share 1 - `confidence`.
    variables : int
        How many sensitive variables a record has.
    units : bool
        Whether units of several records are named.

    Examples
    --------
    >>> power(8.0, 2_000, 4).words
    'too weak to test ε = 8 with 2,000 runs, which show at most 5.1; needs about 58,000'
    """
    error = (1 - confidence) / lines

    def reach(n: int, which: int) -> float:
        """Half of the runs choose thresholds; statistics in both directions and neighbours share the error."""
        statistics = STATISTICS[which] + EACH_VARIABLE * (variables - 1)
        tried = NEIGHBOURS[which] + (which if units else 0)
        share = error / tried / (2 * statistics)
        return detectable((n // 2, n // 2), share)

    low, high = 1, limits.AUDIT_RUNS[1] // ROUNDED_TO
    if reach(high * ROUNDED_TO, 1) <= claim:
        return Power(claim, runs, reach(runs, 1), reach(runs, 0), None)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reach(middle * ROUNDED_TO, 1) > claim else (middle + 1, high)
    return Power(claim, runs, reach(runs, 1), reach(runs, 0), low * ROUNDED_TO)
