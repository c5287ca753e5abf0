"""How near each release of a series came to its own table, beside what had been charged by then. INTERNAL."""

from __future__ import annotations

from collections.abc import Sequence

from synth_core.mechanisms.composition import DELTA, epsilon_at
from synth_core.release.ledger.balances import Entry, place_of
from synth_core.system.number_text import percent, rounded_up

ABOUT = "Accuracy by release, each beside its own table. INTERNAL: no ε covers it."


def by_release(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """One row for each data set that was released, in their order, as it is shown.

    Parameters
    ----------
    entries : sequence of Entry
        Of one series.
    """
    rows = []
    for entry in entries:
        if entry.kind != "commit":
            continue
        place = place_of(entry.release, list(entries))
        own = sum(e.epsilon for e in entries if e.release == entry.release)
        n, clamped, apart = (entry.details.get(name) for name in ("n", "clamped", "ecdf_max"))
        rows.append(
            {
                "Release": str(place.number),
                "Day": entry.time[:10],
                "Records": "" if n is None else f"{n:,}",
                "Distribution off by": "" if apart is None else f"{100 * apart:.2f} points",
                "Records clamped": "" if clamped is None else percent(clamped),
                "ε": f"{own:g}",
                "ε in all": f"{place.spent:g}" if place.pure else "–",  # some only name a ρ
                f"ε at δ = {DELTA:g}": "–" if place.rho is None else rounded_up(epsilon_at(place.rho), 4),
            }
        )
    return rows
