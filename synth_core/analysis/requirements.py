"""What anchors need: what was declared of a family (a guess, categories, edges of brackets), and other units."""

from __future__ import annotations

from synth_core.analysis.settings import Settings
from synth_core.data.table import Table
from synth_core.data.units import check_apart
from synth_core.errors import InputError
from synth_core.mechanisms.catalogue import Mechanism
from synth_core.mechanisms.likelihoods import SERIES_ANCHORS
from synth_core.models import Model

UNSAID = (0.0, 1.0)  # the guess of a family that knows without one


def require_pilot(model: Model | type[Model], s: Settings) -> None:
    """Refuse a pilot that has no guess to start from; raises InputError."""
    if not model.takes_guess:
        raise InputError(
            f"{model.label}: a pilot starts from a guess, and it takes none. Name another anchor: a public table "
            f"(public:FILE), data that were released before (release:FILE), an earlier table (FILE, or the "
            f"reference), or values of its parameters (values:FILE); for the first release of a series, the "
            f"values or the reference."
        )
    if s.guess is None and model.needs_guess:
        raise InputError(
            "A pilot starts from a guess, made without looking at the table: between what half of all values lie "
            "(on the left of Compare, on the command line --guess TYPICAL SPREAD). Or name another anchor."
        )


def require_anchor(model: Model, s: Settings) -> None:
    """Refuse an anchor that cannot be, as far as no record tells: a family without one, a guess that is none."""
    model.require_anchor()
    if s.anchor == "pilot":
        require_pilot(model, s)
        model.guess(*(s.guess or UNSAID), s.guess_zeros)


def require_counting(model: Model | type[Model], s: Settings) -> None:
    """Refuse noisy counts of what has neither categories nor brackets to count by; raises InputError."""
    if model.uses & {"categories", "bracket_edges"}:
        return
    if model.discrete:
        raise InputError(
            f"{model.label}: noisy counts are of declared categories, or of brackets of amounts. Take another anchor."
        )
    if not s.bracket_edges and (s.guess is None or not model.takes_guess):
        raise InputError(
            f"{model.label}: noisy counts of an amount are of brackets. Declare their edges (--bracket-edges)"
            + (", or a guess that makes them (--guess)." if model.takes_guess else ".")
        )


def require_units_apart(
    table: Table, settings: Settings, reference: object | None, anchor: Table | None
) -> None:
    """Refuse a reference or an anchor that has records of the units of the table; raises InputError.

    Released and public data may: they were paid for, or may be known.
    """
    paid = settings.anchor in SERIES_ANCHORS or settings.anchor.startswith(("release:", "public:"))
    for other, what in ((reference, "reference"), (None if paid else anchor, "anchor")):
        if isinstance(other, Table) and settings.unit_column is not None:
            check_apart(table, other, settings.unit_column, what)


def require_survey_weights(mechanism: Mechanism) -> None:
    """Refuse what is not known to compose with survey weights in the likelihood; raises InputError with the reason."""
    if mechanism.adjustments:
        raise InputError(
            f"{mechanism.label}: truncation and re-weighting are solved on the fit without survey weights, and say "
            "nothing of the product with them. Take a mechanism without them, or declare no total (--weight-total)."
        )
    if mechanism.standard.of_range:
        raise InputError(
            f"{mechanism.label}: no proof covers a sensitive range with survey weights in the likelihood. Take a "
            "mechanism of the whole range, or declare no total (--weight-total)."
        )


def require_units(mechanism: Mechanism, settings: Settings) -> None:
    """Refuse sensitive ranges where a unit has several records; raises InputError."""
    if settings.unit_column is not None and mechanism.standard.of_range:
        raise InputError(
            f"{mechanism.label}: a sensitive range is of one record's value, and says nothing of a unit of several. "
            "Take a mechanism of the whole range; or name no units (--unit-column)."
        )
