"""The command line `longbanana-nb`: one short function a verb, over the functions that notebooks use."""

from __future__ import annotations

import argparse
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from longbanana_nb.arguments import parser
from longbanana_nb.errors import CallError, Incomplete, WorkbenchError

if TYPE_CHECKING:
    from longbanana_nb.runs import Experiment

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code; a person's mistake prints its text, never a traceback."""
    _print_anything()
    arguments = parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = globals()[arguments.verb.replace("-", "_")]
    try:
        return verb(arguments)
    except WorkbenchError as error:
        _say(_without_keys(str(error)), sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("Interrupted. What was finished is kept; run the same command again to go on.", file=sys.stderr)
        return Incomplete.exit_code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        _say(_without_keys(_os_error_text(error)), sys.stderr)
        return 1


def _print_anything() -> None:
    """Let a terminal that is not UTF-8 show escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _say(text: str, stream: TextIO | None = None) -> None:
    """Print text that may hold other people's words: what would steer a terminal, or turn its lines around, is escaped.

    JSON has no such characters outside its texts, and there the escape is JSON's own.
    """
    print(_STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text), file=stream or sys.stdout)


def _without_keys(text: str) -> str:
    from longbanana_nb.runs.keyscan import redact

    return redact(text)


def _os_error_text(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    advice = "Check the path and its permissions."
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        advice = "What was answered before is kept; free some space and run the same command again."
    elif error.errno == errno.EROFS:
        advice = "Choose a folder that can be written."
    return f"{place}{error.strerror or error}. {advice}"


def demo(arguments: argparse.Namespace) -> int:
    """Build, generate, judge, score and report the embedded default."""
    from longbanana_nb import demonstration

    page = demonstration.run_demo(arguments.run, cases_per_category=arguments.cases)
    print(f"Open {page} in a browser.")
    return 0


def validate_data(arguments: argparse.Namespace) -> int:
    """Print every fault and warning of a release."""
    from longbanana_nb.release import validate_release

    manifest = arguments.manifest or os.environ.get("DATASET_MANIFEST")
    if not manifest:
        raise CallError("validate-data: no MANIFEST given and DATASET_MANIFEST is not set. Name a manifest.json.")
    found = validate_release(Path(manifest), evaluation=arguments.evaluation, decode=not arguments.no_decode)
    _say(_as_json(found.as_json()) if arguments.json else found.text())
    return 0 if found.ok else 1


def fetch(arguments: argparse.Namespace) -> int:
    """Fetch, verify, unpack and validate a release."""
    from longbanana_nb.paths import releases_folder
    from longbanana_nb.release import fetch_release

    folder = fetch_release(arguments.release, to=arguments.to or releases_folder(), source=arguments.source)
    print(f'{folder}\nexport DATASET_MANIFEST="{folder / "manifest.json"}"')
    return 0


def plan(arguments: argparse.Namespace) -> int:
    """Print the plan; exit 2 if something in it cannot run."""
    from longbanana_nb import workbench

    made = workbench.plan(_part(arguments.experiment, arguments.shard))
    _say(_as_json(made.as_json()) if arguments.json else made.text())
    return 0 if made.can_run else CallError.exit_code


def generate(arguments: argparse.Namespace) -> int:
    """Make every missing candidate of an experiment."""
    from longbanana_nb import workbench

    _say(workbench.generate(_part(arguments.experiment, arguments.shard)).text())
    return 0


def scale(arguments: argparse.Namespace) -> int:
    """Carry out an experiment in shards on Dask workers and merge them; exit 3 while something is invalid."""
    from longbanana_nb import scaling

    done = scaling.scale(arguments.experiment, arguments.shards, scheduler=arguments.scheduler, workers=arguments.workers)
    _say(done.text())
    return 0 if done.is_complete else Incomplete.exit_code


def import_candidates(arguments: argparse.Namespace) -> int:
    """Import images by case id."""
    from longbanana_nb import workbench

    _say(workbench.import_candidates(arguments.run, arguments.system, arguments.folder, release=arguments.release).text())
    return 0


def judge(arguments: argparse.Namespace) -> int:
    """Judge what has no current answer; exit 3 while something is invalid."""
    from longbanana_nb import examining, workbench

    target = _part(arguments.target, arguments.shard)
    if arguments.steps and (arguments.retry or arguments.max_usd is not None):
        raise CallError("judge --steps: pictures on the way are judged without a model. Leave out --retry and --max-usd.")
    if arguments.steps:
        _say(examining.judge_steps(arguments.target, profile=arguments.profile))
        return 0
    summaries = workbench.judge(target, profile=arguments.profile, retry=arguments.retry, max_usd=arguments.max_usd)
    for summary in summaries:
        _say(summary.text())
    return 0 if all(summary.is_complete for summary in summaries) else Incomplete.exit_code


def audit(arguments: argparse.Namespace) -> int:
    """Audit a judge, or ask its canary; exit 3 while questions have no answer."""
    from longbanana_nb import auditing, examining

    chosen = {name: getattr(arguments, name) for name in ("judge", "profile", "seed", "max_usd")}
    if arguments.canary:
        told = examining.canary(arguments.run, units=arguments.units, **chosen)
        text = auditing.canary_text(told)
    else:
        told = examining.audit(arguments.run, pairs=arguments.pairs, source=arguments.source, **chosen)
        text = auditing.audit_text(told)
    _say(_as_json(told) if arguments.json else text)
    return 0 if told["complete"] else Incomplete.exit_code


def score(arguments: argparse.Namespace) -> int:
    """Print scores; exit 3 while something is invalid or missing."""
    from longbanana_nb import examining, workbench

    if len(arguments.target) > 1:
        if arguments.release or arguments.missing or arguments.weights:
            raise CallError(
                "score: several runs are pooled under their own policy. Leave out --release, --missing and --weights."
            )
        pooled = examining.pool(arguments.target)
        _say(_as_json(pooled.as_json()) if arguments.json else pooled.table().markdown())
        return 0 if pooled.is_complete else Incomplete.exit_code
    _say_part(arguments.target[0])
    scores = workbench.score(arguments.target[0], release=arguments.release, missing=arguments.missing, weights=arguments.weights)
    _say(_as_json(scores.as_json()) if arguments.json else workbench.score_text(scores))
    return 0 if scores.is_complete else Incomplete.exit_code


def _say_part(target: Path) -> None:
    """Say on standard error that these are scores of a shard, where they are."""
    from longbanana_nb.runs import open_run

    if target.is_dir() and (shard := open_run(target).meta.shard) is not None:
        print(f"note: {target} is shard {shard}: scores of a part of its experiment's cases; merge the shards.", file=sys.stderr)


def label(arguments: argparse.Namespace) -> int:
    """Draw, take back, adjudicate or simulate labels of a run, and say where its labelling stands."""
    from longbanana_nb import examining

    chosen = {
        name: getattr(arguments, name)
        for name in ("units", "double", "judge", "seed", "rater", "simulate", "adjudicate", "freeze", "pool")
    }
    _say(examining.label(arguments.run, raters=arguments.raters, take=arguments.take, round=arguments.round, **chosen))
    return 0


def agree(arguments: argparse.Namespace) -> int:
    """Compare verdicts with labels, or raters with each other; exit 3 while something is invalid or missing."""
    from longbanana_nb import agreeing

    chosen = {"against": arguments.against, "round_": arguments.round, "name": arguments.name}
    told = agreeing.agree(arguments.human, arguments.judge, **chosen)
    _say(_as_json(told.value) if arguments.json else told.text)
    return 0 if told.complete else Incomplete.exit_code


def annotate(arguments: argparse.Namespace) -> int:
    """Derive units and probes of a release that states none, and take in what people reviewed."""
    from longbanana_nb import annotating

    if arguments.measure:
        print(annotating.measured_rules(arguments.manifest))
        return 0
    done = annotating.annotate(arguments.manifest, model=arguments.model, reviewed=arguments.reviewed, max_usd=arguments.max_usd)
    _say(done)
    return 0


def report(arguments: argparse.Namespace) -> int:
    """Build report.html and print where it is."""
    from longbanana_nb import workbench

    print(workbench.report(arguments.run))
    return 0


def merge(arguments: argparse.Namespace) -> int:
    """Merge runs into a new folder."""
    from longbanana_nb.retelling import merged

    print(merged(arguments.out, arguments.runs, accept_drift=arguments.accept_drift).path)
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Print every fault of a run, files and table cells."""
    from longbanana_nb import workbench

    faults = workbench.verify(arguments.run)
    for fault in faults:
        _say(str(fault))
    print(
        f"{len(faults)} fault{'s' if len(faults) != 1 else ''} in {arguments.run}"
        if faults
        else f"{arguments.run}: everything agrees"
    )
    return 1 if faults else 0


def notebook(arguments: argparse.Namespace) -> int:
    """Run one notebook under papermill and print where the executed copy is."""
    from longbanana_nb import demonstration

    print(demonstration.run_named_notebook(arguments.name, dict(arguments.parameters), arguments.file))
    return 0


def agents(arguments: argparse.Namespace) -> int:
    """Install agent command lines, or list them; exit 1 where one that is installed does not start."""
    from longbanana_nb.generation.agents import listing

    if arguments.action == "list":
        told = listing.listed()
        _say(listing.as_text(told))
        return 1 if any(one.is_broken for one in told) else 0
    if not arguments.name:
        raise CallError("agents install: which one? Name openclaw, opencode, hermes, claude-code, codex, or all.")
    from longbanana_nb.generation.agents.installing import install

    install(arguments.name, _say)
    return 0


def doctor(arguments: argparse.Namespace) -> int:
    """Print the state of this installation; exit 1 if the demo could not run."""
    from longbanana_nb.doctor import as_text, diagnose, is_healthy

    findings = diagnose()
    print(as_text(findings))
    return 0 if is_healthy(findings) else 1


def _part(target: Path, shard: str | None) -> Path | Experiment:
    """The file or folder as typed, or the shard of the experiment that was asked for."""
    if shard is None:
        return target
    from longbanana_nb.runs import load_experiment, parse_shard

    wanted = parse_shard(shard)
    if target.is_dir():
        raise CallError(f"--shard: {target} is a run, which knows its own part. Name an experiment file, or leave --shard out.")
    return load_experiment(target).part(wanted)


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)


if __name__ == "__main__":
    sys.exit(main())
