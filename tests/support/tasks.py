"""Tasks that no worker has to answer."""

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from synth_core.analysis.settings import make_settings
from synth_core.data.table import Table
from synth_core.jobs.task import Task, TaskInput

SETTINGS = make_settings(outcome="pay", model="lognormal")
INPUT = TaskInput.of(Table("nothing", pd.DataFrame({"pay": [1.0, 2.0]})), SETTINGS)


@dataclass(frozen=True, eq=False, kw_only=True)
class NamedTask(Task):
    """A task whose key is its name."""

    given: TaskInput = INPUT
    name: str = "key"

    @cached_property
    def key(self):
        return self.name

    def answer(self, analysis):
        raise AssertionError("nobody computes it")
