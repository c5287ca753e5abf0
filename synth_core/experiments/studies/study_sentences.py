"""What a study found, in sentences to be read first; the table with its errors stands below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from synth_core.experiments.studies.probability import exceedance, safety
from synth_core.experiments.studies.run_study import StudyOutcome
from synth_core.experiments.studies.study import SAMPLER
from synth_core.experiments.studies.verdicts import Row
from synth_core.mechanisms.catalogue import find_mechanism


def like_in_words(outcome: StudyOutcome, local: dict[str, float]) -> list[str]:
    """For each mechanism whether today's ε would hold for other databases of the kind, one sentence each.

    A last one says why today's ε is not that of Compare, where one is compared.

    Parameters
    ----------
    local : dict
        Delta of the table in use by a point's label, in nats, from `like.local_bounds`.
    """
    sentences, compared = [], False
    for case in outcome.study.cases:
        for point in case.points:
            where = f"{point.label}, {case.key}" if len(outcome.study.cases) > 1 else point.label
            if find_mechanism(point.mechanism).epsilon_by_construction:
                sentences.append(f"{where}: ε is promised for every table, whatever database comes.")
                continue
            bounds = outcome.values(case.key, point.label, "lipschitz_bound")
            today = local.get(point.label, float("nan"))
            if not (np.isfinite(bounds).all() and np.isfinite(today)):
                continue
            compared = True
            above, kept = exceedance(bounds, today), safety(bounds, case.rows)
            beyond = exceedance(bounds, kept.factor * today)
            sentences.append(
                f"{where}: today's ε = {2 * today:.2f} would be exceeded in {above.count} of {above.replicates} "
                f"databases; {kept.factor:g} times it, ε = {2 * kept.factor * today:.2f}, in {beyond.count} of them."
            )
    if compared:
        sampler = SAMPLER | outcome.study.cases[0].settings
        chains = f"{sampler['chains']} chain" + ("s" if sampler["chains"] > 1 else "")
        sentences.append(
            f"Today's ε is computed as that of the databases is, by {chains} of {sampler['draws']:,} draws: on "
            "Compare it may be another."
        )
    return sentences


def rows_in_words(rows: Iterable[Row]) -> list[str]:
    """How many of a paper's quantities agree, and which differ."""
    rows = list(rows)
    count = Counter(row.verdict for row in rows)
    judged = sum(count.values()) - count["shown"]
    if not judged:
        return ["Nothing was published that could be compared: the numbers are shown."]
    words = [f"{count['agrees']} of {judged} quantities agree with what was published"]
    if count["undecided"]:
        words.append(
            f"{count['undecided']} are undecided within the Monte Carlo error (more databases decide)"
        )
    differ = [row.quantity for row in rows if row.verdict == "differs"]
    if differ:
        more = f" and {len(differ) - 3} more" if len(differ) > 3 else ""
        words.append(f"{len(differ)} differ: {'; '.join(differ[:3])}{more}")
    return [", ".join(words) + "."]
