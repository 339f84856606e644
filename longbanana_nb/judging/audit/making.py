"""Making the pairs of an audit: of each kind so many, spread over cases and polarities, falls and rises in balance."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from longbanana_nb.errors import Incomplete
from longbanana_nb.judging.audit.kinds import KINDS, MUST_MOVE
from longbanana_nb.judging.audit.pairs import MadePairs, Pair, PairJob, Side, pair_of, turned
from longbanana_nb.judging.audit.store import AuditFolder, Making
from longbanana_nb.runs import Failure, each, graceful_stop, usual_workers
from longbanana_nb.runs.plan import PlannedCase

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import Run

PairMaker = Callable[[PairJob], MadePairs]
FEWEST_CASES = 9
OTHER_CASE = "other-case"


def pairs_from_graphs(
    run: Run, release: Release, evaluation: Evaluation, maker: str, *, per_kind: int, seed: int
) -> tuple[list[Pair], dict[str, bytes], Counter[tuple[str, str]]]:
    """Pairs made by a maker that knows graphs: pairs, their pictures, and what could not be made.

    Args:
        maker: "module:name" of a function that makes the pairs of one case; it works in other processes.
    """
    graphs = release.privileged()
    cases = spread(run.cases(), max(per_kind, FEWEST_CASES), seed)
    quota = -(-per_kind // len(cases)) + 1
    jobs = [_job(release, evaluation, case.case_id, graphs[case.case_id], quota, seed) for case in cases]
    found: dict[str, MadePairs] = {}
    with graceful_stop() as stop:
        work = [(maker, job) for job in jobs]
        for (_, job), result in each(carry_out, work, workers=usual_workers(), label="make pairs", stop=stop):
            if isinstance(result, Failure):
                raise Incomplete(f"The pairs of case {job.case.case_id!r} could not be made: {result.reason}")
            found[job.case.case_id] = result
        stop.require_complete(len(found), len(jobs), "cases of pairs")
    made = [found[case.case_id] for case in cases]
    left_out = sum((one.left_out for one in made), Counter[tuple[str, str]]())
    pairs = [pair for one in made for pair in one.pairs] + list(_other_cases(made, evaluation, seed, left_out))
    pictures = {sha256: data for one in made for sha256, data in one.pictures.items()}
    return pairs, pictures, left_out


def carry_out(work: tuple[str, PairJob]) -> MadePairs:
    """Make the pairs of one case with the maker of this name; the importable function that worker processes call."""
    name, job = work
    module, _, function = name.partition(":")
    make: PairMaker = getattr(import_module(module), function)
    return make(job)


def _job(release: Release, evaluation: Evaluation, case_id: str, graph: Mapping[str, Any], quota: int, seed: int) -> PairJob:
    units = {check_id: unit for (case, check_id), unit in evaluation.units.items() if case == case_id}
    probes = {check_id: probe for (case, check_id), probe in evaluation.probes.items() if case == case_id}
    return PairJob(release.cases[case_id], tuple(evaluation.checks[case_id]), units, probes, graph, quota, seed)


def spread(cases: Sequence[PlannedCase], number: int, seed: int) -> list[PlannedCase]:
    """So many cases, category by category in turn, within a category in an order drawn by the seed."""
    by_category: dict[str, list[PlannedCase]] = defaultdict(list)
    for case in cases:
        by_category[case.category].append(case)
    for category, members in by_category.items():
        random.Random(f"{seed} {category}").shuffle(members)
    return list(in_turn(by_category.values()))[:number]


def in_turn(groups: Iterable[Sequence[Any]]) -> Iterator[Any]:
    """The first of each group, then the second of each, and so on."""
    lists = [list(group) for group in groups]
    for n in range(max(map(len, lists), default=0)):
        yield from (group[n] for group in lists if n < len(group))


def _other_cases(
    made: Sequence[MadePairs], evaluation: Evaluation, seed: int, left_out: Counter[tuple[str, str]]
) -> Iterator[Pair]:
    """A positive check that holds on its own drawing, asked of a drawing on which nothing of what it asks for stands."""
    for one in made:
        checks = {check.check_id: check for check in evaluation.checks[one.case_id]}
        chance = random.Random(f"{seed} other {one.case_id}")
        asked = sorted(one.asks)
        chance.shuffle(asked)
        for check_id in asked[:2]:
            others = [each for each in made if each.base not in (None, one.base) and not each.shows & one.asks[check_id]]
            if not others or one.base is None:
                left_out[OTHER_CASE, "every other case shows such an object too"] += 1
                continue
            other = chance.choice(others)
            unit = evaluation.units.get((one.case_id, check_id))
            sides = Side(one.base), Side(other.base or "")
            words = f"the drawing of {other.case_id} instead"
            yield pair_of(OTHER_CASE, "graph", checks[check_id], unit, "flip_down", *sides, words, (2, 0))


def chosen(pairs: Iterable[Pair], per_kind: int, seed: int) -> list[Pair]:
    """Of each kind at most so many, cases and polarities in turn; every second must-move pair is turned, a rise first."""
    by_kind: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_kind[pair.kind].append(pair)
    kept: list[Pair] = []
    for kind in KINDS:
        some = _varied(by_kind[kind], seed)[:per_kind]
        can_turn = kind in MUST_MOVE
        kept += [turned(pair) if can_turn and n % 2 == 0 else pair for n, pair in enumerate(some)]
    return kept


def _varied(pairs: Sequence[Pair], seed: int) -> list[Pair]:
    """The pairs of one kind so ordered that any first few differ in polarity, direction of a sentence, and case."""
    groups: dict[tuple[str, int], dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in sorted(pairs, key=lambda pair: pair.id):
        side = 0 if pair.truth is None or pair.expected != "keep" else 1 + pair.truth[0]
        groups[pair.polarity or "", side][pair.case_id].append(pair)
    orders = []
    for key, by_case in sorted(groups.items()):
        cases = sorted(by_case)
        random.Random(f"{seed} {key}").shuffle(cases)
        orders.append(list(in_turn([by_case[case] for case in cases])))
    return list(in_turn(orders))


def placed(folder: AuditFolder, pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs with the places of their made pictures, as seen from the run's folder."""

    def side(one: Side) -> Side:
        file = one.file or folder.file(one.picture).relative_to(folder.run_path).as_posix()
        return msgspec.structs.replace(one, file=file)

    return [msgspec.structs.replace(pair, before=side(pair.before), after=side(pair.after)) for pair in pairs]


def keep_pairs(
    folder: AuditFolder, making: Making, pairs: Sequence[Pair], pictures: Mapping[str, bytes], left_out: Counter[tuple[str, str]]
) -> None:
    """Choose among the pairs, and write them with the pictures they name."""
    kept = placed(folder, chosen(pairs, making.per_kind, making.seed))
    named = {side.picture for pair in kept for side in (pair.before, pair.after)}
    reasons = [(kind, reason, number) for (kind, reason), number in sorted(left_out.items())]
    made = {pair.kind for pair in kept}
    reasons += [(kind, "no pair could be made", 0) for kind in KINDS if kind not in made]
    making = msgspec.structs.replace(making, left_out=reasons)
    folder.save(making, kept, {sha256: data for sha256, data in pictures.items() if sha256 in named})
