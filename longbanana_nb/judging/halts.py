"""What ends the asking of a model early, told to the person who has to do something about it."""

from __future__ import annotations

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.providers.contracts import ProviderError


def halt_of(judge: str, error: ProviderError | Incomplete) -> BaseException:
    """The error that the command ends with: CallError for a call to be corrected, Incomplete for one to be made again later."""
    if isinstance(error, Incomplete):
        return error
    name = f"judge {judge!r}"
    if error.is_quota:
        return Incomplete(f"{name}: {error} The account's quota is used up. What was answered is kept; run it again later.")
    if error.is_transient:
        return Incomplete(f"{name}: {error} What was answered is kept; run the same command again later.")
    if error.kind == "auth":
        return CallError(f"{name}: the key is refused. {error} Asking was stopped; what was answered is kept.")
    return CallError(f"{name}: {error} Asking was stopped at once; what was answered is kept.")
