"""The analyst's own Stan program as a model: its contract, and the limits under which it runs.

`source` reads a program without running it, `sandbox` says whether it may run, `model` is the
family, `contract` checks what the program promises.
"""

from synth_core.models.own.model import OwnProgram

__all__ = ["OwnProgram"]
