"""Reading evaluation checks: each is bound to a case and to references that exist, or says why it needs none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from longbanana_nb.release.contract import Case, Check, CheckKey
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.options import Words, read_options
from longbanana_nb.release.public import category_of
from longbanana_nb.release.records import record_lines, text_of


def read_checks(
    data: bytes,
    path: str,
    cases: Mapping[str, Case],
    words: Callable[[str, str], Words],
    findings: Findings,
    *,
    named: set[str] | None,
) -> tuple[dict[CheckKey, Check], set[CheckKey], int]:
    """Read every check, in the order they are written.

    Args:
        data: the bytes of the checks file; `path` names it in messages.
        cases: the cases that checks may belong to.
        named: the ids of all tasks, whole or not; None where the tasks could not be read.
        words: gives what a person stated option words to mean, for a (case_id, check_id).

    Returns:
        The checks that are whole, by (case_id, check_id); the keys of all, whole or not; and how many records there are.
    """
    checks: dict[CheckKey, Check] = {}
    first_lines: dict[CheckKey, Place] = {}
    records = 0
    for place, record in record_lines(data, path, findings):
        records += 1
        case_id = text_of(record, "case_id", place, findings)
        check_id = text_of(record, "check_id", place.of(case_id=case_id), findings)
        place = place.of(case_id=case_id, id=check_id)
        key = (case_id or "", check_id or "")
        check = _check(record, key, place, cases, named, words(*key), findings)
        if case_id is None or check_id is None:
            continue
        if key in first_lines:
            found = f"the check_id of {first_lines[key].where} again"
            findings.fault(place, "duplicate", found, "each check_id once a case", "Remove or rename one of the two.")
            continue
        first_lines[key] = place
        if check is not None:
            checks[key] = check
    return checks, set(first_lines), records


def _check(
    record: dict[str, Any],
    key: CheckKey,
    place: Place,
    cases: Mapping[str, Case],
    named: set[str] | None,
    words: Words,
    findings: Findings,
) -> Check | None:
    before = len(findings.errors)
    case = cases.get(key[0])
    if key[0] and named is not None and key[0] not in named:
        near = findings.hint(key[0], named)
        fix = f"Did you mean {near!r}?" if near else "Correct the id, or add its task."
        findings.fault(place, "unknown_case", f"case_id {shown(key[0])}", "a case of the tasks", fix)
    category = category_of(record, place, findings)
    if case is not None and category is not None and category != case.category:
        expected = f"{case.category}, the category of its case"
        findings.fault(place, "category_mismatch", f"category {category}", expected, "Correct one of the two.")
    question = text_of(record, "question", place, findings)
    guide = record.get("guide")
    if guide is not None and not isinstance(guide, str):
        findings.fault(place, "field", f"guide: {shown(guide)}", "guide: a text", "Correct the record.")
    options = read_options(record, words, place, findings)
    bound = _binding(record, case, place, findings)
    reason = record.get("candidate_only_reason")
    if len(findings.errors) > before or category is None or question is None or options is None or bound is None:
        return None
    text = guide if isinstance(guide, str) else ""
    return Check(*key, category, question, text, options[0], bound, reason or None, options[1])


def _binding(record: dict[str, Any], case: Case | None, place: Place, findings: Findings) -> tuple[str, ...] | None:
    ids, reason = record.get("reference_ids"), record.get("candidate_only_reason")
    if reason is not None and not isinstance(reason, str):
        findings.fault(place, "field", f"candidate_only_reason: {shown(reason)}", "a text or null", "Correct the record.")
    if not isinstance(ids, list) or not all(isinstance(part, str) for part in ids):
        fix = "Write reference_ids as a list of texts; it may be empty."
        findings.fault(place, "field", f"reference_ids: {shown(ids)}", "reference_ids: a list of texts", fix)
        return None
    if not ids and not (isinstance(reason, str) and reason.strip()):
        expected = "a bound reference, or a candidate_only_reason that is not blank"
        findings.fault(place, "binding", "no bound reference and no reason", expected, "Bind one or give the reason.")
    for repeated in (part for part, times in Counter(ids).items() if times > 1):
        findings.warn(place, "binding", f"reference {shown(repeated)} bound twice", "each once", "Remove one.")
    if case is not None:
        known = {reference.id for reference in case.inputs}
        for unknown in (part for part in dict.fromkeys(ids) if part not in known):
            near = findings.hint(unknown, known)
            fix = f"Did you mean {near!r}?" if near else "Bind a reference of the case, or its background."
            findings.fault(place, "unknown_reference", f"bound reference {shown(unknown)}", "a reference of the case", fix)
    return tuple(ids)
