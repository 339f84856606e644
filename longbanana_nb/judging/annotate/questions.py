"""What a text model is asked about a check's words, and how its answer is read: strictly, or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import DataError
from longbanana_nb.judging.prompting import prompt
from longbanana_nb.judging.quoting import as_data
from longbanana_nb.providers.contracts import Request, Text, UserMessage
from longbanana_nb.release import parse_probe
from longbanana_nb.release.probes import reference_ids
from longbanana_nb.taxonomy import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from longbanana_nb.release import Check

MAX_TOKENS = 1500
UNSURE = "unsure"
POLARITIES = ("positive", "negative")
_WHOLE = [0.0, 0.0, 1.0, 1.0]
FIELDS = ("dimension", "polarity", "probe", "doubt")
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "dimension": {"type": "string", "enum": [*DIMENSIONS, UNSURE]},
        "polarity": {"type": "string", "enum": [*POLARITIES, UNSURE]},
        "probe": {"type": "string"},
        "doubt": {"type": "string"},
    },
    "required": list(FIELDS),
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said of a check; None where it was unsure or gave nothing."""

    dimension: str | None
    polarity: str | None
    probe: dict[str, Any] | None
    doubt: str | None


class Unreadable(Exception):  # noqa: N818 - a state of a reply, not a fault of the program
    """The reply is no draft; the text says what was wrong with it, for the model to hear once more."""


def request_for(check: Check, params: Mapping[str, Any], wrong: str | None = None) -> Request:
    """The question about one check: its words and the ids it binds, no picture. `wrong` says what an earlier answer lacked."""
    asked = {
        "question": check.question,
        "guide": check.guide,
        "options": [{"value": one.value, "name": one.name, "description": one.description} for one in check.options],
        "bound_reference_ids": list(check.reference_ids),
        "candidate_only_reason": check.candidate_only_reason,
    }
    parts = [Text(f"CHECK\n{as_data(asked)}")]
    if wrong is not None:
        parts.append(Text(f"An earlier answer could not be used: {as_data(wrong)}. Answer anew."))
    told = UserMessage(tuple(parts))
    return Request(prompt("annotate").text, (told,), max_tokens=MAX_TOKENS, schema=SCHEMA, params=params)


def read_said(answer: dict[str, Any], check: Check) -> Said:
    """The draft in an answer that was read as one JSON object.

    Raises:
        Unreadable: a field is missing or is none of its words, or the probe is none of the grammar or names another reference.
    """
    missing = [name for name in FIELDS if name not in answer]
    if missing:
        raise Unreadable(f"missing: {', '.join(missing)}")
    dimension = _word(answer, "dimension", DIMENSIONS)
    polarity = _word(answer, "polarity", POLARITIES)
    doubt = answer["doubt"] if isinstance(answer["doubt"], str) else ""
    return Said(dimension, polarity, _probe(answer["probe"], check), doubt.strip() or None)


def _word(answer: dict[str, Any], name: str, words: tuple[str, ...]) -> str | None:
    value = answer[name]
    if value == UNSURE:
        return None
    if value not in words:
        raise Unreadable(f"{name} is none of {', '.join(words)}, {UNSURE}")
    return str(value)


def _probe(text: Any, check: Check) -> dict[str, Any] | None:
    if not isinstance(text, str):
        raise Unreadable("probe is not a text")
    if not text.strip():
        return None
    try:
        probe = json.loads(text, parse_constant=_no_constant)
        parsed = parse_probe(_with_boxes(probe), "the probe")
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the probe is no JSON: {error}") from None
    except DataError as error:
        raise Unreadable("; ".join(f"{one.where}: {one.found}, not {one.expected}" for one in error.faults[:5])) from None
    if strange := sorted(reference_ids(parsed) - set(check.reference_ids)):
        raise Unreadable(f"the probe names {', '.join(strange)}, which the check does not bind")
    return _with_boxes(probe)  # type: ignore[no-any-return]


def _with_boxes(value: Any) -> Any:
    """An exemplar without a box is the whole of its reference: a model that sees no picture knows no better."""
    if isinstance(value, list):
        return [_with_boxes(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    filled = {key: _with_boxes(inner) for key, inner in value.items()}
    for name in ("exemplar", "same_as"):
        if isinstance(filled.get(name), dict):
            filled[name] = {"box": _WHOLE, **filled[name]}
    return filled


def _no_constant(name: str) -> Iterator[Any]:
    raise ValueError(f"{name} is no number of JSON")
