"""A small real release with candidates of two systems, and a model judge of it behind a loopback server."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from provider_server import ProviderServer
from provider_server.anthropic import AnthropicDialect

from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging.agentic import AgenticProtocol
from longbanana_nb.judging.batching import Waiting
from longbanana_nb.judging.direct import DirectProtocol
from longbanana_nb.judging.model_engine import Patience, judge_with_model
from longbanana_nb.providers.retry import Retry
from longbanana_nb.release import load_release, write_release
from longbanana_nb.runs import ImageFacts, Limits, Record, create_run, parse_judge, parse_system

PROTOCOLS = {"direct": DirectProtocol(), "agentic": AgenticProtocol()}
CATEGORIES = ("SCC", "RGC", "GAC")
KEY = "test-key"
QUICK = Patience(Retry(attempts=2, base_s=0.01, cap_s=0.02), grace_s=5, batches=Waiting(3.0, 0.02, 0.05, 0.2))


def noise(seed: int, side: int = 96) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def make_release(root: Path, *, cases: int = 2, checks: int = 4, references: int = 4, side: int = 96, units: bool = True):
    """Cases of some references each; check n binds references n and n + 1, the last one none."""
    tasks, rows, stated, files = [], [], [], {}
    for c in range(cases):
        case_id, ids = f"case_{c}", [f"r{n}" for n in range(references)]
        for n, name in enumerate(ids):
            files[f"public/images/{c}_{name}.png"] = noise(100 * c + n, side)
        listed = [{"id": name, "path": f"public/images/{c}_{name}.png"} for name in ids]
        category = CATEGORIES[c % len(CATEGORIES)]
        tasks.append({"case_id": case_id, "category": category, "prompt": "Draw.", "references": listed})
        for n in range(checks):
            bound = [] if n == checks - 1 else [ids[n % references], ids[(n + 1) % references]]
            rows.append(
                {
                    "check_id": f"k{n}", "case_id": case_id, "category": category, "question": f"Is thing {n} there?",
                    "guide": "Look.", "options": ["0", "1", "2"], "option_desc": {"0": "no", "1": "unclear", "2": "yes"},
                    "reference_ids": bound, "candidate_only_reason": None if bound else "The whole picture.",
                }
            )  # fmt: skip
            dimension = ("Content Fidelity", "Relational Binding")[n % 2]
            stated.append(
                {"check_id": f"k{n}", "case_id": case_id, "unit": f"n{n}", "dimension": dimension, "polarity": "positive"}
            )
    manifest = write_release(
        root, name="tiny_v1", revision="r1", license="CC0-1.0", tasks=tasks, checks=rows, units=stated if units else (),
        extra_files=files,
    )  # fmt: skip
    return load_release(manifest)


def make_run(folder: Path, release, *, systems=("mine", "other"), side: int = 96):
    """A run with one candidate a system and case."""
    run = create_run(folder, release)
    with run.owner():
        run.index_checks(release, release.evaluation())
        for s, name in enumerate(systems):
            run.add_system(parse_system({"name": name, "harness": {"kind": "imported"}}), str(s + 1) * 64)
            for c, case_id in enumerate(release.cases):
                image = noise(7000 + 100 * s + c, side)
                facts = ImageFacts("image.png", sha256_bytes(image), "0" * 64, len(image), "png", side, side)
                record = Record(
                    system=name, system_sha256=str(s + 1) * 64, case_id=case_id, sample=0, outcome="image", image=facts
                )
                run.candidate(name, case_id).save(record, image)
    return run


def profile(server: ProviderServer, **changes: Any):
    """A direct judge by Claude behind the server."""
    model = {"provider": "anthropic", "id": "claude-sonnet-4-6", "base_url": server.url, **changes.pop("model", {})}
    reask = {"parse_error": 1, "truncated": 1, "transport": 1}
    return parse_judge({"name": "claude", "protocol": "direct", "model": model, "reask": reask, **changes})


def judged(run, release, spec, *, limits: dict[str, Any] | None = None, patience: Patience = QUICK, **more: Any):
    taken = {"concurrency": 4, "timeout_s": 5, **(limits or {})}
    return judge_with_model(run, release, spec, protocols=PROTOCOLS, limits=Limits(**taken), patience=patience, **more)


def verdict(word: str = "Pass") -> str:
    return json.dumps({"rationale": "seen", "verdict": word})


def dialect(reply=None, **options: Any) -> AnthropicDialect:
    return AnthropicDialect(reply or (lambda body: verdict()), key=KEY, **options)


def question_of(body: dict[str, Any]) -> str:
    """What tells the questions of a body apart: the pictures' sources, and the texts."""
    said = [block for message in body["messages"] for block in message["content"]]
    shown = [{k: v for k, v in block.items() if k != "cache_control"} for block in said]
    return sha256_bytes(json.dumps(shown).encode())


def asked_how_often(server: ProviderServer) -> Counter[str]:
    """Questions by how often they came."""
    return Counter(question_of(seen.json()) for seen in server.asked("/v1/messages", "POST") if seen.path == "/v1/messages")


def messages(server: ProviderServer) -> list[dict[str, Any]]:
    """Bodies of the messages that came, in order."""
    return [seen.json() for seen in server.asked("/v1/messages", "POST") if seen.path == "/v1/messages"]
