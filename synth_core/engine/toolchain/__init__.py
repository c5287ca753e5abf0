"""Finds, installs or assembles CmdStan, and compiles Stan programs into the user's cache."""

from synth_core.engine.toolchain.find import ensure_cmdstan, find_cmdstan, from_registry
from synth_core.engine.toolchain.programs import (
    compile_program,
    compile_programs,
    executable_path,
    is_compiled,
)

__all__ = [
    "compile_program",
    "compile_programs",
    "ensure_cmdstan",
    "executable_path",
    "find_cmdstan",
    "from_registry",
    "is_compiled",
]
