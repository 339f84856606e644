"""Small runs worked out by hand for the reporting tests: grids, score frames and facts, without any pixels."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from longbanana_nb.files import sha256_bytes
from longbanana_nb.release import load_release, write_release
from longbanana_nb.reporting.facts import JudgeFacts, RunFacts, SystemFacts
from longbanana_nb.runs import (
    ImageFacts,
    Judgment,
    Reason,
    Record,
    Run,
    create_run,
    floor_system,
    judge_sha256,
    parse_judge,
    parse_system,
    system_sha256,
)
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS, SUITES

SCORE_COLUMNS = [
    "system", "judge", "scope", "name", "score", "ci_low", "ci_high", "score_low", "score_high", "cases_scored", "cases_total",
    "checks_valid", "checks_total", "invalid", "provisional", "method",
]  # fmt: skip
RATE_COLUMNS = [
    "system", "judge", "threshold", "weights", "pass_rate", "ci_low", "ci_high", "bound_low", "bound_high", "undecided",
    "cases_scored", "cases_total", "provisional",
]  # fmt: skip


@dataclass(frozen=True)
class Frames:
    scores: pd.DataFrame
    pass_rates: pd.DataFrame


def systems(*names: str, floors: bool = True, simulated: bool = True) -> tuple[SystemFacts, ...]:
    """Systems of two harnesses and three backends, then the four floors."""
    made = []
    for place, name in enumerate(names):
        harness, workflow, agent = [("fp-direct", None, None), ("native", "minimal", "embedded/planner")][place % 2]
        backend = ["sketch medium", "sketch strong", "sketch weak"][place // 2 % 3]
        made.append(SystemFacts(name, harness, workflow, agent, backend, simulated=simulated))
    kinds = ("blank", "single-reference", "collage", "words") if floors else ()
    return tuple(made) + tuple(SystemFacts(f"floor-{kind}", kind, simulated=False) for kind in kinds)


def facts(*names: str, floors: bool = True, truth: bool = True) -> RunFacts:
    judges = [JudgeFacts("tools-1", "tools", None, simulated=True)]
    judges += [JudgeFacts("truth-1", "truth", None, simulated=True)] if truth else []
    return RunFacts(
        release="demo_v1",
        revision="r1",
        systems=systems(*names, floors=floors),
        judges=tuple(judges),
        license="CC-BY-4.0",
        package="longbanana-nb 0.1.0",
        policy={"missing": "delivered", "min_case_coverage": 0, "weights": "uniform-v1", "threshold": 70},
    )


def score_row(system: str, scope: str, name: str, score: float | None, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "system": system, "judge": "tools-1", "scope": scope, "name": name, "score": score, "ci_low": None, "ci_high": None,
        "score_low": score, "score_high": score, "cases_scored": 10, "cases_total": 10, "checks_valid": 500, "checks_total": 500,
        "invalid": 0, "provisional": False, "method": "stratified-t",
    }  # fmt: skip
    return {**row, **more}


def frames(rows: list[dict[str, object]], rates: list[dict[str, object]] | None = None) -> Frames:
    return Frames(pd.DataFrame(rows, columns=SCORE_COLUMNS), pd.DataFrame(rates or [], columns=RATE_COLUMNS))


def rate_row(system: str, rate: float | None, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "system": system, "judge": "tools-1", "threshold": 70.0, "weights": "uniform-v1", "pass_rate": rate, "ci_low": None,
        "ci_high": None, "bound_low": rate, "bound_high": rate, "undecided": 0, "cases_scored": 90, "cases_total": 90,
        "provisional": False,
    }  # fmt: skip
    return {**row, **more}


def random_frames(run: RunFacts, seed: int = 1, without: tuple[str, ...] = ()) -> Frames:
    """Frames of plausible size for every system and judge; categories in `without` have no data."""
    rng = np.random.default_rng(seed)
    rows, rates = [], []
    for system in run.systems:
        base = rng.uniform(5, 35) if system.is_floor else rng.uniform(45, 80)
        for judge in run.judges:
            shift = 0.0 if judge.protocol != "truth" else rng.uniform(-2, 2)
            level = {"judge": judge.name}
            each = {code: float(np.clip(base + shift + rng.normal(0, 9), 0, 100)) for code in CATEGORIES}
            for code, score in each.items():
                gone = code in without
                rows.append(
                    score_row(
                        system.name, "category", code, None if gone else score, ci_low=score - 7, ci_high=score + 7, **level
                    )
                    | ({"cases_scored": 0, "checks_valid": 0, "provisional": True} if gone else {})
                )
            rows += [
                score_row(system.name, "suite", suite, float(np.mean([each[c] for c in codes])), **level)
                for suite, codes in SUITES.items()
            ]
            rows += [score_row(system.name, "dimension", name, base + rng.normal(0, 5), **level) for name in DIMENSIONS]
            overall = float(np.mean(list(each.values())))
            rows.append(
                score_row(
                    system.name,
                    "overall",
                    "overall",
                    overall,
                    ci_low=overall - 4,
                    ci_high=overall + 4,
                    provisional=bool(without),
                    **level,
                )
            )
            rates.append(rate_row(system.name, float(rng.integers(0, 60)) / 90, **level))
    return frames(rows, rates)


def grid(run: RunFacts, cases_per_category: int = 2, checks: int = 20, error: float = 0.03, seed: int = 1) -> pd.DataFrame:
    """A verdict grid in which the first judge repeats the truth but for a share `error` of its labels."""
    rng = np.random.default_rng(seed)
    rows = []
    for system, code, number in itertools.product(run.systems, CATEGORIES, range(cases_per_category)):
        good = 0.15 if system.is_floor else rng.uniform(0.5, 0.9)
        for check in range(checks):
            label = int(rng.choice([0, 1, 2], p=[0.9 * (1 - good), 0.1 * (1 - good), good]))
            for judge in run.judges:
                seen = label if judge.protocol == "truth" or rng.random() > error else int(rng.integers(0, 3))
                rows.append(
                    (judge.name, system.name, f"{code.lower()}_{number:02}", code, 0, 0, f"k{check:02}", DIMENSIONS[check % 3],
                     "negative" if check % 4 == 0 else "positive", "valid", seen, None, "0" * 64)
                )  # fmt: skip
    columns = ["judge", "system", "case_id", "category", "sample", "judge_sample", "check_id", "dimension", "polarity", "state", "label", "invalid",  # noqa: E501
               "candidate_sha256"]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({"label": "Int64"})


def judged_run(
    folder: Path, *, cases_per_category: int = 1, checks: int = 6, prompt: str = "Compose one square picture: a shelf."
) -> Run:
    """A real run on disk: nine categories, two systems, two floors, judges `tools-1` and `truth-1`; the first case of
    `native-one` is blocked and one answer of `tools-1` is unreadable."""
    release = _release(folder / "release", cases_per_category, checks, prompt)
    run = create_run(folder / "run", release)
    specs = [
        parse_system({"name": "fp-one", "harness": {"kind": "fp-direct"}, "backend": {"provider": "sketch", "id": "sketch-strong"}}),  # noqa: E501
        parse_system({"name": "native-one", "harness": {"kind": "native"}, "workflow": "minimal",
                      "agent_model": {"provider": "embedded", "id": "planner"}, "backend": {"provider": "sketch", "id": "sketch-strong"}}),  # noqa: E501
        floor_system("blank"), floor_system("collage"),
    ]  # fmt: skip
    for spec in specs:
        run.add_system(spec, system_sha256(spec, {}), simulated=not spec.is_floor)
    for name, protocol in (("tools-1", "tools"), ("truth-1", "truth")):
        profile = parse_judge({"name": name, "protocol": protocol})
        run.add_judge(profile, judge_sha256(profile, {}), simulated=True)
    run.index_checks(release, release.evaluation())
    rng = np.random.default_rng(3)
    by_case: dict[str, list] = {}
    for check in run.checks():
        by_case.setdefault(check.case_id, []).append(check)
    for place, spec in enumerate(specs):
        for number, case in enumerate(run.cases()):
            if spec.name == "native-one" and number == 0:
                _save(run, spec.name, case.case_id, None)
                continue
            sha = _save(run, spec.name, case.case_id, (40 * place + 30, 9 * number + 20, 160))
            labels = rng.choice([0, 1, 2], size=len(by_case[case.case_id]), p=[0.2, 0.1, 0.7] if place < 2 else [0.8, 0.0, 0.2])
            for judge in run.judges:
                lines = [
                    _answer(run, judge, spec.name, check, sha, int(label))
                    for check, label in zip(by_case[case.case_id], labels, strict=True)
                ]
                if judge == "tools-1" and spec.name == "fp-one" and number == 1:
                    lines[0] = _answer(run, judge, spec.name, by_case[case.case_id][0], sha, None)
                run.judgments(judge, spec.name, case.case_id).append_many(lines)
    return run


def _release(folder: Path, cases_per_category: int, checks: int, prompt: str):
    tasks, asked, units, images = [], [], [], {}
    for code, number in itertools.product(CATEGORIES, range(cases_per_category)):
        case_id = f"{code.lower()}_{number:02}"
        images[f"public/{case_id}.png"] = _png((200, 90, 40))
        tasks.append(
            {
                "case_id": case_id,
                "category": code,
                "prompt": prompt,
                "references": [{"id": "ref_1", "path": f"public/{case_id}.png"}],
            }
        )
        for k in range(checks):
            labels = {"0": "no", "1": "unclear", "2": "yes"}
            check = {"check_id": f"k{k}", "case_id": case_id, "category": code, "question": "Is it?", "guide": "Look."}
            asked.append({**check, "options": ["0", "1", "2"], "option_desc": labels, "reference_ids": ["ref_1"]})
            units.append({"check_id": f"k{k}", "case_id": case_id, "unit": f"n{k}", "dimension": DIMENSIONS[k % 3],
                          "polarity": "negative" if k % 3 == 2 else "positive"})  # fmt: skip
    manifest = write_release(
        folder, name="small_v1", revision="r1", license="CC0-1.0", tasks=tasks, checks=asked, units=units, extra_files=images
    )
    return load_release(manifest)


def _png(colour: tuple[int, int, int]) -> bytes:
    stream = io.BytesIO()
    picture = Image.radial_gradient("L").resize((64, 64))
    Image.composite(Image.new("RGB", (64, 64), colour), Image.new("RGB", (64, 64), "white"), picture).save(stream, "PNG")
    return stream.getvalue()


def _save(run: Run, system: str, case_id: str, colour: tuple[int, int, int] | None) -> str:
    image = _png(colour) if colour else None
    described = ImageFacts("image.png", sha256_bytes(image), "0" * 64, len(image), "png", 64, 64) if image else None
    record = Record(
        system=system, system_sha256=run.systems[system].sha256, case_id=case_id, sample=0, outcome="image" if image else "blocked",  # noqa: E501
        image=described, reason=None if image else Reason("safety", "backend", "refused"),
    )  # fmt: skip
    run.candidate(system, case_id).save(record, image)
    return described.sha256 if described else ""


def _answer(run: Run, judge: str, system: str, check, candidate: str, label: int | None) -> Judgment:
    sha = run.judges[judge].sha256
    return Judgment(
        key=check.probe_key(run.meta.release.revision, candidate, sha, 0), judge=judge, judge_sha256=sha,
        system=system, case_id=check.case_id, sample=0, check_id=check.check_id, check_sha256=check.check_sha256,
        candidate_sha256=candidate, label=label, invalid="parse_error" if label is None else None,
    )  # fmt: skip
