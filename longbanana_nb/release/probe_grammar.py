"""Reading a probe: a JSON value becomes a typed tree, or every fault of the tree is named at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any as Json
from typing import cast

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.names import nearest
from longbanana_nb.release import probes as p

MAX_DEPTH = 32
_NO_BOX: p.Box = (0.0, 0.0, 1.0, 1.0)
_NO_ENTITY = p.Entity("", "", _NO_BOX)


def parse_probe(value: Json, where: str) -> p.Probe:
    """Read a probe from its JSON value.

    Args:
        value: the JSON value, as documented in docs/schemas.md under Probes.
        where: what to call its place in messages, such as a file and line.

    Raises:
        DataError: with one fault for everything that is wrong anywhere in the tree.
    """
    reader = _Reader(where)
    probe = reader.probe(value, "probe", 1)
    if reader.faults:
        raise DataError("A probe cannot be read.", reader.faults)
    return probe


class _Reader:
    """Walks one tree and collects faults; where a fault was found it goes on with a stand-in that never leaves this module."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.faults: list[Fault] = []
        self._kinds: Mapping[str, tuple[tuple[str, ...], Callable[[dict[str, Json], str], p.Leaf]]] = {
            "present": ((), self._present),
            "absent": ((), self._absent),
            "count": (("equals", "min", "max"), self._count),
            "text": ((), self._text),
            "colour": (("is",), self._colour),
            "relation": ((), self._relation),
            "order": (("along",), self._order),
            "same_as": ((), self._same_as),
            "region": (("within",), self._region),
            "palette": ((), self._palette),
        }

    def fault(self, at: str, found: str, expected: str, fix: str = "Correct the probe.") -> None:
        self.faults.append(Fault(f"{self.where} {at}", "probe", found, expected, fix))

    # -- the tree ------------------------------------------------------------------------------------------------------------

    def probe(self, value: Json, at: str, depth: int) -> p.Probe:
        if depth > MAX_DEPTH:
            self.fault(at, "a deeper probe", f"at most {MAX_DEPTH} levels")
            return p.All(())
        if not isinstance(value, dict):
            self.fault(at, _shown(value), "a mapping such as {present: {...}}")
            return p.All(())
        known = (*self._kinds, "all", "any", "not")
        kinds = [key for key in value if key in known]
        if len(kinds) != 1:
            found = f"keys {sorted(map(str, value))}" if not kinds else f"{len(kinds)} kinds: {', '.join(kinds)}"
            self.fault(at, found, f"exactly one of {', '.join(known)}{_hint(value, known)}")
            return p.All(())
        kind = kinds[0]
        inside = f"{at}.{kind}"
        if kind == "not":
            self._only(value, ("not",), at)
            return p.Not(self.probe(value["not"], inside, depth + 1))
        if kind in ("all", "any"):
            self._only(value, (kind,), at)
            members = self._list(value[kind], inside, 1)
            parts = tuple(self.probe(part, f"{inside}[{n}]", depth + 1) for n, part in enumerate(members))
            return p.All(parts) if kind == "all" else p.Any(parts)
        keys, read = self._kinds[kind]
        self._only(value, (kind, *keys, "lo", "hi"), at)
        return read(value, at)

    # -- leaves --------------------------------------------------------------------------------------------------------------

    def _present(self, value: dict[str, Json], at: str) -> p.Leaf:
        return p.Present(self._entity(value["present"], f"{at}.present"), *self._bounds(value, at, "present"))

    def _absent(self, value: dict[str, Json], at: str) -> p.Leaf:
        return p.Absent(self._entity(value["absent"], f"{at}.absent"), *self._bounds(value, at, "absent"))

    def _count(self, value: dict[str, Json], at: str) -> p.Leaf:
        limits = {key: self._whole(value[key], f"{at}.{key}") for key in ("equals", "min", "max") if key in value}
        if not limits or ("equals" in limits and len(limits) > 1):
            self.fault(at, f"{', '.join(limits) or 'no number'} beside count", "equals alone, or min, max or both")
        elif limits.get("min", 0) > limits.get("max", math.inf):
            self.fault(at, f"min {limits['min']} above max {limits['max']}", "min at most max")
        entity = self._entity(value["count"], f"{at}.count")
        lo, hi = self._bounds(value, at, "count")
        return p.Count(entity, limits.get("equals"), limits.get("min"), limits.get("max"), lo, hi)

    def _text(self, value: dict[str, Json], at: str) -> p.Leaf:
        body = self._body(value, "text", ("in", "equals", "contains"), at)
        asked = [key for key in ("equals", "contains") if key in body]
        if len(asked) != 1:
            self.fault(f"{at}.text", " and ".join(asked) or "neither equals nor contains", "exactly one of equals, contains")
        texts = {key: self._words(body[key], f"{at}.text.{key}") for key in asked}
        place = body.get("in")
        where: p.Entity | p.Box | None = None
        if isinstance(place, list):
            where = self._box(place, f"{at}.text.in")
        elif place is not None:
            where = self._entity(place, f"{at}.text.in")
        return p.Text(where, texts.get("equals"), texts.get("contains"), *self._bounds(value, at, "text"))

    def _colour(self, value: dict[str, Json], at: str) -> p.Leaf:
        entity = self._entity(value["colour"], f"{at}.colour")
        return p.Colour(entity, self._one_of(value.get("is"), p.COLOURS, f"{at}.is"), *self._bounds(value, at, "colour"))

    def _relation(self, value: dict[str, Json], at: str) -> p.Leaf:
        body = self._body(value, "relation", ("a", "is", "b", "margin"), at)
        inside = f"{at}.relation"
        name = cast("p.RelationName", self._one_of(body.get("is"), p.RELATIONS, f"{inside}.is"))
        a, b = (self._entity(body.get(end), f"{inside}.{end}") for end in ("a", "b"))
        margin = self._number(body.get("margin", 0.0), f"{inside}.margin", -1.0, 1.0)
        return p.Relation(a, name, b, margin, *self._bounds(value, at, "relation"))

    def _order(self, value: dict[str, Json], at: str) -> p.Leaf:
        members = self._list(value["order"], f"{at}.order", 2)
        found = tuple(self._entity(member, f"{at}.order[{n}]") for n, member in enumerate(members))
        along = cast("p.Axis", self._one_of(value.get("along"), p.AXES, f"{at}.along"))
        return p.Order(found, along, *self._bounds(value, at, "order"))

    def _same_as(self, value: dict[str, Json], at: str) -> p.Leaf:
        body = self._body(value, "same_as", ("entity", "reference_id", "box"), at)
        inside = f"{at}.same_as"
        entity = self._entity(body.get("entity"), f"{inside}.entity")
        reference = self._words(body.get("reference_id"), f"{inside}.reference_id")
        return p.SameAs(entity, reference, self._box(body.get("box"), f"{inside}.box"), *self._bounds(value, at, "same_as"))

    def _region(self, value: dict[str, Json], at: str) -> p.Leaf:
        entity = self._entity(value["region"], f"{at}.region")
        return p.Region(entity, self._box(value.get("within"), f"{at}.within"), *self._bounds(value, at, "region"))

    def _palette(self, value: dict[str, Json], at: str) -> p.Leaf:
        body = self._body(value, "palette", ("colour", "share", "within"), at)
        inside = f"{at}.palette"
        colour = self._one_of(body.get("colour"), p.COLOURS, f"{inside}.colour")
        share = self._number(body.get("share"), f"{inside}.share", 0.0, 1.0)
        if share == 0 and _is_number(body.get("share")):
            self.fault(f"{inside}.share", "0", "a share above 0")
        within = None if body.get("within") is None else self._box(body["within"], f"{inside}.within")
        factors = p.DEFAULT_BOUNDS["palette"]
        lo, hi = self._bounds(value, at, "palette", (factors[0] * (share or 1.0), factors[1] * (share or 1.0)))
        return p.Palette(colour, share, within, lo, hi)

    # -- parts ---------------------------------------------------------------------------------------------------------------

    def _entity(self, value: Json, at: str) -> p.Entity:
        if not isinstance(value, dict):
            self.fault(at, _shown(value), "an entity {name, exemplar: {reference_id, box}, colour?, text?}")
            return _NO_ENTITY
        self._only(value, ("name", "exemplar", "colour", "text"), at)
        exemplar = self._body(value, "exemplar", ("reference_id", "box"), at)
        colour, text = value.get("colour"), value.get("text")
        return p.Entity(
            self._words(value.get("name"), f"{at}.name"),
            self._words(exemplar.get("reference_id"), f"{at}.exemplar.reference_id"),
            self._box(exemplar.get("box"), f"{at}.exemplar.box"),
            None if colour is None else self._one_of(colour, p.COLOURS, f"{at}.colour"),
            None if text is None else self._words(text, f"{at}.text"),
        )

    def _bounds(
        self, value: dict[str, Json], at: str, kind: str, default: tuple[float, float] | None = None
    ) -> tuple[float, float]:
        lo, hi = default or p.DEFAULT_BOUNDS[kind]
        before = len(self.faults)
        if "lo" in value:
            lo = self._number(value["lo"], f"{at}.lo")
        if "hi" in value:
            hi = self._number(value["hi"], f"{at}.hi")
        if len(self.faults) == before and not lo < hi:
            self.fault(at, f"lo {lo:g} and hi {hi:g}", "lo below hi (each has a default; state both)")
        return lo, hi

    def _box(self, value: Json, at: str) -> p.Box:
        numbers = value if isinstance(value, list) else []
        if len(numbers) == 4 and all(_is_number(n) for n in numbers):
            x0, y0, x1, y1 = (float(n) for n in numbers)
            if 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1:
                return x0, y0, x1, y1
        self.fault(at, _shown(value), "a box [x0, y0, x1, y1] of fractions, 0 <= x0 < x1 <= 1 and 0 <= y0 < y1 <= 1")
        return _NO_BOX

    def _number(self, value: Json, at: str, low: float = -math.inf, high: float = math.inf) -> float:
        if _is_number(value) and low <= value <= high:
            return float(value)
        limits = "" if math.isinf(low) else f" from {low:g} to {high:g}"
        self.fault(at, _shown(value), f"a number{limits}")
        return 0.0

    def _whole(self, value: Json, at: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.fault(at, _shown(value), "a whole number, 0 or more")
        return 0

    def _words(self, value: Json, at: str) -> str:
        if isinstance(value, str) and value.strip():
            return value
        self.fault(at, _shown(value), "a text that is not empty")
        return ""

    def _one_of(self, value: Json, known: tuple[str, ...], at: str) -> str:
        if isinstance(value, str) and value in known:
            return value
        hint = _hint([value], known) if isinstance(value, str) else ""
        self.fault(at, _shown(value), f"one of {', '.join(known)}{hint}")
        return known[0]

    def _list(self, value: Json, at: str, least: int) -> list[Json]:
        if isinstance(value, list) and len(value) >= least:
            return value
        self.fault(at, _shown(value), f"a list of at least {least}")
        return []

    def _body(self, value: dict[str, Json], key: str, keys: tuple[str, ...], at: str) -> dict[str, Json]:
        body = value.get(key)
        if isinstance(body, dict):
            self._only(body, keys, f"{at}.{key}")
            return body
        self.fault(f"{at}.{key}", _shown(body), f"a mapping with {', '.join(keys)}")
        return {}

    def _only(self, value: dict[str, Json], keys: tuple[str, ...], at: str) -> None:
        for key in value:
            if key not in keys:
                self.fault(at, f"the key {key!r}", f"only {', '.join(keys)}{_hint([key], keys)}")


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -1e15 < value < 1e15


def _shown(value: Json) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _hint(words: Json, known: tuple[str, ...]) -> str:
    near = next((match for word in words if (match := nearest(str(word), known))), None)
    return f" (did you mean {near!r}?)" if near else ""
