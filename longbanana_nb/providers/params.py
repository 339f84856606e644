"""What parameters of a model may be: rules from the catalogue, checked before anything is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from longbanana_nb.names import nearest


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One parameter: one of some words, a number between bounds, a flag or a text. `through` names a special way to send it."""

    of: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    whole: bool = False
    flag: bool = False
    text: bool = False
    through: str | None = None

    def fault(self, value: Any) -> str | None:
        """What should have been there instead of `value`, or None where it is fine."""
        if self.of:
            return None if isinstance(value, str) and value in self.of else "one of " + ", ".join(self.of)
        if self.flag:
            return None if isinstance(value, bool) else "true or false"
        if self.text:
            return None if isinstance(value, str) and value else "a text"
        return None if self._is_in_bounds(value) else self._bounds()

    def _is_in_bounds(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return False
        if self.whole and value != int(value):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def _bounds(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        low = f" from {self.low:g}" if self.low is not None else ""
        return f"{kind}{low}{f' to {self.high:g}' if self.high is not None else ''}"


def faults(rules: Mapping[str, Rule], params: Mapping[str, Any]) -> list[str]:
    """Everything that is wrong with `params`, as sentences."""
    found = []
    for name, value in params.items():
        rule = rules.get(name)
        if rule is None:
            found.append(_unknown(name, rules))
        elif (expected := rule.fault(value)) is not None:
            found.append(f"{name} is {value!r}; expected {expected}")
    return found + _together(rules, params)


def _unknown(name: str, rules: Mapping[str, Rule]) -> str:
    near = nearest(name, rules)
    offer = f"did you mean {near}?" if near else f"it takes {', '.join(sorted(rules)) or 'none'}"
    return f"it takes no {name} ({offer})"


def _together(rules: Mapping[str, Rule], params: Mapping[str, Any]) -> list[str]:
    """What does not go together, for models that think within a budget."""
    if "thinking_budget" not in rules:
        return []
    is_enabled, has_budget = params.get("thinking") == "enabled", "thinking_budget" in params
    if is_enabled != has_budget:
        return ["thinking: enabled and thinking_budget go together"]
    if params.get("thinking") not in (None, "disabled") and params.get("temperature") not in (None, 1):
        return ["a temperature other than 1 and thinking do not go together"]
    return []
