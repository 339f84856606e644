"""The clients of the benchmark of model judging, each in a process of its own: it prints one JSON line about itself.

python model_judge_clients.py judge RUN PROFILE CONCURRENCY
python model_judge_clients.py loop QUESTIONS.json URL CONCURRENCY
python model_judge_clients.py tables RUN
"""

from __future__ import annotations

import asyncio
import base64
import json
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def used_s() -> float:
    """Processor seconds of this process, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What the work says, with its processor and wall seconds; imports come before."""
    begun, cpu = time.time(), used_s()
    said = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**said, "begun": begun, "cpu_s": used_s() - cpu, "wall_s": time.time() - begun, "rss_mb": peak}


def judge(run_dir: str, profile: str, concurrency: str) -> dict[str, Any]:
    """Our own: the release verified, the run opened, everything judged that is open."""
    import genai_prices.data  # noqa: F401 - beyond imports, and a third of them

    import_module("httpcore2")  # beyond imports: httpx2 loads it with the first client

    import longbanana_nb.providers.anthropic  # noqa: F401 - beyond imports
    from longbanana_nb.judging.direct import DirectProtocol
    from longbanana_nb.judging.model_engine import judge_with_model
    from longbanana_nb.release import load_release
    from longbanana_nb.runs import Limits, open_run, parse_judge

    def work() -> dict[str, Any]:
        run = open_run(Path(run_dir))
        limits = Limits(concurrency=int(concurrency), max_usd=1000, timeout_s=120)
        release, read = load_release(run.manifest), parse_judge(json.loads(Path(profile).read_text("utf-8")))
        return {"answered": judge_with_model(run, release, read, protocols={"direct": DirectProtocol()}, limits=limits).asked}

    return timed(work)


def loop(questions: str, url: str, concurrency: str) -> dict[str, Any]:
    """The usual loop: read and encode four files, ask the SDK, parse the reply."""
    import anthropic

    async def one(client: Any, free: asyncio.Semaphore, question: dict[str, Any]) -> int:
        async with free:
            shown = []
            for path in question["pictures"]:
                data = base64.b64encode(Path(path).read_bytes()).decode()
                shown.append({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": data}})
            content = [*shown, {"type": "text", "text": question["text"]}]
            said = await client.messages.create(
                model="claude-sonnet-4-6", max_tokens=1024, messages=[{"role": "user", "content": content}]
            )
            return int(json.loads(said.content[0].text)["verdict"] == "Pass")

    async def all_of() -> int:
        asked = json.loads(Path(questions).read_text("utf-8"))
        free = asyncio.Semaphore(int(concurrency))
        async with anthropic.AsyncAnthropic(api_key="bench-key", base_url=url) as client:
            return sum(await asyncio.gather(*(one(client, free, question) for question in asked)))

    return timed(lambda: {"answered": asyncio.run(all_of())})


def tables(run_dir: str) -> dict[str, Any]:
    """Score a judged run from its folder and write all its tables."""
    import longbanana_nb as lb
    import longbanana_nb.reporting.measured
    import longbanana_nb.scored  # beyond imports

    def work() -> dict[str, Any]:
        run = lb.open_run(run_dir, quiet=True)
        lb.save_scores(run, lb.score(run))
        scored = time.time()
        return {"tables": len(lb.tables(run)), "scored_at": scored}

    return timed(work)


def main() -> None:
    """Do what the command line says."""
    verb, *given = sys.argv[1:]
    print(json.dumps({"judge": judge, "loop": loop, "tables": tables}[verb](*given)))


if __name__ == "__main__":
    main()
