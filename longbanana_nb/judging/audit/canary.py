"""A canary set: questions frozen with the hashes of their pictures, asked again on another day, and what has drifted since."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from longbanana_nb.errors import CallError
from longbanana_nb.judging.audit.asking import Asked, Questions, ask_all
from longbanana_nb.judging.audit.making import in_turn
from longbanana_nb.judging.audit.numbers import Row, mean_shift, rate
from longbanana_nb.judging.audit.pairs import Side
from longbanana_nb.judging.audit.store import read_rows, write_json, write_rows
from longbanana_nb.judging.units import by_key, newest_answer
from longbanana_nb.runs import Judgment, current_record

if TYPE_CHECKING:
    from pathlib import Path

    from longbanana_nb.judging.audit.running import Bench

USUAL_UNITS = 100


class CanaryUnit(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One frozen question: a check of a candidate whose picture has this hash, at this place in the run."""

    system: str
    case_id: str
    sample: int
    check_id: str
    check_sha256: str
    picture: str
    file: str
    release_revision: str
    schema: Literal["lb.canary.v1"] = "lb.canary.v1"


def ask_canary(bench: Bench, *, units: int = USUAL_UNITS, seed: int = 1) -> dict[str, Any]:
    """Freeze the canary set of a run on the first call, and ask a judge all of it once more; returns and writes the drift.

    A round that was cut short is finished; when the last one is whole, a new one begins. Each round is a sample of its own, so
    nothing is taken from what was answered before.

    Raises:
        CallError: where the run has no candidate, or the set was frozen on another revision. DataError: where a picture of the
            set was changed. Incomplete: as `audit_judge`.
    """
    if bench.profile.protocol == "truth":
        raise CallError(f"audit: {bench.profile.name!r} looks at no pixel; it cannot drift.")
    with bench.run.owner():
        frozen = _frozen(bench, units, seed)
        journal, questions = bench.folder.canary_answers, bench.questions()

        round_of = partial(_asked, questions, frozen)
        number = _next_round(round_of, by_key(journal.read()))
        asked = round_of(number)
        for one in asked:
            one.picture.read()
        try:
            ask_all(asked, journal, bench.profile, bench.asker, {})
        finally:
            told = _drift(bench, frozen, [round_of(n) for n in range(number + 1)])
            write_json(bench.folder.canary_numbers, told)
    return told


def retold(bench: Bench) -> dict[str, Any]:
    """The drift that the answers there give now; nothing is asked and nothing written."""
    frozen, questions = read_rows(canary_file(bench.run.path), CanaryUnit), bench.questions()
    given, rounds = by_key(bench.folder.canary_answers.read()), [_asked(questions, frozen, 0)]
    later = _asked(questions, frozen, 1)
    while any(one.key in given for one in later):
        rounds.append(later)
        later = _asked(questions, frozen, len(rounds))
    return _drift(bench, frozen, rounds)


def _asked(questions: Questions, frozen: Sequence[CanaryUnit], n: int) -> list[Asked]:
    """The questions of a round."""
    return [questions.asked(one.case_id, one.check_id, Side(one.picture, one.file), n) for one in frozen]


def _frozen(bench: Bench, units: int, seed: int) -> list[CanaryUnit]:
    path = canary_file(bench.run.path)
    if not path.is_file():
        write_rows(path, _drawn(bench, units, seed))
    frozen = read_rows(path, CanaryUnit)
    if wrong := {one.release_revision for one in frozen} - {bench.release.revision}:
        raise CallError(f"audit: the canary set was frozen on revision {wrong.pop()}; the release is {bench.release.revision}.")
    return frozen


def canary_file(run_path: Path) -> Path:
    """Where the frozen set of a run lies; it is the same for all judges."""
    return run_path / "audits" / "canary.jsonl"


def _drawn(bench: Bench, units: int, seed: int) -> list[CanaryUnit]:
    """Questions drawn by the seed: systems in turn, each over all its candidates and checks, floors included."""
    run, chance = bench.run, random.Random(f"{seed} canary")
    checks = defaultdict(list)
    for check in run.checks():
        checks[check.case_id].append(check)
    by_system = []
    for system, entry in run.systems.items():
        own = []
        for case_id, sample in ((case.case_id, n) for case in run.cases() for n in range(entry.system().samples)):
            record = current_record(run, system, case_id, sample)
            if record is not None and record.image is not None:
                file = (run.candidate(system, case_id, sample).folder / record.image.file).relative_to(run.path).as_posix()
                place = (record.image.sha256, file, bench.release.revision)
                own += [CanaryUnit(system, case_id, sample, one.check_id, one.check_sha256, *place) for one in checks[case_id]]
        chance.shuffle(own)
        by_system.append(own)
    drawn = list(in_turn(by_system))[:units]
    if not drawn:
        raise CallError(f"audit: {run.path} has no candidate that a canary set could be drawn from.")
    return drawn


def _next_round(round_of: Any, given: Mapping[str, Sequence[Judgment]]) -> int:
    """The first round that is not whole."""
    number = 0
    while all(one.key in given for one in round_of(number)):
        number += 1
    return number


def _drift(bench: Bench, frozen: Sequence[CanaryUnit], rounds: Sequence[Sequence[Asked]]) -> dict[str, Any]:
    """Each round that has answers beside the first."""
    given = {key: newest_answer(lines) for key, lines in by_key(bench.folder.canary_answers.read()).items()}
    answers = [[given.get(one.key) for one in asked] for asked in rounds]
    answers = answers[:1] + [one for one in answers[1:] if any(one)]
    return {
        "schema": "lb.canary-drift.v1",
        "judge": bench.profile.name,
        "judge_sha256": bench.judge_sha256,
        "units": len(frozen),
        "complete": all(one is not None for one in answers[-1]),
        "rounds": [_round(n, one) for n, one in enumerate(answers)],
        "drift": [{"round": n, "against": 0, **drift(answers[0], later)} for n, later in enumerate(answers) if n > 0],
    }


def _round(n: int, answers: Sequence[Judgment | None]) -> Row:
    there = [one for one in answers if one is not None]
    times = sorted(one.at for one in there)
    return {
        "round": n,
        "answered": len(there),
        "invalid": sum(one.label is None for one in there),
        "from": times[0] if times else None,
        "to": times[-1] if times else None,
        "models": sorted({one.model for one in there if one.model}),
    }


def drift(first: Sequence[Judgment | None], later: Sequence[Judgment | None]) -> Row:
    """What changed between two rounds on the same questions.

    `p_sign` is the two-sided exact sign test of rises against falls (for two labels this is McNemar's exact test).
    """
    both = [(a.label, b.label) for a, b in zip(first, later, strict=True) if a is not None and b is not None]
    valid = [(a, b) for a, b in both if a is not None and b is not None]
    shifts = [float(b - a) for a, b in valid]
    up, down = sum(shift > 0 for shift in shifts), sum(shift < 0 for shift in shifts)
    served = [sorted({one.model for one in answers if one is not None and one.model}) for answers in (first, later)]
    return {
        "compared": len(valid),
        "invalid": len(both) - len(valid),
        "changed": up + down,
        **rate("", up + down, len(valid)),
        "up": up,
        "down": down,
        "p_sign": _sign_test(up, down),
        **mean_shift(shifts),
        "models": served,
        "same_models": served[0] == served[1],
    }


def _sign_test(up: int, down: int) -> float | None:
    if up + down == 0:
        return None
    from scipy.stats import binomtest

    return float(binomtest(up, up + down).pvalue)
