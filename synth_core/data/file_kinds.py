"""What kind of file it is, by its name and its first bytes: another kind than a reader's is said with the way out."""

from __future__ import annotations

from synth_core.errors import InputError

_SPREADSHEET = "Open it in a spreadsheet program, and save the sheet as .xlsx or CSV."
_PROGRAM = "Save the table as CSV or Parquet in the program that wrote it."
_UNPACK = "Unpack it, and load the table that is in it."
# What to do with a file whose ending says that it is none of those that are read.
_WAYS_OUT = {
    ".xls .xlsm .xlsb .ods .numbers .wk1 .dif .slk": _SPREADSHEET,
    ".por .sps": "Open it in SPSS or PSPP, and save it as .sav; or in R, by haven's read_por and write_sav.",
    ".sas7bcat": "It holds the labels of another file's codes and no table: load the .sas7bdat, and give the labels "
    "in a codebook.",
    ".stc .cpt .stx": "Save the table as .xpt, .sas7bdat or CSV in SAS.",
    ".rds .rda .rdata": "In R, write the table by write.csv or arrow's write_parquet.",
    ".pkl .pickle .feather .arrow .h5 .hdf5 .orc": "In pandas, write it by to_csv or to_parquet.",
    ".zip .7z .rar .tar .tgz .bz2 .xz .zst": _UNPACK,
    ".json .xml .html .htm .pdf .doc .docx .dbf .mdb .accdb .sqlite .db": _PROGRAM,
}
# First bytes, what a file is that begins so, the endings that fit, and what to do where it has another one.
_RENAME = "Give its name the ending {}."
_BEGINNINGS: tuple[tuple[bytes, str, tuple[str, ...], str], ...] = (
    (
        b"PK\x03\x04",
        "a workbook or another archive",
        (".xlsx",),
        "Give its name the ending .xlsx, or unpack it.",
    ),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook, or one with a password", (), _SPREADSHEET),
    (b"PAR1\x15", "a Parquet file", (".parquet",), _RENAME.format(".parquet")),
    (b"$FL2@(#)", "an SPSS file", (".sav", ".zsav"), _RENAME.format(".sav")),
    (b"$FL3@(#)", "an SPSS file", (".sav", ".zsav"), _RENAME.format(".zsav")),
    (b"<stata_dta>", "a Stata file", (".dta",), _RENAME.format(".dta")),
    (b"HEADER RECORD*******", "a SAS transport file", (".xpt",), _RENAME.format(".xpt")),
    (b"\x1f\x8b", "packed by gzip", (".gz",), _RENAME.format(".gz")),
    (b"BZh91AY&SY", "an archive", (), _UNPACK),
    (b"\xfd7zXZ", "an archive", (), _UNPACK),
    (b"7z\xbc\xaf", "an archive", (), _UNPACK),
    (b"\x28\xb5\x2f\xfd", "an archive", (), _UNPACK),
    (b"%PDF-", "a PDF", (), _PROGRAM),
    (b"SQLite format 3\x00", "a database", (), _PROGRAM),
    (b"ARROW1\x00", "a Feather file", (), _PROGRAM),
    (b"\x89HDF", "an HDF5 file", (), _PROGRAM),
    (b"<!doctype", "a web page", (), "Open it in a browser: it may say why there is no table."),
    (b"<html", "a web page", (), "Open it in a browser: it may say why there is no table."),
    (b"<?xml", "an XML file", (), _PROGRAM),
    (b'{"', "a JSON file", (), _PROGRAM),
    (b"[{", "a JSON file", (), _PROGRAM),
)


def way_out(suffix: str) -> str:
    """What to do with a file of this ending, which no reader takes; empty where that is not known.

    Examples
    --------
    >>> way_out(".zip"), way_out(".abc")
    ('Unpack it, and load the table that is in it.', '')
    """
    return next((said for suffixes, said in _WAYS_OUT.items() if suffix in suffixes.split()), "")


def check_beginning(content: bytes, suffix: str, name: str) -> None:
    """Refuse a file whose first bytes say that it is of another kind than its ending does; raises InputError."""
    start = content[:64].removeprefix(b"\xef\xbb\xbf").lstrip()
    for beginning, words, suffixes, said in _BEGINNINGS:
        if suffix not in suffixes and (start.startswith(beginning) or start.lower().startswith(beginning)):
            raise InputError(f"The file {name} is {words}, by its first bytes, and no {suffix} file. {said}")
