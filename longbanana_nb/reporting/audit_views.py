"""Pairs of an audit side by side with what the judge answered, for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import read_json_lines
from longbanana_nb.reporting.gallery import CAPTIONS, Drawing
from longbanana_nb.reporting.shown import Shown, row_of, thumbnail, tile
from longbanana_nb.taxonomy import LABEL_NAMES

if TYPE_CHECKING:
    from longbanana_nb.runs import Run

SIDES = ("before", "after")


def audit_figure(told: Mapping[str, Any]) -> Drawing:
    """An audit's figure, for a notebook."""
    from longbanana_nb.reporting.figures import audit_dots, audit_dots_alt

    return Drawing.of(audit_dots(told), "audit", audit_dots_alt(told), CAPTIONS["audit"])


def pair_view(run: Run, told: Mapping[str, Any], pair_id: str, *, width: int = 250) -> Shown:
    """The two pictures of a pair with the judge's answers, under the question and the edit.

    Args:
        told: the audit (`lb.audit.v1`).
        pair_id: one of its pairs.
    """
    pair = _pairs(run, told)[pair_id]
    given = next(one for one in told["outcomes"] if one["pair"] == pair_id)
    questions = {(check.case_id, check.check_id): check.question for check in run.checks()}
    asked = questions.get((pair["case_id"], pair["check_id"]), pair["check_id"])
    tiles = []
    for side in SIDES:
        said = _said(given[side])
        alt = f"{side} the edit: {pair['edit']}; the judge says {said}"
        picture = thumbnail(run.path / pair[side]["file"], 2 * width)
        tiles.append(tile(picture, f"{side}: {said}", alt, width=width, note=_shown(pair[side])))
    must = {"keep": "must not change", "flip_down": "must fall", "flip_up": "must rise"}[pair["expected"]]
    title = f"{pair['kind']}: {pair['edit']}; the answer {must}. {asked}"
    return Shown(row_of(tiles, title), f"{title} {', '.join(f'{side} {_said(given[side])}' for side in SIDES)}")


def telling_pairs(told: Mapping[str, Any], number: int = 3) -> list[str]:
    """Some pairs worth a look: first those the judge got wrong, then one of each kind."""
    wrong = [one["pair"] for one in told["outcomes"] if one["right"] is False]
    firsts: dict[str, str] = {}
    for one in told["outcomes"]:
        firsts.setdefault(one["kind"], one["pair"])
    return list(dict.fromkeys([*wrong, *firsts.values()]))[:number]


def _pairs(run: Run, told: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    path = run.path / "audits" / told["judge"] / "pairs.jsonl"
    return {pair["id"]: pair for _, pair in read_json_lines(path)}


def _said(label: int | None) -> str:
    return "no valid answer" if label is None else LABEL_NAMES[label]


def _shown(side: Mapping[str, Any]) -> str:
    exchanged = [f"{shown} as {name}" for name, shown in side.get("references", {}).items()]
    return f"shown: {', '.join(exchanged)}" if exchanged else ""
