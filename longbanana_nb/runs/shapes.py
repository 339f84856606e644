"""From pydantic's findings to faults a person can act on: where, found, expected, the nearest valid name."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from longbanana_nb.errors import CallError, Fault
from longbanana_nb.names import nearest, require_name

Shape = TypeVar("Shape", bound="StrictShape")


class StrictShape(BaseModel):
    """A part of a file we define: unknown keys refused, no type coerced, never changed after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def inconsistent(problems: Iterable[tuple[str, str]], expected: str = "settings that fit together") -> None:
    """Raise, inside a validator, for problems as (found, what to do); none is fine."""
    found = list(problems)
    if found:
        text = " ".join(f"{what}. {fix}" for what, fix in found)
        raise PydanticCustomError("inconsistent", "{text}", {"text": text, "problems": found, "expected": expected})


def usable_name(what: str, name: str) -> str:
    """Inside a validator: `name` if it can name `what` as a folder."""
    try:
        return require_name(what, name)
    except CallError:
        problem = (repr(name), "Choose another name.")
        inconsistent([problem], "1 to 48 of a-z, 0-9, '.', '_', '+', '-', first a letter or digit, and no device name")
        raise


def parse_shape(shape: type[Shape], value: Any, where: str) -> Shape:
    """Read `value` as a `shape`; `where` names the place it stands.

    Raises:
        CallError: with every fault at once.
    """
    parsed, faults = try_shape(shape, value, where)
    if parsed is None:
        raise CallError(f"{where} cannot be used as written.", faults)
    return parsed


def try_shape(shape: type[Shape], value: Any, where: str) -> tuple[Shape | None, list[Fault]]:
    """Read `value` as a `shape`: the shape and no faults, or None and every fault."""
    try:
        return shape.model_validate(value), []
    except ValidationError as error:
        details = error.errors(include_url=False)
        return None, [fault for detail in details for fault in _faults(shape, detail, where)]


def _faults(shape: type[BaseModel], detail: ErrorDetails, where: str) -> list[Fault]:
    place = f"{where}{_location(detail['loc'])}"
    kind, found = detail["type"], detail["input"]
    if kind == "inconsistent":
        expected = detail["ctx"]["expected"]
        return [Fault(place, "inconsistent", what, expected, fix) for what, fix in detail["ctx"]["problems"]]
    if kind == "extra_forbidden":
        return [_unknown_key(shape, detail, where)]
    if kind == "missing":
        return [Fault(place, "missing", "nothing", "a value", "Add it.")]
    if kind == "string_type" and isinstance(found, bool | int | float):
        fix = "Put it in quotes."
        return [Fault(place, "not_text", f"{found!r} ({type(found).__name__})", "a text", fix)]
    if kind == "string_type" and isinstance(found, dict) and list(found.values()) == [None]:
        word = "{" + str(next(iter(found))) + "}"
        return [Fault(place, "not_text", f"{word} without quotes, which YAML reads as a mapping", "a text", f'Write "{word}".')]
    expected = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return [Fault(place, kind, _short(found), expected, _choice_fix(found, detail))]


def _unknown_key(shape: type[BaseModel], detail: ErrorDetails, where: str) -> Fault:
    *parents, key = detail["loc"]
    known = sorted(_fields_at(shape, parents))
    near = nearest(str(key), known)
    fix = f"Did you mean {near!r}?" if near else "Remove it."
    place = f"{where}{_location(tuple(parents))}"
    return Fault(place, "unknown_key", f"the unknown key {key!r}", f"one of {', '.join(known)}", fix)


def _choice_fix(found: Any, detail: ErrorDetails) -> str:
    if found is True or found is False:
        return "YAML reads yes, no, on and off as true and false: put the word in quotes."
    if detail["type"] == "literal_error" and isinstance(found, str):
        words = detail.get("ctx", {}).get("expected", "").replace(" or ", ", ").replace("'", "").split(", ")
        near = nearest(found, words)
        return f"Did you mean {near!r}?" if near else "Choose one of these."
    return "Correct it."


def _location(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f" {part}" if i == 0 else f".{part}" for i, part in enumerate(loc))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _fields_at(shape: type[BaseModel], loc: Iterable[int | str]) -> set[str]:
    current: Any = shape
    for part in loc:
        if isinstance(part, str) and _is_shape(current) and part in current.model_fields:
            current = _inner(current.model_fields[part].annotation)
    return {field.alias or name for name, field in current.model_fields.items()} if _is_shape(current) else set()


def _inner(annotation: Any) -> Any:
    """The shape inside `X | None`, `tuple[X, ...]` and `dict[str, X]`, or the annotation itself."""
    if get_origin(annotation) in (Union, types.UnionType, tuple, list, dict):
        for argument in get_args(annotation):
            inner = _inner(argument)
            if _is_shape(inner):
                return inner
    return annotation


def _is_shape(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)
