"""An audit from end to end: pairs made or found, every side asked once, numbers written; all of it can be killed and resumed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from longbanana_nb.errors import CallError
from longbanana_nb.judging.audit import making as maker
from longbanana_nb.judging.audit import pixel_pairs
from longbanana_nb.judging.audit.asking import Asked, Asker, Questions, ask_all
from longbanana_nb.judging.audit.numbers import Outcome, numbers, repeats
from longbanana_nb.judging.audit.pairs import Pair, Side
from longbanana_nb.judging.audit.store import AuditFolder, Making, write_json
from longbanana_nb.judging.units import by_key, newest_answer
from longbanana_nb.runs import JudgeSpec, Judgment, reusable_answers

if TYPE_CHECKING:
    from longbanana_nb.release import Evaluation, Release
    from longbanana_nb.runs import Run

USUAL_PAIRS = 12
SourceChoice = Literal["auto", "graph", "pixels"]


@dataclass(frozen=True, slots=True)
class GraphMaker:
    """A maker of pairs from graphs, handed down from above: "module:name" of its function, and its version."""

    function: str
    version: str


@dataclass(slots=True)
class Bench:
    """One judge under audit on one run."""

    run: Run
    release: Release
    evaluation: Evaluation
    profile: JudgeSpec
    judge_sha256: str
    asker: Asker

    @property
    def folder(self) -> AuditFolder:
        """Where the audit lies."""
        return AuditFolder(self.run, self.profile.name)

    def questions(self) -> Questions:
        """The questions of this judge on this release."""
        return Questions(self.run, self.release, self.evaluation, self.profile, self.judge_sha256)


def audit_judge(
    bench: Bench,
    *,
    per_kind: int = USUAL_PAIRS,
    seed: int = 1,
    source: SourceChoice = "auto",
    graph_maker: GraphMaker | None = None,
) -> dict[str, Any]:
    """Audit one judge by minimal pairs; returns what is written to `audits/<judge>/audit.json` (`lb.audit.v1`).

    Args:
        per_kind: pairs of each kind, as far as they can be made.
        source: "graph" makes pictures from the release's graphs, "pixels" edits the run's candidates, "auto" takes graphs where
            there is a maker for them.
        graph_maker: the maker for this release, None where there is none.

    Raises:
        CallError: where the pairs asked for cannot be made here. Incomplete: after an interruption, at the end of the budget, or
            where pictures could not be judged; what was answered is kept, and the numbers of what is there are written.
    """
    if bench.profile.protocol == "truth":
        raise CallError(f"audit: {bench.profile.name!r} looks at no pixel; it reads what the picture was made from.")
    if per_kind < 1:
        raise CallError(f"audit: found {per_kind} pairs of a kind; expected at least 1.")
    if source == "graph" and graph_maker is None:
        raise CallError(
            f"audit: nothing here makes pairs from the graphs of {bench.release.name}. Take --source pixels: edits of the run's "
            "own candidates."
        )
    with bench.run.owner():
        _make(bench, per_kind, seed, graph_maker if source != "pixels" else None)
        pairs = bench.folder.pairs()
        asked = _asked(bench, pairs)
        own = reusable_answers([bench.run.path])
        try:
            ask_all(asked.values(), bench.folder.answers, bench.profile, bench.asker, own)
        finally:
            told = tell(bench, pairs, asked)
    return told


def _make(bench: Bench, per_kind: int, seed: int, graph_maker: GraphMaker | None) -> None:
    """Make the pairs, unless the same ones stand there whole."""
    folder, release = bench.folder, bench.release

    def making_of(source: str, version: str, basis: str = "") -> Making:
        return Making(release.name, release.revision, source, version, per_kind, seed, basis)

    if graph_maker is not None:
        making = making_of("graph", graph_maker.version)
        if not folder.has_whole(making):
            made = maker.pairs_from_graphs(
                bench.run, release, bench.evaluation, graph_maker.function, per_kind=per_kind, seed=seed
            )
            maker.keep_pairs(folder, making, *made)
        return
    answered = pixel_pairs.answered_checks(bench.run, release, bench.evaluation, bench.profile.name)
    making = making_of("pixels", pixel_pairs.VERSION, pixel_pairs.basis_of(answered))
    if not folder.has_whole(making):
        made = pixel_pairs.pairs_from_pixels(bench.run, bench.evaluation, answered, per_kind=per_kind, seed=seed)
        maker.keep_pairs(folder, making, *made)


Place = tuple[str, str, int]  # pair, "before" or "after", judge sample


def _asked(bench: Bench, pairs: Sequence[Pair]) -> dict[Place, Asked]:
    questions = bench.questions()
    return {
        (pair.id, name, sample): questions.asked(pair.case_id, pair.check_id, side, sample)
        for sample in range(bench.profile.samples)
        for pair in pairs
        for name, side in _sides(pair)
    }


def _sides(pair: Pair) -> tuple[tuple[str, Side], tuple[str, Side]]:
    return ("before", pair.before), ("after", pair.after)


def tell(bench: Bench, pairs: Sequence[Pair], asked: Mapping[Place, Asked]) -> dict[str, Any]:
    """Work out and write the numbers of what is answered now."""
    told = _told(bench, pairs, asked)
    write_json(bench.folder.numbers, told)
    return told


def retold(bench: Bench) -> dict[str, Any]:
    """The numbers that the pairs and answers there give now; nothing is asked and nothing written."""
    pairs = bench.folder.pairs()
    return _told(bench, pairs, _asked(bench, pairs))


def _told(bench: Bench, pairs: Sequence[Pair], asked: Mapping[Place, Asked]) -> dict[str, Any]:
    folder = bench.folder
    found = {key: newest_answer(given) for key, given in by_key(folder.answers.read()).items()}
    given = {place: found.get(one.key) for place, one in asked.items()}
    outcomes = [_outcome(pair, given) for pair in pairs]
    making = folder.making()
    stands = [one for one in given.values() if one is not None]
    questions = {one.key for one in asked.values()}
    return {
        "schema": "lb.audit.v1",
        "judge": bench.profile.name,
        "judge_sha256": bench.judge_sha256,
        "at": max((one.at for one in stands), default=None),
        **({} if making is None else _how(making)),
        "pairs": len(pairs),
        "complete": len(questions - found.keys()) == 0,
        "questions": len(questions),
        "answered": len(questions & found.keys()),
        "models": sorted({one.model for one in stands if one.model}),
        "cost_usd": sum({one.key: one.cost_usd for one in stands}.values()),
        **numbers(outcomes),
        "repeats": _repeats(bench, pairs, given),
        "outcomes": [one.as_json() for one in outcomes],
    }


def _how(making: Making) -> dict[str, Any]:
    left_out = [{"kind": kind, "reason": reason, "checks": number} for kind, reason, number in making.left_out]
    fields = ("release", "revision", "source", "maker", "per_kind", "seed")
    return {**{name: getattr(making, name) for name in fields}, "left_out": left_out}


def _outcome(pair: Pair, given: Mapping[Place, Judgment | None]) -> Outcome:
    before, after = (given.get((pair.id, name, 0)) for name in ("before", "after"))
    reasons = tuple(
        "not_asked" if one is None else str(one.invalid) for one in (before, after) if one is None or one.label is None
    )
    return Outcome(pair, before.label if before else None, after.label if after else None, reasons)


def _repeats(bench: Bench, pairs: Sequence[Pair], given: Mapping[Place, Judgment | None]) -> dict[str, Any] | None:
    """Agreement of the judge's own samples on each question; None where the profile asks once."""
    if bench.profile.samples < 2:
        return None
    by_side: dict[tuple[str, str], list[int | None]] = {}
    seen = set()
    for pair in pairs:
        for name, side in _sides(pair):
            asked = (pair.case_id, pair.check_id, side.picture, str(side.references))
            if asked not in seen:
                seen.add(asked)
                samples = [given.get((pair.id, name, n)) for n in range(bench.profile.samples)]
                by_side[pair.id, name] = [one.label if one is not None else None for one in samples]
    return {"samples": bench.profile.samples, **repeats(by_side.values())}
