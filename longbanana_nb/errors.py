"""Errors that say where, what was found, what was expected and what to do, with the exit code each deserves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with data: where it stands, what is there, what should be, and what to do."""

    where: str
    code: str
    found: str
    expected: str
    fix: str
    case_id: str | None = None
    id: str | None = None

    def __str__(self) -> str:
        names = [f"case {self.case_id!r}"] if self.case_id is not None else []
        names += [repr(self.id)] if self.id is not None else []
        subject = f" ({', '.join(names)})" if names else ""
        return f"{self.where}{subject}: found {self.found}; expected {self.expected}. {self.fix}"


class WorkbenchError(Exception):
    """A fault a person can act on; its text is complete, so no traceback is shown for it."""

    exit_code = 1

    def __init__(self, message: str, faults: Iterable[Fault] = ()) -> None:
        self.faults = tuple(faults)
        lines = [message, *(f"  {fault}" for fault in self.faults)]
        super().__init__("\n".join(lines))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows in place of a traceback: the same words as on the command line."""
        return [f"{type(self).__name__}: {self}"]


class DataError(WorkbenchError):
    """Bad data or a bad run (exit 1)."""


class CallError(WorkbenchError):
    """A call or a configuration that cannot be carried out as written (exit 2)."""

    exit_code = 2


class Incomplete(WorkbenchError):  # noqa: N818 - a state of the work, not a mistake
    """Work that ended early or covers less than everything: budget, interruption, coverage (exit 3)."""

    exit_code = 3
