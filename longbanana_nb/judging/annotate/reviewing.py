"""What people wrote on a review sheet, taken back: checked row by row, and then theirs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.judging.annotate.drafts import Draft, Key, Overlay
from longbanana_nb.judging.annotate.questions import POLARITIES
from longbanana_nb.release.probe_grammar import parse_probe
from longbanana_nb.release.probes import reference_ids
from longbanana_nb.taxonomy import DIMENSIONS

if TYPE_CHECKING:
    from longbanana_nb.release import Check


def reviewed_drafts(rows: Iterable[Mapping[str, str]], overlay: Overlay, checks: Mapping[Key, Check]) -> list[Draft]:
    """What people answer for: the rows that they marked as reviewed, and those that they changed.

    Raises:
        DataError: naming every row that cannot be used.
    """
    faults: list[Fault] = []
    found = [draft for row in rows if (draft := _reviewed_draft(row, overlay, checks, faults)) is not None]
    if faults:
        raise DataError("Rows of the review sheet cannot be used; nothing was changed.", faults)
    return found


def _reviewed_draft(row: Mapping[str, str], overlay: Overlay, checks: Mapping[Key, Check], faults: list[Fault]) -> Draft | None:
    key, where = (row["case_id"], row["check_id"]), f"line {row['line']}"
    if key not in checks:
        faults.append(
            Fault(where, "unknown_check", f"check {key[1]!r} of case {key[0]!r}", "a check of the release", "Correct the ids.")
        )
        return None
    said = {name: row[name] or None for name in ("dimension", "polarity", "probe")}
    if not row["reviewed"] and said == cells_of(overlay, key):
        return None
    for name, words in (("dimension", DIMENSIONS), ("polarity", POLARITIES)):
        if said[name] not in words:
            faults.append(Fault(where, "unit", f"{name} {said[name]!r}", f"one of {', '.join(words)}", "Correct the cell."))
    probe = _probe_of(said["probe"], checks[key], where, faults)
    return Draft(*key, said["dimension"], said["polarity"], probe, "reviewed")


def _probe_of(text: str | None, check: Check, where: str, faults: list[Fault]) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        probe = json.loads(text)
        parsed = parse_probe(probe, f"{where} probe")
    except ValueError as error:
        faults.append(Fault(where, "probe", str(error), "a probe as JSON, or nothing", "Correct the cell."))
        return None
    except DataError as error:
        faults.extend(error.faults)
        return None
    strange = sorted(reference_ids(parsed) - set(check.reference_ids))
    faults += [
        Fault(where, "probe", f"reference {name!r}", "one that the check binds", "Correct the exemplar.") for name in strange
    ]
    return probe  # type: ignore[no-any-return]


def cells_of(overlay: Overlay, key: Key) -> dict[str, str | None]:
    """The cells of a check as the overlay has them."""
    unit, line = overlay.units.get(key, {}), overlay.probes.get(key)
    probe = None if line is None else json.dumps(line["probe"], ensure_ascii=False)
    return {"dimension": unit.get("dimension"), "polarity": unit.get("polarity"), "probe": probe}
