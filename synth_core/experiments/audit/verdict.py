"""What a lower bound says about a claim, in words."""

from __future__ import annotations

from synth_core.analysis.records.result import RecordsResult
from synth_core.analysis.result import Result
from synth_core.experiments.audit.neighbours import REMOVED
from synth_core.mechanisms.catalogue import Mechanism

CURRENT = "current table"  # where the weights of a line come from
CONSISTENT = "consistent with the claim"
VIOLATED = "claim violated"
EXCEEDED = "local claim exceeded"
BEYOND = "beyond this audit"
NOT_JUDGED = "not judged"

DRAW_HELD = (
    "The draw that the fit is anchored at is held: what it tells of the records that it read was not audited, only the "
    "fit around it."
)
ASYMPTOTIC = "The claim is local: it is measured on this table, with all weights held."
CURRENT_WEIGHTS = (
    "The weights come from the table itself, so a neighbour has other weights for all records; no claim covers "
    "that."
)
CURRENT_PART = (
    "Re-weighting or range averaging reads the table itself, though the risk map is frozen, so a neighbour has other "
    "weights for all records; no claim covers that."
)


def judge(
    result: Result | RecordsResult,
    relation: str,
    source: str,
    claimed: float,
    epsilon_lower: float,
    detectable: float,
    problems: list[str],
) -> tuple[str, str]:
    """The verdict of a line and its reason.

    Parameters
    ----------
    result : Result or RecordsResult
        The mechanism's, on the table.
    source : str
        Where the weights come from.
    detectable : float
        The largest lower bound that the runs could have given.
    problems : list of str
        Why a fit should not be used.
    """
    mechanism, guarantee = result.point, result.guarantee
    from_table = mechanism.weighted and source == CURRENT
    weights_from = result.summary_numbers.weights_from
    local = mechanism.weighted and (from_table or mechanism.reads_current(result.tuned, weights_from))
    notes = []
    if guarantee.strength == 1 and not mechanism.epsilon_by_construction:
        notes.append(ASYMPTOTIC)
    elif guarantee.strength == 0:
        notes.append("Nothing is claimed: ε = 2Δ is what was measured on this table.")
    if local:
        notes.append(CURRENT_WEIGHTS if from_table else CURRENT_PART)
    if problems:
        return NOT_JUDGED, f"A fit has not converged: {problems[0]}."
    unclaimed = _not_claimed(mechanism, relation)
    if unclaimed:
        return NOT_JUDGED, unclaimed
    if epsilon_lower > claimed:
        if guarantee.strict and not local:
            said = (
                "The mechanism does not do what it claims: do not release with it before the cause is found."
            )
        else:
            said = "The number shown does not hold between these neighbours: do not promise it."
        remedy = (
            "Freeze the risk map on another table." if from_table else "A release plan freezes that part too."
        )
        verdict = VIOLATED if guarantee.strength and not local else EXCEEDED
        return verdict, " ".join([said, *notes, *([remedy] if local else [])])
    if claimed >= detectable:
        return BEYOND, " ".join(
            ["With so many runs no audit could have refuted a claim as large as this.", *notes]
        )
    return CONSISTENT, " ".join(notes)


def _not_claimed(mechanism: Mechanism, relation: str) -> str:
    """Why the claim is not about such a neighbour; empty where it is."""
    standard = mechanism.standard
    return standard.unclaimed or (standard.unclaimed_removed if relation == REMOVED else "")
