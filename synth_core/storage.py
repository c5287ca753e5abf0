"""What a disk that is full, read-only or gone means, in words that say what to do."""

from __future__ import annotations

import errno

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk quota is used up", "free some space"),
    errno.EFBIG: ("a file would pass this process's size limit", "raise the limit (ulimit -f)"),
    errno.EROFS: ("it is read-only", "make it writable"),
    errno.EACCES: ("this user may not write there", "make it writable"),
    errno.EPERM: ("this user may not write there", "make it writable"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("too many files are open on this machine", "close some programs"),
    errno.EIO: ("the disk reports an error", "check the disk"),
    errno.ENOENT: ("it is not there", "make it again"),
    errno.ENOTDIR: ("a file is in its place", "remove that file"),
    errno.ENOMEM: ("this machine's memory is used up", "end other programs"),
}


def is_full(error: OSError) -> bool:
    """Whether there was no room to write."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def explain(error: OSError, place: str, otherwise: str = "") -> str:
    """One sentence on what failed and one on what to do; it names no path and no value.

    Parameters
    ----------
    place : str
        What was to be written, such as "The cache directory".
    otherwise : str
        Another way out than mending the place, such as "name another one in SYNTH_RESULTS_DIR".

    Examples
    --------
    >>> explain(OSError(errno.ENOSPC, "x"), "The cache directory")
    'The cache directory cannot be written: the disk is full. Free some space, then run it again.'
    """
    system = (error.strerror or type(error).__name__).lower()
    reason, advice = _REASONS.get(error.errno or 0, (system, "check it"))
    also = f", or {otherwise}" if otherwise else ""
    return f"{place} cannot be written: {reason}. {advice[0].upper()}{advice[1:]}{also}, then run it again."
