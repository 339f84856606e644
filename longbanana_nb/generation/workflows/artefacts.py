"""What a workflow leaves: evidence, a plan, reviews, a choice; read strictly, because an agent may write anything.

A file that cannot be read as its form asks is *invalid*: it is kept and counted, and nothing in it is guessed at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal, get_args

import msgspec

from longbanana_nb.errors import DataError
from longbanana_nb.files import canonical_json, parse_json

Part = Literal["evidence", "plan", "review", "choice"]
PARTS: Final[tuple[str, ...]] = get_args(Part)
PARTS_OF: Final[Mapping[str, tuple[Part, ...]]] = {
    "minimal": (),
    "react": ("evidence",),
    "plan-exec": ("plan",),
    "reflect": ("review",),
    "rpr": ("evidence", "plan", "review"),
}
FILES: Final[Mapping[str, str]] = {part: f"{part}.json" for part in PARTS}
MOST_BYTES: Final = 64 * 1024
"""The largest artefact that is read, or kept."""

Words = Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Fraction = Annotated[float, msgspec.Meta(ge=0, le=1)]
Box = Annotated[list[Fraction], msgspec.Meta(min_length=4, max_length=4)]
Number = Annotated[int, msgspec.Meta(ge=1, le=1000)]


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing found: the demand it serves, the references that show it (the best first), what is seen there, and where."""

    demand: Words
    references: Annotated[list[Name], msgspec.Meta(min_length=1, max_length=64)]
    seen: Words
    box: Box | None = None  # on the first of the references, as fractions of the upright picture


class Evidence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`evidence.json`: what the references show that the task needs; `unclear` is what none of them shows."""

    findings: Annotated[list[Finding], msgspec.Meta(min_length=1, max_length=200)]
    unclear: Annotated[list[Words], msgspec.Meta(max_length=200)] = []


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One image call that is planned: what it draws, and the references it is to be given."""

    draws: Words
    references: Annotated[list[Name], msgspec.Meta(max_length=64)]


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`plan.json`: the image calls in order."""

    stages: Annotated[list[Stage], msgspec.Meta(min_length=1, max_length=64)]


class Miss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One demand that the picture does not meet: what is seen instead, and what is to be done about it."""

    demand: Words
    seen: Words
    repair: Words


class Round(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One review of one picture; `picture` is the number of the image call that drew it, from 1, where it is known."""

    satisfied: Annotated[list[Words], msgspec.Meta(max_length=200)]
    unsatisfied: Annotated[list[Miss], msgspec.Meta(max_length=200)]
    picture: Number | None = None


class Review(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`review.json`: the reviews in order."""

    rounds: Annotated[list[Round], msgspec.Meta(min_length=1, max_length=64)]


class Attempt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One picture that was looked at: the number of its image call, and what is seen in it."""

    picture: Number
    seen: Words


class Choice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`choice.json`: which of several pictures was taken, by what the agent itself saw, and why."""

    attempts: Annotated[list[Attempt], msgspec.Meta(min_length=1, max_length=64)]
    chosen: Number
    why: Words


Artefact = Evidence | Plan | Review | Choice
FORMS: Final[Mapping[str, type[Artefact]]] = {"evidence": Evidence, "plan": Plan, "review": Review, "choice": Choice}


class BadArtefactError(Exception):
    """An artefact that cannot be read as its form asks; the text says where and what was expected."""


def parts_of(workflow: str | None, best_of: int | None = None) -> tuple[Part, ...]:
    """The artefacts that a workflow leaves, in the order they are made."""
    parts = PARTS_OF[workflow or "minimal"]
    return (*parts, "choice") if best_of is not None else parts


def read_artefact(part: str, data: bytes, ids: Collection[str] | None = None) -> Artefact:
    """Read the bytes of an artefact.

    Args:
        part: which one; decides the form.
        data: UTF-8 JSON of at most `MOST_BYTES`.
        ids: references of the task; an artefact that names another is bad. None: names are not held against anything.

    Raises:
        BadArtefactError: too large, not JSON, an unknown or missing field, a wrong type or length, an unknown reference.
    """
    if len(data) > MOST_BYTES:
        raise BadArtefactError(f"{len(data):,} bytes; at most {MOST_BYTES:,} are read")
    try:
        value = parse_json(data.decode("utf-8"), FILES[part])
    except UnicodeDecodeError as error:
        raise BadArtefactError(f"byte {error.start} is not UTF-8") from None
    except DataError as error:
        raise BadArtefactError("; ".join(fault.found for fault in error.faults)) from None
    return shaped(part, value, ids)


def shaped(part: str, value: Any, ids: Collection[str] | None = None) -> Artefact:
    """A JSON value as an artefact; BadArtefactError as in `read_artefact`."""
    try:
        canonical_json(value)
        artefact = msgspec.convert(value, FORMS[part])
    except UnicodeEncodeError:
        raise BadArtefactError("half a surrogate pair, which is no text") from None
    except (msgspec.ValidationError, RecursionError, ValueError, TypeError) as error:
        raise BadArtefactError(str(error)) from None
    if ids is not None and (unknown := [name for name in references_in(artefact) if name not in ids]):
        raise BadArtefactError(f"no ids of this task: {', '.join(name[:80] for name in unknown[:5])}")
    if isinstance(artefact, Evidence):
        for finding in artefact.findings:
            _require_box(finding)
    if isinstance(artefact, Choice) and artefact.chosen not in [one.picture for one in artefact.attempts]:
        raise BadArtefactError(f"chosen is picture {artefact.chosen}, which is not among the attempts")
    return artefact


def as_bytes(artefact: Artefact) -> bytes:
    """An artefact as the file that is kept: indented JSON, a line feed at the end."""
    return msgspec.json.format(msgspec.json.encode(artefact), indent=1) + b"\n"


def references_in(artefact: Artefact) -> list[str]:
    """The references an artefact names, each once, in order."""
    if isinstance(artefact, Evidence):
        return list(dict.fromkeys(name for one in artefact.findings for name in one.references))
    if isinstance(artefact, Plan):
        return list(dict.fromkeys(name for one in artefact.stages for name in one.references))
    return []


def schema_of(part: str) -> dict[str, Any]:
    """The JSON schema of an artefact, with nothing in it that a model's tool could not take (no `$ref`)."""
    (schema,), parts = msgspec.json.schema_components([FORMS[part]], ref_template="{name}")
    found = _inlined(schema, parts)
    return found if isinstance(found, dict) else {}


def _inlined(schema: Any, parts: Mapping[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(one, parts) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(parts[schema["$ref"]], parts)
    left_out = ("title", "description", "default")
    return {
        key: {name: _inlined(one, parts) for name, one in value.items()} if key == "properties" else _inlined(value, parts)
        for key, value in schema.items()
        if key not in left_out
    }


def _require_box(finding: Finding) -> None:
    box = finding.box
    if box is not None and not (box[0] < box[2] and box[1] < box[3]):
        raise BadArtefactError(f"box {box}: expected [x0, y0, x1, y1] with x0 < x1 and y0 < y1")
