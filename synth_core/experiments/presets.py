"""Every study that is known by name: the papers' and those of our own designs."""

from __future__ import annotations

from collections.abc import Callable

from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.designs import DESIGNS
from synth_core.experiments.papers import PAPERS
from synth_core.experiments.studies.preset import Preset
from synth_core.experiments.studies.study import Study

Load = Callable[[str], Table]  # a path or example:NAME to a table

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (*PAPERS, *DESIGNS)}
OURS = frozenset(preset.name for preset in DESIGNS)


def build(name: str, data: str | None, load: Load) -> tuple[Preset, Study]:
    """A preset and its study; raises InputError if the name or the data will not do."""
    if name not in PRESETS:
        raise InputError(
            f"There is no study '{name}'; there are: {', '.join(PRESETS)}, and like (on a table of yours)."
        )
    preset = PRESETS[name]
    if preset.needs and data is None:
        raise InputError(
            f"The study {name} needs the file {preset.needs}, which does not come with the app: "
            f"--data PATH/{preset.needs}"
        )
    if not preset.needs and data is not None:
        raise InputError(f"The study {name} takes no --data: its design is fixed.")
    return preset, preset.build(load(data) if data is not None else None)
