"""The parameters a notebook declares in its tagged cell, and the check of given values against them before a kernel starts."""

from __future__ import annotations

import ast
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import read_json
from longbanana_nb.names import nearest
from longbanana_nb.runs.keyscan import looks_like_key

TAG = "parameters"
KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "list": list}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One declared parameter: `kind` is one of `KINDS`, `inner` the kind of a list's members, `optional` allows None."""

    name: str
    kind: str
    default: Any
    inner: str | None = None
    optional: bool = False

    @property
    def declared(self) -> str:
        """The type as the notebook writes it."""
        return self.kind + (f"[{self.inner}]" if self.inner else "") + (" | None" if self.optional else "")


def declared_parameters(path: Path) -> dict[str, Parameter]:
    """The parameters of a notebook's cell tagged `parameters`, by name; empty when there is no such cell.

    Types come from annotations (`limit: int = 3`), else from the default's own type.

    Raises:
        DataError: for a file that is no notebook, or a tagged cell that holds anything but literals.
    """
    notebook = read_json(path)
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        fault = Fault(str(path), "notebook", "no list of cells", "a Jupyter notebook (nbformat 4)", "Name a notebook file.")
        raise DataError("A notebook cannot be read.", [fault])
    tagged = [cell for cell in cells if TAG in (cell.get("metadata") or {}).get("tags", [])]
    if not tagged:
        return {}
    source = tagged[0].get("source", "")
    return _parse(source if isinstance(source, str) else "".join(source), path)


def checked_parameters(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """The given values in their declared types; texts (from a command line) are read by the declared type.

    Raises:
        CallError: naming every unknown name with the nearest known one, every value of a wrong type, NaN or infinite numbers,
            and values that look like an API key.
    """
    known = declared_parameters(path)
    faults, values = [], {}
    for name, value in given.items():
        where = f"parameter {name} of {path.name}"
        if name not in known:
            close = nearest(name, known)
            advice = f"Did you mean {close!r}?" if close else "Remove it."
            listed = ", ".join(known) or "no parameters: the notebook has no cell tagged 'parameters'"
            faults.append(Fault(where, "parameter", "an unknown name", listed, advice))
            continue
        try:
            values[name] = _value(value, known[name])
        except ValueError as error:
            found = "what looks like a key" if _holds_key(value) else repr(value)
            faults.append(Fault(where, "parameter", found, f"{known[name].declared} ({error})", "Correct the value."))
            continue
        if _holds_key(values[name]):
            faults.append(
                Fault(where, "key", "what looks like an API key", "no key in a notebook", "Set keys as environment variables.")
            )
    if faults:
        raise CallError("The notebook was not started.", faults)
    return values


def _holds_key(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_key(part) for part in value)
    return isinstance(value, str) and looks_like_key(value) is not None


def _value(value: Any, parameter: Parameter) -> Any:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if parameter.optional and (value is None or (isinstance(value, str) and value.lower() in ("none", "null"))):
        return None
    if parameter.kind == "list":
        members = _list(value)
        return [_scalar(member, parameter.inner) for member in members] if parameter.inner else members
    return _scalar(value, parameter.kind)


def _list(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=_refuse)
        except ValueError:
            raise ValueError('a list is written as JSON, like ["a", "b"]') from None
    if not isinstance(value, list):
        raise ValueError('a list is written as JSON, like ["a", "b"]')  # noqa: TRY004 - gathered with the other faults
    return value


def _scalar(value: Any, kind: str) -> Any:
    """The value as a `kind`; a text is read by that kind alone, so `007` stays a text where a text is declared."""
    if isinstance(value, str):
        return _from_text(value, kind)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not KINDS[kind]:
        advice = "put it in quotes" if kind == "str" else f"not {type(value).__name__}"
        raise ValueError(advice)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("NaN and infinity are refused")
    return value


def _from_text(text: str, kind: str) -> Any:
    if kind == "str":
        return text
    if kind == "bool":
        if text not in ("true", "false"):
            raise ValueError("true or false")
        return text == "true"
    if kind == "int":
        if not text.removeprefix("-").isascii() or not text.removeprefix("-").isdigit():
            raise ValueError("a whole number")
        return int(text)
    try:
        number = float(text)
    except ValueError:
        raise ValueError("a number") from None
    if not math.isfinite(number) or "_" in text:
        raise ValueError("a finite number; NaN and infinity are refused")
    return number


def _parse(source: str, path: Path) -> dict[str, Parameter]:
    parameters: dict[str, Parameter] = {}
    try:
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            parameter = _statement(statement)
            parameters[parameter.name] = parameter
    except (SyntaxError, ValueError) as error:
        fault = Fault(
            f"{path} (cell tagged 'parameters')",
            "notebook",
            str(error),
            "lines such as `limit: int = 3  # meaning`",
            "Correct it.",
        )
        raise DataError("A notebook's parameters cannot be read.", [fault]) from None
    return parameters


def _statement(statement: ast.stmt) -> Parameter:
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value is not None:
        kind, inner, optional = _annotation(ast.unparse(statement.annotation))
        return Parameter(statement.target.id, kind, ast.literal_eval(statement.value), inner, optional)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        default = ast.literal_eval(statement.value)
        if type(default).__name__ not in KINDS:
            raise ValueError(f"{statement.targets[0].id} has no declared type")
        return Parameter(statement.targets[0].id, type(default).__name__, default)
    raise ValueError(f"line {statement.lineno} is not a literal assignment")


def _annotation(text: str) -> tuple[str, str | None, bool]:
    """`list[str] | None` as ("list", "str", True)."""
    parts = [part.strip() for part in text.strip("'\"").split("|")]
    optional = "None" in parts
    rest = [part for part in parts if part != "None"]
    outer, _, inner = rest[0].partition("[") if rest else ("", "", "")
    inner = inner.rstrip("]")
    if len(rest) != 1 or outer not in KINDS or (inner and (outer != "list" or inner not in KINDS)):
        raise ValueError(f"the type {text!r} is not one of {', '.join(KINDS)}, list[...] or one of them | None")
    return outer, inner or None, optional


def _refuse(token: str) -> Any:
    raise ValueError(token)
