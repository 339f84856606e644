"""A small real release and real candidates and answers for the tests of runs."""

from __future__ import annotations

import io
import textwrap
from pathlib import Path

from PIL import Image

from longbanana_nb.files import sha256_bytes
from longbanana_nb.release.contract import Release
from longbanana_nb.release.loading import load_release
from longbanana_nb.release.writing import write_release
from longbanana_nb.runs import (
    ImageFacts,
    Judgment,
    Reason,
    Record,
    Run,
    Step,
    create_run,
    judge_sha256,
    parse_judge,
    parse_system,
    system_sha256,
)

CASE_IDS = ("007", "NA", "1e5", "Fisch, ü.1")  # ids that tables like to mangle
CHECK_IDS = ("001", "NA", "c,3")
OPTIONS = {"0": "wrong", "1": "unclear", "2": "right"}


def picture(colour: str | tuple[int, int, int], size: tuple[int, int] = (8, 6)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, "PNG")
    return out.getvalue()


def make_release(folder: Path, *, revision: str = "r1", questions: str = "Is it red?") -> Release:
    """Four cases (SCC, SCC, RGC, RGC) of two references and three checks each; only the first check has a unit."""
    tasks, checks, units, images = [], [], [], {}
    for n, case_id in enumerate(CASE_IDS):
        paths = [f"public/images/{n}_{k}.png" for k in (1, 2)]
        images.update({path: picture((40 * n, 90 * k, 7)) for k, path in enumerate(paths)})
        references = [{"id": f"ref_{k}", "path": path} for k, path in enumerate(paths, start=1)]
        category = "SCC" if n < 2 else "RGC"
        tasks.append({"case_id": case_id, "category": category, "prompt": f"Draw {case_id}.", "references": references})
        checks += [
            {
                "check_id": check_id, "case_id": case_id, "category": category, "question": f"{questions} ({check_id})",
                "guide": "Look.", "options": ["0", "1", "2"], "option_desc": OPTIONS, "reference_ids": ["ref_1"],
            }
            for check_id in CHECK_IDS
        ]  # fmt: skip
        units.append(
            {"check_id": "001", "case_id": case_id, "unit": "n01", "dimension": "Content Fidelity", "polarity": "positive"}
        )
    manifest = write_release(
        folder, name="tiny_v1", revision=revision, license="CC0-1.0", tasks=tasks, checks=checks, units=units, extra_files=images
    )
    return load_release(manifest)


def system(name: str = "sys-a", **changes):
    return parse_system({"name": name, "harness": {"kind": "fp-direct"}, "backend": {"provider": "sketch", "id": "x"}, **changes})


def judge(name: str = "tools", **changes):
    return parse_judge({"name": name, "protocol": "tools", **changes})


def make_run(path: Path, release: Release, *, systems=None, judges=None, case_ids=None) -> Run:
    """A run with one system and one judge, its plan frozen and nothing made yet."""
    run = create_run(path, release)
    for spec in systems or [system()]:
        run.add_system(spec, system_sha256(spec, {}))
    for profile in judges or [judge()]:
        run.add_judge(profile, judge_sha256(profile, {}), simulated=True)
    run.index_checks(release, release.evaluation(), case_ids)
    return run


def save_image(run: Run, name: str, case_id: str, colour: str = "red", sample: int = 0, *, with_step: bool = False) -> str:
    """Save a candidate that is one coloured picture; returns its hash."""
    image, step = picture(colour), picture(colour, (4, 4))
    slot = run.candidate(name, case_id, sample)
    facts = ImageFacts("image.png", sha256_bytes(image), sha256_bytes(b"pixels" + image), len(image), "png", 8, 6)
    steps = [Step(1, "steps/01.png", sha256_bytes(step), None, ["ref_1"], "0" * 64)] if with_step else []
    record = Record(
        system=name, system_sha256=run.systems[name].sha256, case_id=case_id, sample=sample, outcome="image", image=facts,
        steps=steps, attempt=slot.next_attempt(), started_at="2026-01-01T00:00:00Z", ended_at="2026-01-01T00:00:01Z",
    )  # fmt: skip
    slot.save(record, image, {"steps/01.png": step} if with_step else None, [{"n": 1, "kind": "draw"}])
    return facts.sha256


def save_outcome(run: Run, name: str, case_id: str, outcome: str, sample: int = 0) -> None:
    slot = run.candidate(name, case_id, sample)
    reason = Reason("test", "backend", "said so")
    slot.save(
        Record(
            system=name, system_sha256=run.systems[name].sha256, case_id=case_id, sample=sample, outcome=outcome, reason=reason,
            attempt=slot.next_attempt(),
        )
    )  # fmt: skip


def answer(run: Run, case_id: str, check_id: str, label: int | None, candidate_sha256: str, **changes) -> Judgment:
    """An answer of the judge `tools` on the system `sys-a`; `label` None is an unreadable reply."""
    check = next(check for check in run.checks() if (check.case_id, check.check_id) == (case_id, check_id))
    judge_hash = run.judges[changes.get("judge", "tools")].sha256
    fields = {
        "key": check.probe_key(run.meta.release.revision, candidate_sha256, judge_hash, changes.get("judge_sample", 0)),
        "judge": "tools", "judge_sha256": judge_hash, "system": "sys-a", "case_id": case_id, "sample": 0, "check_id": check_id,
        "check_sha256": check.check_sha256, "candidate_sha256": candidate_sha256, "label": label,
        "invalid": "parse_error" if label is None else None, "at": "2026-01-01T00:00:02Z",
    }  # fmt: skip
    return Judgment(**{**fields, **changes})


def write_yaml(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), "utf-8")
    return path
