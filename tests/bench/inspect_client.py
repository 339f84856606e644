"""The same questions through Inspect AI, in an environment of its own (`requirements-bench.lock`).

python inspect_client.py QUESTIONS.json URL CONCURRENCY LOG_DIR
"""

import json
import resource
import sys
import time
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate

PASS = 2.0


@scorer(metrics=[mean()])
def verdict():
    """Two where the reply says Pass."""

    async def score(state, target):
        return Score(value=PASS if json.loads(state.output.completion)["verdict"] == "Pass" else 0.0)

    return score


def main() -> None:
    """Ask everything and print one JSON line."""
    file, url, concurrency, log_dir = sys.argv[1:]
    questions = json.loads(Path(file).read_text("utf-8"))
    samples = [
        Sample(
            input=[
                ChatMessageUser(content=[*(ContentImage(image=path) for path in one["pictures"]), ContentText(text=one["text"])])
            ],
            target="2",
        )
        for one in questions
    ]
    begun, before = time.time(), resource.getrusage(resource.RUSAGE_SELF)
    logs = eval(
        Task(dataset=samples, solver=generate(), scorer=verdict()),
        model=get_model("anthropic/claude-sonnet-4-6", base_url=url, api_key="bench-key", streaming=False),
        max_connections=int(concurrency),
        max_samples=int(concurrency),
        max_tokens=1024,
        log_images=False,
        display="none",
        log_dir=log_dir,
    )
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if logs[0].status != "success":
        raise SystemExit(f"Inspect AI ended with {logs[0].status}: {logs[0].error}")
    done = logs[0].results.completed_samples
    print(
        json.dumps(
            {"answered": done, "cpu_s": cpu, "wall_s": time.time() - begun, "begun": begun, "rss_mb": after.ru_maxrss / 1024}
        )
    )


if __name__ == "__main__":
    main()
