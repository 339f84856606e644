"""Reading what stands beside checks: graph units, probes, and a person's statement of what option words mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import quote

from longbanana_nb.errors import DataError
from longbanana_nb.paths import annotations_folder
from longbanana_nb.release.contract import Case, CheckKey, Unit
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.options import Value, Words, value_of
from longbanana_nb.release.probe_grammar import parse_probe
from longbanana_nb.release.probes import reference_ids
from longbanana_nb.release.records import decode_text, read_value, record_lines, text_of
from longbanana_nb.release.taxonomy import DIMENSIONS, POLARITIES

OPTIONS_SCHEMA = "lb.options.v1"
Source = Literal["units", "derived", "reviewed"]
SOURCES: tuple[Source, ...] = get_args(Source)


def overlay_folder(name: str, revision: str) -> Path:
    """Where people's annotations of a release lie: `<name>@<revision>`, percent-encoded, in the annotations folder."""
    return annotations_folder() / f"{quote(name, safe=' ')}@{quote(revision, safe=' ')}"


def read_units(data: bytes, path: str, known: set[CheckKey] | None, source: Source, findings: Findings) -> dict[CheckKey, Unit]:
    """Units by (case_id, check_id); `source` holds for lines that do not state their own.

    `known` are the keys of all checks, whole or not; None where the checks could not be read, and then none is unknown.
    """
    units: dict[CheckKey, Unit] = {}
    keys = ("schema", "case_id", "check_id", "unit", "dimension", "polarity", "source")
    for place, key, record in _lines(data, path, known, keys, findings):
        unit = text_of(record, "unit", place, findings)
        dimension = _one_of(record, "dimension", DIMENSIONS, place, findings)
        polarity = _one_of(record, "polarity", POLARITIES, place, findings)
        own = source if record.get("source") is None else _one_of(record, "source", SOURCES, place, findings)
        if unit and dimension and polarity and own:
            units[key] = Unit(*key, unit, dimension, cast("Literal['positive', 'negative']", polarity), cast("Source", own))
    return units


def read_probes(
    data: bytes, path: str, known: set[CheckKey] | None, cases: Mapping[str, Case], findings: Findings
) -> tuple[dict[CheckKey, dict[str, Any]], frozenset[CheckKey]]:
    """Probes by (case_id, check_id), as written, and the keys of those that say that they were derived and not reviewed.

    Each was parsed, and the references it looks at exist in its case.
    """
    probes: dict[CheckKey, dict[str, Any]] = {}
    derived = set()
    for place, key, record in _lines(data, path, known, ("schema", "case_id", "check_id", "probe", "source"), findings):
        if record.get("source") is not None and _one_of(record, "source", SOURCES, place, findings) == "derived":
            derived.add(key)
        try:
            probe = parse_probe(record.get("probe"), place.where)
        except DataError as error:
            for fault in error.faults:
                findings.fault(Place(fault.where, *key), fault.code, fault.found, fault.expected, fault.fix)
            continue
        case = cases.get(key[0])
        pictured = {reference.id for reference in case.inputs} if case else None
        for unknown in sorted(reference_ids(probe) - pictured) if pictured is not None else ():
            fix = "Correct the exemplar's reference_id."
            findings.fault(place, "unknown_reference", f"exemplar {shown(unknown)}", "a reference of the case", fix)
        probes[key] = record["probe"]
    return probes, frozenset(derived & set(probes))


def read_option_words(data: bytes, path: str, findings: Findings) -> Callable[[str, str], Words]:
    """What a person stated option words to mean: for a (case_id, check_id), a mapping of lower-case words to 0, 1 or 2."""
    place = Place(path)
    text = decode_text(data, place, findings)
    value = None if text is None else read_value(text, place, findings)
    if not isinstance(value, dict):
        if text is not None and value is not None:
            findings.fault(place, "options", shown(value), "a JSON object", "See docs/releases.md.")
        return lambda case_id, check_id: {}
    _known_keys(value, ("schema", "words", "checks"), place, findings)
    if value.get("schema") != OPTIONS_SCHEMA:
        findings.fault(place, "options", f"schema {shown(value.get('schema'))}", repr(OPTIONS_SCHEMA), "Add the schema.")
    common = _words(value.get("words", {}), place, findings)
    own: dict[CheckKey, dict[str, Value]] = {}
    listed = value.get("checks", [])
    for number, part in enumerate(listed if isinstance(listed, list) else [listed]):
        inside = Place(f"{path} checks[{number}]")
        if not isinstance(part, dict):
            findings.fault(inside, "options", shown(part), "{case_id, check_id, words}", "See docs/releases.md.")
            continue
        _known_keys(part, ("case_id", "check_id", "words"), inside, findings)
        ids = (text_of(part, "case_id", inside, findings), text_of(part, "check_id", inside, findings))
        own[(ids[0] or "", ids[1] or "")] = _words(part.get("words"), inside, findings)
    return lambda case_id, check_id: {**common, **own.get((case_id, check_id), {})}


def _words(value: Any, place: Place, findings: Findings) -> dict[str, Value]:
    if not isinstance(value, dict):
        findings.fault(place, "options", f"words: {shown(value)}", "a mapping of words to 0, 1, 2", "See docs/releases.md.")
        return {}
    words: dict[str, Value] = {}
    for word, number in value.items():
        meant, natural = value_of(number, {}), value_of(word, {})
        if meant is None:
            findings.fault(place, "options", f"{shown(word)}: {shown(number)}", "0, 1 or 2", "Correct the mapping.")
        elif natural is not None and natural != meant:
            expected = f"{natural}, which {shown(word)} means"
            findings.fault(place, "options", f"{shown(word)}: {shown(number)}", expected, "Remove that word.")
        else:
            words[word.strip().lower()] = meant
    return words


def _lines(
    data: bytes, path: str, known: set[CheckKey] | None, keys: tuple[str, ...], findings: Findings
) -> Iterator[tuple[Place, CheckKey, dict[str, Any]]]:
    """Each record that belongs to a known check, once; all else is a fault."""
    first_lines: dict[CheckKey, str] = {}
    for place, record in record_lines(data, path, findings):
        case_id = text_of(record, "case_id", place, findings)
        check_id = text_of(record, "check_id", place.of(case_id=case_id), findings)
        place = place.of(case_id=case_id, id=check_id)
        _known_keys(record, keys, place, findings)
        if case_id is None or check_id is None:
            continue
        key = (case_id, check_id)
        if key in first_lines:
            found = f"the check of {first_lines[key]} again"
            findings.fault(place, "duplicate", found, "one line a check", "Remove one of the two.")
            continue
        first_lines[key] = place.where
        if known is not None and key not in known:
            near = findings.hint(check_id, (check for case, check in known if case == case_id))
            fix = f"Did you mean {near!r}?" if near else "Correct the ids."
            found = f"check {shown(check_id)} of case {shown(case_id)}"
            findings.fault(place, "unknown_check", found, "a check that exists", fix)
        yield place, key, record


def _known_keys(record: dict[str, Any], keys: tuple[str, ...], place: Place, findings: Findings) -> None:
    for key in record:
        if key not in keys:
            near = findings.hint(key, keys)
            fix = f"Did you mean {near!r}?" if near else "Remove it."
            findings.fault(place, "unknown_key", f"the key {shown(key)}", f"only {', '.join(keys)}", fix)


def _one_of(record: dict[str, Any], key: str, known: tuple[str, ...], place: Place, findings: Findings) -> str | None:
    value = record.get(key)
    if isinstance(value, str) and value in known:
        return value
    findings.fault(place, "unit", f"{key}: {shown(value)}", f"one of {', '.join(known)}", "Correct the record.")
    return None
