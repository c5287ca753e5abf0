"""Every study that is known by name: the papers' and those of our own designs."""

from __future__ import annotations

from collections.abc import Callable

from synth_core.data.table import Table
from synth_core.errors import InputError
from synth_core.experiments.studies.named_study import NamedStudy
from synth_core.experiments.studies.study import Study
from synth_core.replication.designs import DESIGNS
from synth_core.replication.papers import PAPERS

Load = Callable[[str], Table]  # a path or example:NAME to a table

NAMED_STUDIES: dict[str, NamedStudy] = {named.name: named for named in (*PAPERS, *DESIGNS)}
OURS = frozenset(named.name for named in DESIGNS)


def build(name: str, data: str | None, load: Load) -> tuple[NamedStudy, Study]:
    """A named study, and the study that it builds; raises InputError if the name or the data will not do."""
    if name not in NAMED_STUDIES:
        raise InputError(
            f"There is no study '{name}'; there are: {', '.join(NAMED_STUDIES)}, and like (on a table of yours)."
        )
    named = NAMED_STUDIES[name]
    if named.needs and data is None:
        raise InputError(
            f"The study {name} needs the file {named.needs}, which does not come with the app: "
            f"--data PATH/{named.needs}"
        )
    if not named.needs and data is not None:
        raise InputError(f"The study {name} takes no --data: its design is fixed.")
    return named, named.build(load(data) if data is not None else None)
