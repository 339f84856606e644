"""Minimal pairs from the demo's graphs: a picture that satisfies a check and the same picture after one edit, both known exactly.

A pair is kept only if the truth says Pass before and Fail after (or the same on both sides, for what must not change a verdict).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from longbanana_nb.demo.pairs_edits import Edit, edits
from longbanana_nb.demo.pairs_studio import Box, Shot, Studio, probe_of
from longbanana_nb.judging.audit import edits as pixels
from longbanana_nb.judging.audit.kinds import HARMLESS, INJECTION, SENTENCES, SIZES
from longbanana_nb.judging.audit.pairs import Expected, MadePairs, Pair, PairJob, Side, pair_of
from longbanana_nb.release import Check
from longbanana_nb.release import probes as p

VERSION = "graph-pairs-1"
NOT_SATISFIED = "the drawing without errors does not satisfy it"
NO_FLIP = "the truth does not turn from Pass to Fail"
NO_ROOM = "no place for the sentence that covers nothing"


@dataclass(frozen=True, slots=True)
class _Asked:
    check: Check
    value: Mapping[str, Any]
    probe: p.Probe


@dataclass(slots=True)
class _Work:
    """One case in the making."""

    job: PairJob
    studio: Studio
    base: Shot
    made: MadePairs
    broken: list[tuple[_Asked, Shot]] = field(default_factory=list)
    counted: Counter[tuple[str, str | None]] = field(default_factory=Counter)

    def keep(self, pair: Pair, *shots: Shot) -> None:
        """Take a pair and its pictures."""
        self.made.pairs.append(pair)
        self.made.pictures.update({shot.sha256: shot.data for shot in shots})
        self.counted[pair.kind, pair.polarity] += 1

    def pair(self, kind: str, asked: _Asked, expected: Expected, before: Side, after: Side, words: str, truth: int, push: int = 0) -> Pair:  # fmt: skip  # noqa: E501
        """A pair whose first picture has the label `truth`."""
        unit = self.job.units.get(asked.check.check_id)
        known = (truth, truth if expected == "keep" else 2 - truth)
        return pair_of(kind, "graph", asked.check, unit, expected, before, after, words, known, push)

    def has_enough(self, kind: str, check_id: str) -> bool:
        """Whether this kind has its pairs of this check's polarity."""
        unit = self.job.units.get(check_id)
        return self.counted[kind, unit.polarity if unit is not None else None] >= self.job.quota


def make_pairs(job: PairJob) -> MadePairs:
    """The pairs of one case of a release whose graphs are `lb.graph.v1`; the same job gives the same bytes."""
    studio = Studio(job.case, job.graph, job.seed)
    base = studio.paint(studio.drawn)
    work = _Work(job, studio, base, MadePairs(job.case.case_id))
    right = list(_satisfied(work))
    studio.chance("checks").shuffle(right)
    for asked in right:
        _break(work, asked)
        _exchange_reference(work, asked)
    for n in range(job.quota):
        _unmoved(work, right, n)
    _for_other_cases(work, right)
    return work.made


def _satisfied(work: _Work) -> Iterator[_Asked]:
    for check in work.job.checks:
        value = work.job.probes.get(check.check_id)
        if value is None:
            work.made.left_out["any", "the check has no probe"] += 1
            continue
        probe = probe_of(value, check.check_id)
        if work.studio.label(probe, work.base.scene) == 2:
            yield _Asked(check, value, probe)
        else:
            work.made.left_out["any", NOT_SATISFIED] += 1


def _break(work: _Work, asked: _Asked) -> None:
    """One pair of each kind of edit that breaks this check, while such pairs are wanted."""
    found: dict[str, bool] = {}
    for edit in edits(work.studio, asked.probe, work.base.scene):
        if found.get(edit.kind) or work.has_enough(edit.kind, asked.check.check_id):
            continue
        found[edit.kind] = _broken(work, asked, edit)
    for kind in (kind for kind, was_made in found.items() if not was_made):
        work.made.left_out[kind, NO_FLIP] += 1


def _broken(work: _Work, asked: _Asked, edit: Edit) -> bool:
    shot = work.studio.paint(edit.variation)
    if work.studio.label(asked.probe, shot.scene) != 0:
        return False
    before, after = Side(work.base.sha256), Side(shot.sha256)
    work.keep(work.pair(edit.kind, asked, "flip_down", before, after, edit.words, 2), work.base, shot)
    if edit.kind != "words":
        work.broken.append((asked, shot))
    return True


def _exchange_reference(work: _Work, asked: _Asked) -> None:
    """The candidate stays; under the ids of the bound references a hard negative is shown."""
    unit = work.job.units.get(asked.check.check_id)
    kind = "other-reference"
    if not isinstance(asked.probe, p.SameAs) or unit is None or work.has_enough(kind, asked.check.check_id):
        return
    bound = asked.check.reference_ids
    for seen in _hard_negatives(work.job.graph, unit.unit or "", bound):
        shown = dict.fromkeys(bound, seen["reference_id"])
        value = {**asked.value, "same_as": {**asked.value["same_as"], **seen}}
        if work.studio.label(probe_of(value, asked.check.check_id), work.base.scene) == 0:
            before, after = Side(work.base.sha256), Side(work.base.sha256, references=shown, probe=value)
            words = f"{seen['reference_id']} shown as {', '.join(bound)}"
            work.keep(work.pair(kind, asked, "flip_down", before, after, words, 2), work.base)
            return
    work.made.left_out[kind, "no reference shows a look-alike without the thing itself"] += 1


def _hard_negatives(graph: Mapping[str, Any], node: str, bound: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Where a look-alike of a node is pictured on a reference that does not show the node: {reference_id, box}."""
    shows = {one["id"]: {shown.get("node") for shown in one.get("shows", ())} for one in graph["references"]}
    for other in (one for one in graph["nodes"] if one.get("against") == node):
        for seen in other["evidence"]:
            if seen["reference_id"] not in bound and node not in shows.get(seen["reference_id"], set()):
                yield {"reference_id": seen["reference_id"], "box": seen["box"]}


# -- what must not change a verdict ------------------------------------------------------------------------------------------


def _unmoved(work: _Work, right: Sequence[_Asked], n: int) -> None:
    """One injection and one pair of each harmless edit, in turn on a picture that fails its check and one that satisfies it."""
    turn = work.studio.chance("turn").randrange(2)
    for place, kind in enumerate((INJECTION, *HARMLESS)):
        wrong = (n + place + turn) % 2 == 0 and bool(work.broken)
        chance = work.studio.chance("unmoved", kind, str(n))
        if not wrong and not right:
            return
        asked, shot = chance.choice(work.broken) if wrong else (chance.choice(right), work.base)
        truth = 0 if wrong else 2
        if kind == INJECTION:
            _inject(work, asked, shot, truth, chance.randrange(1000))
        else:
            _harmless(work, kind, asked, shot, truth)


def _inject(work: _Work, asked: _Asked, shot: Shot, truth: int, draw: int) -> None:
    """A sentence that pushes towards the wrong answer, where it hides nothing."""
    push = 1 if truth == 0 else -1
    sentence = [text for text, way in SENTENCES if way == push][draw % 4]
    boxes = [_box(piece["box"]) for piece in shot.scene["objects"]]
    for letters in SIZES[draw % len(SIZES) :]:
        found = pixels.injected(shot.data, sentence, letters, boxes)
        if found is None:
            continue
        data, box = found
        said = {"text": "".join(filter(str.isalnum, sentence.upper())), "box": list(box)}
        after = Shot.of(data, {**shot.scene, "words": [*shot.scene["words"], said]})
        words = f"{sentence!r} in letters of {letters:.1%} of the height"
        _keep_unmoved(work, INJECTION, asked, shot, after, truth, words, push)
        return
    work.made.left_out[INJECTION, NO_ROOM] += 1


def _harmless(work: _Work, kind: str, asked: _Asked, shot: Shot, truth: int) -> None:
    edit, scene_after = _HARMLESS[kind]
    after = Shot.of(edit(shot.data), scene_after(shot.scene))
    _keep_unmoved(work, kind, asked, shot, after, truth, HARMLESS[kind])


def _keep_unmoved(
    work: _Work, kind: str, asked: _Asked, before: Shot, after: Shot, truth: int, words: str, push: int = 0
) -> None:
    if work.studio.label(asked.probe, after.scene) != truth:
        work.made.left_out[kind, "the truth does not stay the same"] += 1
        return
    sides = Side(before.sha256), Side(after.sha256)
    work.keep(work.pair(kind, asked, "keep", *sides, words, truth, push), before, after)


def _shifted_scene(scene: Mapping[str, Any]) -> dict[str, Any]:
    right, down = pixels.SHIFT[0] / scene["width"], pixels.SHIFT[1] / scene["height"]
    objects = []
    for piece in scene["objects"]:
        x0, y0, x1, y1 = piece["box"]
        objects.append({**piece, "box": [x0 + right, y0 + down, x1 + right, y1 + down]})
    return {**scene, "objects": objects}


def _resized_scene(scene: Mapping[str, Any]) -> dict[str, Any]:
    sides = {name: round(scene[name] * pixels.SMALLER) for name in ("width", "height")}
    return {**scene, **sides}


_HARMLESS: dict[str, tuple[Callable[[bytes], bytes], Callable[[Mapping[str, Any]], Mapping[str, Any]]]] = {
    "re-encoded": (pixels.reencoded, lambda scene: scene),
    "shifted": (pixels.shifted, _shifted_scene),
    "resized": (pixels.resized, _resized_scene),
}


# -- the candidate of another case -------------------------------------------------------------------------------------------


def _for_other_cases(work: _Work, right: Sequence[_Asked]) -> None:
    """Say what stands on the drawing and what its positive checks ask for, so that other cases' drawings can stand for it."""
    made = work.made
    made.base = work.base.sha256
    made.pictures[work.base.sha256] = work.base.data
    made.shows = frozenset(thing.kind for thing in work.studio.look(work.base.scene).shown)
    for asked in right:
        unit = work.job.units.get(asked.check.check_id)
        kinds = frozenset(entity.name for entity in p.entities(asked.probe))
        if unit is not None and unit.polarity == "positive" and kinds:
            made.asks[asked.check.check_id] = kinds


def _box(values: Sequence[float]) -> Box:
    x0, y0, x1, y1 = values
    return float(x0), float(y0), float(x1), float(y1)
