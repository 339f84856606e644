"""What a reading of a release found: faults and warnings, gathered instead of raised."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.names import nearest

_HINTS = 100


@dataclass(slots=True)
class Findings:
    """Faults and warnings in the order they were met; nothing is lost, whatever comes first."""

    errors: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)

    def fault(self, place: Place, code: str, found: str, expected: str, fix: str) -> None:
        """Record something that makes the release unusable as it is."""
        self.errors.append(Fault(place.where, code, found, expected, fix, place.case_id, place.id))

    def warn(self, place: Place, code: str, found: str, expected: str, fix: str) -> None:
        """Record something that people should know, and that stops nothing."""
        self.warnings.append(Fault(place.where, code, found, expected, fix, place.case_id, place.id))

    def hint(self, word: str, known: Iterable[str]) -> str | None:
        """The known word most like `word`; after the first hundred faults no more are looked for, since that is slow."""
        return nearest(word, known) if len(self.errors) < _HINTS else None

    def raise_faults(self, message: str) -> None:
        """Raise DataError with every fault, if there is any."""
        if self.errors:
            raise DataError(message, self.errors)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: file and line, and the case and id it belongs to."""

    where: str
    case_id: str | None = None
    id: str | None = None

    def of(self, *, case_id: str | None = None, id: str | None = None) -> Place:
        """The same place, naming a case or an id as well."""
        return Place(self.where, case_id if case_id is not None else self.case_id, id if id is not None else self.id)


def shown(value: object, limit: int = 80) -> str:
    """A value as a short piece of a message; control characters are escaped, None is "nothing"."""
    text = "nothing" if value is None else repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
