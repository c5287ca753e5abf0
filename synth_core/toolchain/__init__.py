"""Finds, installs or assembles CmdStan, and compiles Stan programs into the user's cache."""

from synth_core.toolchain.find import ensure_cmdstan, find_cmdstan
from synth_core.toolchain.programs import compile_program, executable_path

__all__ = ["compile_program", "ensure_cmdstan", "executable_path", "find_cmdstan"]
