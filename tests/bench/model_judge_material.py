"""What the benchmark of model judging works on: a release with pictures of 300 KB, runs, profiles, a full-size run."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging.direct import DirectProtocol
from longbanana_nb.judging.model_engine import judge_with_model
from longbanana_nb.judging.model_protocols import Ask, ModelAnswer, ModelJob
from longbanana_nb.release import Release, load_release, write_release
from longbanana_nb.runs import ImageFacts, ImageSent, Limits, Record, Run, create_run, parse_judge, parse_system
from longbanana_nb.taxonomy import CATEGORIES, DIMENSIONS

BOUND = 3  # references a check binds
MODEL = "claude-sonnet-4-6"


@dataclass(frozen=True, slots=True)
class Size:
    """How much there is."""

    cases: int = 20
    checks: int = 50
    references: int = 32
    side: int = 1024
    systems: int = 1


def jpeg(seed: int, side: int) -> bytes:
    """A picture of broad shapes under grain; 1024 pixels a side make about 300 KB."""
    draw = np.random.default_rng(seed)
    broad = Image.fromarray(draw.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize((side, side), Image.Resampling.BICUBIC)
    grain = draw.normal(0, 9, (side, side, 1)).astype(np.int16)
    pixels = np.clip(np.asarray(broad, dtype=np.int16) + grain, 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=80)
    return stream.getvalue()


def make_release(folder: Path, size: Size) -> Release:
    """The release; made once, for it stays in its folder."""
    if (folder / "manifest.json").is_file():
        return load_release(folder / "manifest.json")
    tasks, checks, units, files = [], [], [], {}
    for c in range(size.cases):
        case_id, category = f"case_{c:03}", CATEGORIES[c % len(CATEGORIES)]
        ids = [f"ref_{n:02}" for n in range(size.references)]
        paths = {name: f"public/images/{case_id}/{name}.jpg" for name in ids}
        files |= {path: jpeg(1000 * c + n, size.side) for n, path in enumerate(paths.values())}
        listed = [{"id": name, "path": path} for name, path in paths.items()]
        tasks.append({"case_id": case_id, "category": category, "prompt": "Draw the table.", "references": listed})
        for n in range(size.checks):
            bound = [ids[(5 * n + 11 * k) % size.references] for k in range(BOUND)]
            where = {"case_id": case_id, "check_id": f"check_{n:02}"}
            question = f"Does cup {n} stand left of the plate, and is it the cup of the references?"
            told = {"0": "it does not", "1": "cannot be told", "2": "it does"}
            asked = {"question": question, "guide": "Compare colour and lettering.", "options": ["0", "1", "2"]}
            checks.append({**where, **asked, "category": category, "option_desc": told, "reference_ids": sorted(set(bound))})
            facts = {"dimension": DIMENSIONS[n % len(DIMENSIONS)], "polarity": "negative" if n % 5 == 0 else "positive"}
            units.append({**where, "unit": f"n{n}", **facts})
    manifest = write_release(
        folder, name="bench_v1", revision="r1", license="CC0-1.0", tasks=tasks, checks=checks, units=units, extra_files=files
    )
    return load_release(manifest)


def make_run(folder: Path, release: Release, size: Size) -> Run:
    """A fresh run with one candidate a system and case."""
    run = create_run(folder, release)
    with run.owner():
        run.index_checks(release, release.evaluation())
        for s in range(size.systems):
            name, sha256 = f"system-{s}", sha256_bytes(f"system {s}".encode())
            run.add_system(parse_system({"name": name, "harness": {"kind": "imported"}}), sha256)
            for c, case_id in enumerate(release.cases):
                data = jpeg(10_000_000 + 1000 * s + c, size.side)
                facts = ImageFacts("image.jpg", sha256_bytes(data), "0" * 64, len(data), "jpeg", size.side, size.side)
                record = Record(system=name, system_sha256=sha256, case_id=case_id, sample=0, outcome="image", image=facts)
                run.candidate(name, case_id).save(record, data)
    return run


def write_profile(folder: Path, url: str, *, images: str, name: str = "", max_tokens: int = 4096, samples: int = 1) -> Path:
    """A judge profile that asks the server at `url`; prompts are not cached, so that no question waits for another.

    Another `max_tokens` is another judge and wants another name; more `samples` are the same judge again.
    """
    told = {
        "name": name or f"claude-{images}",
        "protocol": "direct",
        "model": {"provider": "anthropic", "id": MODEL, "base_url": url, "params": {"max_tokens": max_tokens}},
        "sending": {"images": images, "cache": "off"},
        "samples": samples,
    }
    file = folder / f"profile-{images}.yaml"
    file.write_text(json.dumps(told), encoding="utf-8")  # JSON is YAML
    return file


def plain_questions(run: Run, release: Release) -> list[dict[str, object]]:
    """The same questions for other clients: paths of the four pictures (candidate first) and the text."""
    found: list[dict[str, object]] = []
    for case_id, checks in release.evaluation().checks.items():
        files = {one.id: str(one.file) for one in release.cases[case_id].inputs}
        candidate = next((run.path / "candidates" / "system-0" / case_id).rglob("image.jpg"))
        for check in checks:
            pictures = [str(candidate), *(files[name] for name in check.reference_ids)]
            found.append({"pictures": pictures, "text": f"{check.question} {check.guide} Answer with JSON: rationale, verdict."})
    return found


class Canned(DirectProtocol):
    """Answers without asking, as long as real answers are, to fill a full-size run."""

    async def judge(self, job: ModelJob, ask: Ask) -> list[ModelAnswer]:
        """One answer a check, of all labels."""
        return [self._answer(job, n) for n in range(len(job.checks))]

    def _answer(self, job: ModelJob, n: int) -> ModelAnswer:
        check = job.checks[n]
        label = int(sha256_bytes(f"{job.candidate.sha256} {check.check_id}".encode())[:8], 16) % 5 // 2
        shown = [("candidate", "candidate", job.candidate), *(("reference", i, job.references[i]) for i in check.reference_ids)]
        sent = tuple(ImageSent(role, id_, file.sha256, file.sha256, "as-is@1") for role, id_, file in shown)
        said = "The cup stands left of the plate; its lettering is that of the reference. " * 4
        raw = json.dumps({"rationale": said, "verdict": label})
        return ModelAnswer(check.check_id, label, None, rationale=said, images=sent, raw=raw, request_id="req_1", model=MODEL)


def make_full_run(folder: Path) -> Run:
    """A judged run of ten systems, ninety cases and 52 checks: 46,800 judgments with tiny pictures."""
    size = Size(cases=90, checks=52, references=32, side=8, systems=10)
    release = make_release(folder / "full-release", size)
    run = make_run(folder / "full-run", release, size)
    profile = parse_judge({"name": "claude", "protocol": "direct", "model": {"provider": "anthropic", "id": MODEL}})
    judge_with_model(run, release, profile, protocols={"direct": Canned()}, limits=Limits(concurrency=512))
    return run
