"""A CmdStan-compatible toolchain from the package registry alone.

The wheel `httpstan` carries Stan's and Math's headers, Boost, Eigen, Sundials, TBB and a
native stanc. `driver.cpp` adds CmdStan's command line, `model.mk` its makefile. This package needs the
standard library only: `make setup` assembles the toolchain while pip installs the requirements.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from synth_core.errors import FitError
from synth_core.system import files

HERE = Path(__file__).parent
HTTPSTAN_VERSION = "4.17.0"
STAN_VERSION = "2.39.0"
# One wheel serves every Python: its extension module is not used.
WHEEL_PYTHON = "3.12"
# By system and processor: pip's name of the platform, and the wheel's sha256. All have the same headers.
WHEELS = {
    ("Linux", "x86_64"): (
        "manylinux2014_x86_64",
        "7f73e29a415718ddc45e4703c0253a9d4adc6a21aa7110ccf36821a0f94202cd",
    ),
    ("Darwin", "arm64"): (  # untested: there was no such machine
        "macosx_14_0_arm64",
        "ce276d71c7bfe82f1c3f84f19a472dbccbbd3f23b265f7d09b68dd611457fad3",
    ),
}
COMPILER_BYTES = 3 * 1024**3  # that one compiler may take; the mixture takes 2.7 GB


def assembled_name() -> str:
    """The directory's name: the version, and a key of the sources that it is made of."""
    digest = hashlib.sha256(HTTPSTAN_VERSION.encode())
    for name in ("driver.cpp", "model.mk"):
        digest.update((HERE / name).read_bytes())
    return f"cmdstan-{STAN_VERSION}-registry-{digest.hexdigest()[:10]}"


def compiler() -> str:
    """The C++ compiler's command (CXX, else g++)."""
    return os.environ.get("CXX") or "g++"


def require_tools() -> None:
    """Refuse to build anything without make and a compiler; raises FitError naming the packages."""
    missing = [name for name in ("make", compiler()) if shutil.which(shlex.split(name)[0]) is None]
    if missing:
        raise FitError(
            f"Stan programs cannot be compiled here: {' and '.join(missing)} not found. Install what is missing (on "
            "Debian or Ubuntu: sudo apt-get install -y g++ make), then run it again."
        )


def parallel_compilers() -> int:
    """How many compilers run at a time: one for each core, if there is memory for them."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return max(1, min(os.cpu_count() or 1, memory // COMPILER_BYTES))


def wheel() -> tuple[str, str] | None:
    """The wheel for this machine, as in `WHEELS`; None where the registry has none."""
    return WHEELS.get((platform.system(), platform.machine()))


def _download(directory: Path, platform_name: str, sha256: str) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--disable-pip-version-check",
        "--only-binary=:all:",
        "--python-version",
        WHEEL_PYTHON,
        "--platform",
        platform_name,
        f"httpstan=={HTTPSTAN_VERSION}",
        "--dest",
        str(directory),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(directory.glob("*.whl"))
    if done.returncode or not wheels:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise FitError(
            f"pip could not download httpstan {HTTPSTAN_VERSION}, which carries Stan: "
            f"{last}. Check that the package registry (or its mirror) is reachable, or set "
            f"SYNTH_TOOLCHAIN=official for the official CmdStan."
        )
    if hashlib.sha256(wheels[0].read_bytes()).hexdigest() != sha256:
        raise FitError(
            f"The downloaded httpstan {HTTPSTAN_VERSION} is not the file that was "
            f"tested (its sha256 differs); it was not used."
        )
    return wheels[0]


def assemble(directory: Path, report: Callable[[str], None] = lambda text: None) -> Path:
    """Build the toolchain under `directory` and return its path (about a minute, once).

    Raises
    ------
    FitError
        On an unsupported platform, or if a download or a compilation fails.
    """
    wheels = wheel()
    if wheels is None:
        raise FitError(
            "CmdStan was not found, and it can be assembled from the package registry on Linux x86-64 and "
            "macOS arm64 only. Install CmdStan and set CMDSTAN to its directory."
        )
    target = directory / assembled_name()
    if (target / "makefile").is_file():
        return target
    require_tools()
    try:
        return _build(target, wheels, report)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise FitError(
            files.explain(error, "The Stan toolchain", "name another cache directory in SYNTH_CACHE_DIR")
        ) from None


def _build(target: Path, wheel: tuple[str, str], report: Callable[[str], None]) -> Path:
    directory = target.parent
    shutil.rmtree(target, ignore_errors=True)  # an interrupted build
    (target / "bin").mkdir(parents=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=directory) as scratch:
        report(f"downloading Stan {STAN_VERSION} from the package registry (35 MB)")
        archive_file = _download(Path(scratch), *wheel)
        report("unpacking")
        with zipfile.ZipFile(archive_file) as archive:
            wanted = [
                name
                for name in archive.namelist()
                if name.startswith(("httpstan/include/", "httpstan/lib/")) or name == "httpstan/stanc"
            ]
            archive.extractall(scratch, wanted)
        source = Path(scratch) / "httpstan"
        shutil.move(source / "include", target / "include")
        shutil.move(source / "lib", target / "lib")
        shutil.move(source / "stanc", target / "bin" / "stanc")
    os.chmod(target / "bin" / "stanc", 0o700)
    shutil.copy(HERE / "driver.cpp", target)
    makefile = (HERE / "model.mk").read_text().replace("@VERSION@", STAN_VERSION)
    if platform.system() == "Darwin":  # its linker does not know this option
        makefile = makefile.replace("-Wl,--as-needed ", "")
    # The makefile is put in place last: without it the toolchain does not count as present.
    (target / "unfinished.mk").write_text(makefile)
    report("compiling what all models share (about a minute)")
    done = subprocess.run(
        ["make", "-f", "unfinished.mk", f"-j{parallel_compilers()}", "build"],
        cwd=target,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise FitError("The C++ compiler failed on the Stan driver:\n" + done.stderr[-2000:])
    os.replace(target / "unfinished.mk", target / "makefile")
    return target
