"""Failures of the disk said plainly: no space, no permission, read-only."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from longbanana_nb.errors import DataError

_ADVICE = {
    errno.ENOSPC: "free space and run the same command again",
    errno.EDQUOT: "free space within your quota and run the same command again",
    errno.EROFS: "choose a run folder on a disk that can be written, or remount it, and run the same command again",
    errno.EACCES: "get permission to write there, or choose another run folder, and run the same command again",
    errno.EPERM: "get permission to write there, or choose another run folder, and run the same command again",
}


@contextlib.contextmanager
def saving(path: Path) -> Iterator[None]:
    """Turn an OSError raised while `path` is written into a DataError that says what is kept and what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        advice = _ADVICE.get(error.errno or 0, "correct this and run the same command again")
        raise DataError(f"{reason} while writing {path}; what was answered before is kept; {advice}.") from error
