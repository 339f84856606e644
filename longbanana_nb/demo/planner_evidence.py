"""Evidence of the embedded agent model: what it reads in cuts of the references, and what it then chooses to send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from longbanana_nb.demo.eye import Box, Percept
from longbanana_nb.demo.planner_case import CANDIDATES, Task, clearest, is_confirmed, shown_as
from longbanana_nb.demo.sketch_wishes import Sight, Wish
from longbanana_nb.generation import ToolCall
from longbanana_nb.generation.tools import CROP

MARGIN = 0.2
"""Of a thing's size, left around it in a cut: the eye parts a thing from its backdrop, and needs some."""


@dataclass(frozen=True, slots=True)
class CloseUp:
    """One cut that is wanted: which wish it serves, where it lies, and what was seen there from afar."""

    wish: Wish
    reference: str
    box: Box
    is_donor: bool

    def call(self) -> ToolCall:
        """The tool call that makes it."""
        return ToolCall(CROP, {"reference": self.reference, "box": [round(edge, 4) for edge in self.box]})


def close_ups(task: Task) -> list[CloseUp]:
    """The cuts to look at: the likeliest pictures of each thing, all that are counted over, and those whose colour is taken."""
    found = []
    for wish in task.commission.wishes if task.commission is not None else ():
        right = task.sights_of(wish)
        things = right if wish.count is None else clearest(wish, right)[:CANDIDATES]
        found += [_close_up(task, wish, sight, is_donor=False) for sight in things]
        found += [_close_up(task, wish, sight, is_donor=True) for sight in task.donors(wish)[:CANDIDATES]]
    return found


def _close_up(task: Task, wish: Wish, sight: Sight, *, is_donor: bool) -> CloseUp:
    x0, y0, x1, y1 = sight.seen.box
    wide, high = MARGIN * (x1 - x0), MARGIN * (y1 - y0)
    box = (max(0.0, x0 - wide), max(0.0, y0 - high), min(1.0, x1 + wide), min(1.0, y1 + high))
    return CloseUp(wish, task.id_of(sight.percept), box, is_donor)


def evidence_of(task: Task, read: Sequence[tuple[CloseUp, Percept | None]]) -> dict[str, Any]:
    """`evidence.json` as values: for each wish where it was found, confirmed cuts first; what was not found is `unclear`."""
    findings, unclear = [], []
    for name in task.backdrop():
        percept = task.percepts.get(name) or task.backgrounds[name]
        findings.append({"demand": "the backdrop", "references": [name], "seen": f"{percept.card or percept.backdrop} backdrop"})
    for wish in task.commission.wishes if task.commission is not None else ():
        for is_donor in (False, True):
            mine = [(cut, percept) for cut, percept in read if cut.wish is wish and cut.is_donor == is_donor]
            if mine:
                findings.append(_finding(wish, mine, is_donor=is_donor))
        if not any(cut.wish is wish and not cut.is_donor for cut, _ in read):
            unclear.append(f"{wish.key}: no reference shows it")
    return {"findings": findings or [{"demand": "the prompt", "references": list(task.percepts)[:1], "seen": "nothing of it"}],
            "unclear": unclear}  # fmt: skip


def _finding(wish: Wish, mine: Sequence[tuple[CloseUp, Percept | None]], *, is_donor: bool) -> dict[str, Any]:
    wanted = Wish("", wish.colour_of or "", colour=wish.colour_of_colour) if is_donor else wish
    ranked = sorted(mine, key=lambda one: not _confirms(wanted, one[1]))
    first, percept = ranked[0]
    names = list(dict.fromkeys(cut.reference for cut, _ in ranked))
    seen = _seen(percept)
    told = seen if _confirms(wanted, percept) else f"{seen}, which does not look like it"
    demand = f"the colour of {wish.key}" if is_donor else wish.key
    return {"demand": demand, "references": names, "seen": told, "box": [round(edge, 4) for edge in first.box]}


def _confirms(wish: Wish, percept: Percept | None) -> bool:
    return percept is not None and any(is_confirmed(wish, seen) for seen in percept.seen)


def _seen(percept: Percept | None) -> str:
    if percept is None or not percept.seen:
        return "nothing that can be told"
    return shown_as(max(percept.seen, key=lambda one: (one.box[2] - one.box[0]) * (one.box[3] - one.box[1])))


def reasons_of(task: Task, evidence: Mapping[str, Any]) -> dict[str, str]:
    """The references to send by the evidence, with the reason: the first of each finding, all of what is counted over."""
    counted = {wish.key for wish in task.commission.wishes if wish.count is None} if task.commission is not None else set()
    reasons: dict[str, str] = {}
    for finding in evidence["findings"]:
        demand = str(finding["demand"]).removeprefix("the colour of ")
        names = finding["references"] if demand in counted else finding["references"][:1]
        for name in names:
            reasons.setdefault(name, demand)
    return reasons
