"""What the codebook declares of the sensitive variable becomes a choice, so that it is not asked again."""

from __future__ import annotations

from typing import Any

from synth_core.data.codebook import declared_categories
from synth_core.data.declared import declared_settings
from synth_core.ui.state import session


def take_declared() -> None:
    """Declared categories, or bounds, where none were chosen.

    Those of another variable, which was described before, count as none. Called before the page's widgets.
    """
    choices, codebook = session.choices(), session.current().table.codebook
    s = choices.settings
    given = declared_settings(codebook, s.outcome, s.model)
    others = [entry for entry in codebook.columns if entry.column != s.outcome]
    changed = choices
    if "categories" in given and s.categories in ((), *map(declared_categories, others)):
        changed = changed.with_settings(categories=given["categories"])
    chosen = (choices.lower_bound, choices.upper_bound)
    if "bounds" in given and chosen in ((None, None), *(entry.bounds for entry in others)):
        low, high = given["bounds"]
        update: dict[str, Any] = {"lower_bound": low, "upper_bound": high}
        changed = changed.model_copy(update=update)
    if changed != choices:
        session.change(changed, undoable=False)
