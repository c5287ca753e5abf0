"""Files of every format, damaged at random: run as a program, it reads them until its time is over.

`python -m tests.support.mutations FORMAT SEED SECONDS` prints the number of each damage before it is read, so that
one which ends the process is known; it fails when something else than an InputError comes out of a reader, or one
reading takes longer than READ_SECONDS.
"""

import gzip
import io
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat

from synth_core.data.table import read_table
from synth_core.errors import InputError

FORMATS = ("csv", "csv.gz", "xlsx", "parquet", "dta", "sav", "zsav", "xpt", "sas7bdat", "packed.sas7bdat")
FILES = (
    Path(__file__).parent / "files"
)  # by ReadStat 1.1.8, since pyreadstat writes no sas7bdat; one of them packed
READ_SECONDS = 20.0
MEMORY = 6 * 1024**3
_SPECIAL = (b"\x00" * 8, b"\xff" * 8, b"\x7f\xff\xff\xff", b"9" * 400, b'"', b",", b"\n", b"\xe2\x80\xae")


def sound(kind: str) -> bytes:
    """A file that can be read."""
    if kind.endswith("sas7bdat"):
        name = "table.sas7bdat.gz" if kind == "sas7bdat" else f"{kind}.gz"
        return gzip.decompress((FILES / name).read_bytes())
    frame = pd.DataFrame(
        {
            "income": np.linspace(10.5, 90.25, 200),
            "sex": ["f", "m"] * 100,
            "code": [1, 2, 3, 4] * 50,
            "day": pd.date_range("2026-01-01", periods=200),
        }
    )
    stream = io.BytesIO()
    if kind == "csv":
        return frame.to_csv(index=False).encode()
    if kind == "csv.gz":
        frame.to_csv(stream, index=False, compression="gzip")
    elif kind == "xlsx":
        frame.to_excel(stream, index=False)
    elif kind == "parquet":
        frame.to_parquet(stream)
    elif kind == "dta":
        frame.to_stata(stream, write_index=False)
    else:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / f"t.{kind}"
            (pyreadstat.write_xport if kind == "xpt" else pyreadstat.write_sav)(frame, str(path))
            return path.read_bytes()
    return stream.getvalue()


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """One to eight damages: bytes changed, cut out, doubled, put in."""
    found = bytearray(content)
    for _ in range(rng.integers(1, 9)):
        if not found:
            break
        at = int(rng.integers(len(found)))
        length = int(rng.integers(1, 1 + min(64, len(found) - at)))
        match rng.integers(6):
            case 0:
                found[at] ^= 1 << int(rng.integers(8))
            case 1:
                found[at : at + length] = rng.bytes(length)
            case 2:
                del found[at : at + length]
            case 3:
                found[at:at] = found[at : at + length] * int(rng.integers(1, 50))
            case 4:
                found[at : at + length] = _SPECIAL[rng.integers(len(_SPECIAL))]
            case _:
                del found[at:]
    return bytes(found)


def main(kind: str, seed: int, seconds: float) -> int:
    """How many were read, refused or broken."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    content = sound(kind)
    read_table(content, f"t.{kind}")
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        print(number, flush=True)
        sample = damaged(content, np.random.default_rng([seed, number]))
        started = time.monotonic()
        try:
            read_table(sample, f"t.{kind}").fingerprint  # noqa: B018
        except InputError as error:
            assert "Traceback" not in str(error)
        assert time.monotonic() - started < READ_SECONDS, "too slow"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
