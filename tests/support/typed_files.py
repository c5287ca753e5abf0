"""Tables in the bytes of each format, for tests."""

import io
import os
import tempfile

import pandas as pd
import pyreadstat

from synth_core.data.readers import ReadOptions
from synth_core.data.table import read_table

WRITERS = {
    ".dta": pyreadstat.write_dta,
    ".sav": pyreadstat.write_sav,
    ".xpt": pyreadstat.write_xport,
}


def file_bytes(suffix, frame, **more):
    stream = io.BytesIO()
    if suffix == ".csv":
        frame.to_csv(stream, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(stream, index=False)
    elif suffix == ".xlsx":
        frame.to_excel(stream, index=False)
    else:
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, f"t{suffix}")
            WRITERS[suffix](frame, path, **more)
            with open(path, "rb") as file:
                return file.read()
    return stream.getvalue()


def typed(suffix, columns, options=ReadOptions(), **more):
    """The table that is read from a file of this format."""
    return read_table(file_bytes(suffix, pd.DataFrame(columns), **more), f"t{suffix}", options)
