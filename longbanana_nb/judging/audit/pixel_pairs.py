"""Minimal pairs from a run's own candidates by edits of pixels, for releases without graphs.

Only edits are made whose effect is certain, or nearly so, without knowing what the picture shows. They start from what this judge
answered on the run: where it said Pass, an edit that takes the ground from under the answer must bring it down.
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.files import canonical_json, sha256_bytes
from longbanana_nb.judging.audit import edits
from longbanana_nb.judging.audit.kinds import HARMLESS, INJECTION, SENTENCES, SIZES
from longbanana_nb.judging.audit.making import in_turn
from longbanana_nb.judging.audit.pairs import Expected, Pair, Side, pair_of
from longbanana_nb.release import parse_probe
from longbanana_nb.release import probes as p
from longbanana_nb.runs import FLOORS, verdict_grid

if TYPE_CHECKING:
    from longbanana_nb.release import Case, Check, Evaluation, Release
    from longbanana_nb.runs import Run

VERSION = "pixel-pairs-1"
SIDEWAYS = re.compile(
    r"\b(left|right)\s+(of|side|half|edge|third|quarter|to)\b|\b(to|on|at|from|in) the (far |very )?(left|right)\b"
)
LETTERS = re.compile(r"letter|text|word|caption|inscri|writ|read|label|sign|[\"“”]", re.IGNORECASE)
LIKENESS = re.compile(
    r"look like|looks like|same (as|object|person|item|one)|match(es)? (the|its) .*reference|bound reference", re.I
)
Edited = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Answered:
    """A check of one candidate with the label the judge gave it."""

    case: Case
    check: Check
    unit: Any
    probe: p.Probe | None
    label: int
    system: str
    sample: int
    sha256: str
    file: Path

    @property
    def is_positive(self) -> bool:
        """Whether units say that this check asks for something to be there."""
        return self.unit is not None and self.unit.polarity == "positive"


@dataclass(slots=True)
class Bench:
    """What the makers work on; `pictures` are the pictures made so far."""

    run_path: Path
    seed: int
    answered: list[Answered]
    evaluation: Evaluation
    pictures: dict[str, bytes] = field(default_factory=dict)

    def asks(self, case_id: str) -> set[str]:
        """The questions of a case."""
        return {check.question for check in self.evaluation.checks[case_id]}

    def edited(self, one: Answered, edit: Edited) -> str:
        """Make and keep an edited picture; its hash."""
        return self.kept(edit(one.file.read_bytes()))

    def kept(self, data: bytes) -> str:
        """Keep a picture; its hash."""
        sha256 = sha256_bytes(data)
        self.pictures[sha256] = data
        return sha256

    def own(self, one: Answered) -> Side:
        """The candidate as it is."""
        return Side(one.sha256, one.file.relative_to(self.run_path).as_posix())

    def pair(self, kind: str, one: Answered, after: Side, expected: Expected, words: str, push: int = 0) -> Pair:
        """A pair that starts from the candidate."""
        return pair_of(kind, "pixels", one.check, one.unit, expected, self.own(one), after, words, None, push)


def answered_checks(run: Run, release: Release, evaluation: Evaluation, judge: str) -> list[Answered]:
    """Every current valid answer of the judge on a candidate of a system that is no floor.

    Raises:
        CallError: where there is none.
    """
    grid = verdict_grid(run)
    mine = grid[(grid["judge"] == judge) & (grid["state"] == "valid")] if len(grid) else grid
    found = [one for row in mine.itertuples(index=False) if (one := _answered(run, release, evaluation, row)) is not None]
    if not found:
        raise CallError(
            f"audit: {judge!r} has no valid answer on a candidate of {run.path} yet, and pairs from pixels start from its "
            "answers. Run `longbanana-nb judge` on it first."
        )
    return found


def _answered(run: Run, release: Release, evaluation: Evaluation, row: Any) -> Answered | None:
    if row.judge_sample != 0 or run.systems[row.system].system().harness.kind in FLOORS:
        return None
    check = next((one for one in evaluation.checks[row.case_id] if one.check_id == row.check_id), None)
    slot = run.candidate(row.system, row.case_id, int(row.sample))
    record = slot.record()
    if check is None or record is None or record.image is None:
        return None
    value = evaluation.probes.get((row.case_id, row.check_id))
    probe = parse_probe(value, f"probe of {row.check_id!r}") if value is not None else None
    unit = evaluation.units.get((row.case_id, row.check_id))
    file = slot.folder / record.image.file
    case, label, sample = release.cases[row.case_id], int(row.label), int(row.sample)
    return Answered(case, check, unit, probe, label, row.system, sample, record.image.sha256, file)


def basis_of(answered: Sequence[Answered]) -> str:
    """A hash of what the pairs start from."""
    rows = sorted([one.system, one.case.case_id, one.sample, one.check.sha256, one.sha256, one.label] for one in answered)
    return sha256_bytes(canonical_json(rows))


def pairs_from_pixels(
    run: Run, evaluation: Evaluation, answered: list[Answered], *, per_kind: int, seed: int
) -> tuple[list[Pair], dict[str, bytes], Counter[tuple[str, str]]]:
    """Pairs by edits of pixels: pairs, their pictures, and what could not be made."""
    bench = Bench(run.path, seed, answered, evaluation)
    left_out: Counter[tuple[str, str]] = Counter()
    pairs: list[Pair] = []
    for kind, make in _MAKERS.items():
        made: list[Pair] = []
        for one in _in_order(answered, f"{seed} {kind}"):
            if len(made) >= per_kind:
                break
            result = make(bench, one, random.Random(f"{seed} {kind} {one.check.sha256} {one.sha256}"), len(made))
            if isinstance(result, Pair):
                made.append(result)
            else:
                left_out[kind, result] += 1
        pairs += made
    return pairs, bench.pictures, left_out


def _in_order(answered: Sequence[Answered], seed: str) -> Iterator[Answered]:
    """Case by case in turn, so that no case is asked twice before every case is asked once."""
    by_case: dict[str, list[Answered]] = defaultdict(list)
    for one in answered:
        by_case[one.case.case_id].append(one)
    chance = random.Random(seed)
    for members in by_case.values():
        chance.shuffle(members)
    cases = list(by_case.values())
    chance.shuffle(cases)
    yield from in_turn(cases)


UNPASSED = "this judge did not say Pass"
NOT_POSITIVE = "it does not ask for something to be there"
Made = Pair | str


def _other_case(bench: Bench, one: Answered, chance: random.Random, n: int) -> Made:
    if not one.is_positive or one.label != 2:
        return NOT_POSITIVE if not one.is_positive else UNPASSED
    others = [each for each in bench.answered if each.case.category != one.case.category and each.system == one.system]
    others = [each for each in others if one.check.question not in bench.asks(each.case.case_id)]
    if not others:
        return "no candidate of another category whose case does not ask the same"
    other = chance.choice(others)
    return bench.pair("other-case", one, bench.own(other), "flip_down", f"the candidate of case {other.case.case_id} instead")


def _words(bench: Bench, one: Answered, chance: random.Random, n: int) -> Made:
    if not one.is_positive or one.label != 2:
        return NOT_POSITIVE if not one.is_positive else UNPASSED
    if LETTERS.search(one.check.question) or isinstance(one.probe, p.Text | p.Palette | p.Not):
        return "its answer may lie in words"
    size = edits.pixels_of(one.file.read_bytes()).shape
    after = Side(bench.kept(edits.words_alone(one.check.question.rstrip("?"), (size[1], size[0]))))
    return bench.pair("words", one, after, "flip_down", "a grey picture with the words of the question")


def _mirror(bench: Bench, one: Answered, chance: random.Random, n: int) -> Made:
    if not _is_sideways(one):
        return "it does not turn on left and right"
    if one.label != 2:
        return UNPASSED
    after = Side(bench.edited(one, edits.mirrored))
    return bench.pair("mirror", one, after, "flip_down", "the whole picture mirrored")


def _is_sideways(one: Answered) -> bool:
    match one.probe:
        case p.Relation():
            return one.probe.is_ in ("left_of", "right_of")
        case p.Order():
            return one.probe.along == "x"
        case p.Region():
            return one.probe.within[2] <= 0.5 or one.probe.within[0] >= 0.5
        case None:
            return bool(SIDEWAYS.search(one.check.question.lower())) and not LETTERS.search(one.check.question)
        case _:
            return False


def _other_reference(bench: Bench, one: Answered, chance: random.Random, n: int) -> Made:
    bound = one.check.reference_ids
    if not (isinstance(one.probe, p.SameAs) or (one.probe is None and LIKENESS.search(one.check.question))) or not bound:
        return "it does not compare with a reference"
    if one.label != 2:
        return UNPASSED
    related = {
        name
        for check in bench.evaluation.checks[one.case.case_id]
        if set(check.reference_ids) & set(bound)
        for name in check.reference_ids
    }
    others = [reference.id for reference in one.case.references if reference.id not in related]
    if not others:
        return "every other reference is bound together with it"
    shown = chance.choice(others)
    value = None
    if isinstance(one.probe, p.SameAs):
        own = bench.evaluation.probes[(one.case.case_id, one.check.check_id)]
        value = {**own, "same_as": {**own["same_as"], "reference_id": shown, "box": [0.0, 0.0, 1.0, 1.0]}}
    after = Side(one.sha256, bench.own(one).file, dict.fromkeys(bound, shown), value)
    return bench.pair("other-reference", one, after, "flip_down", f"{shown} shown as {', '.join(bound)}")


def _inject(bench: Bench, one: Answered, chance: random.Random, n: int) -> Made:
    push = 1 if n % 2 == 0 else -1
    if one.label != (0 if push == 1 else 2):
        return "its answer leaves the sentence no way to push"
    sentence = chance.choice([text for text, way in SENTENCES if way == push])
    letters = SIZES[n // 2 % len(SIZES)]
    found = edits.injected(one.file.read_bytes(), sentence, letters)
    if found is None:
        return "no place for the sentence"
    words = f"{sentence!r} in letters of {letters:.1%} of the height"
    return bench.pair(INJECTION, one, Side(bench.kept(found[0])), "keep", words, push)


def _harmless(kind: str, edit: Edited) -> Callable[[Bench, Answered, random.Random, int], Made]:
    def make(bench: Bench, one: Answered, chance: random.Random, n: int) -> Made:
        return bench.pair(kind, one, Side(bench.edited(one, edit)), "keep", HARMLESS[kind])

    return make


_MAKERS: Mapping[str, Callable[[Bench, Answered, random.Random, int], Made]] = {
    "mirror": _mirror,
    "other-reference": _other_reference,
    "other-case": _other_case,
    "words": _words,
    INJECTION: _inject,
    "re-encoded": _harmless("re-encoded", edits.reencoded),
    "shifted": _harmless("shifted", edits.shifted),
    "resized": _harmless("resized", edits.resized),
}
