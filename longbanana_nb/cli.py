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
from typing import Any, TextIO

from longbanana_nb import __version__
from longbanana_nb.errors import CallError, Incomplete, WorkbenchError

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
EPILOG = """\
start here:
  longbanana-nb demo          the whole loop on built-in data: no key, no network, a few minutes
  longbanana-nb doctor        what is installed and what can run

exit codes: 0 complete and good, 1 bad data or run, 2 bad call, 3 incomplete (budget, interruption, coverage below 100 %)
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit code; a person's mistake prints its text, never a traceback."""
    _print_anything()
    arguments = _parser().parse_args(argv)
    verb: Callable[[argparse.Namespace], int] = arguments.verb
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="longbanana-nb",
        description="Generate, judge, score and explain long-context multi-reference image synthesis.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"longbanana-nb {__version__}")
    verbs = parser.add_subparsers(title="verbs", required=True, metavar="VERB")

    def verb(name: str, function: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(verb=function)
        return added

    one = verb("demo", demo, "build the demo release, generate, judge, score and report; no key, no network")
    one.add_argument("--run", type=Path, metavar="DIR", help="where the run goes (default: reports/demo)")
    one.add_argument("--cases", type=int, default=3, metavar="N", help="cases a category: 3 (default) to 10 (the full shape)")

    one = verb("validate-data", validate_data, "check a release: hashes, counts, ids, paths, every picture")
    one.add_argument("manifest", nargs="?", type=Path, metavar="MANIFEST", help="default: $DATASET_MANIFEST")
    one.add_argument("--evaluation", action="store_true", help="open the evaluation side too (else it stays unopened)")
    one.add_argument("--no-decode", action="store_true", help="check hashes and text only")
    one.add_argument("--json", action="store_true", help="print one JSON object")

    one = verb("fetch", fetch, "download or unpack a published release, verified before and after")
    one.add_argument("release", metavar="RELEASE", help="open_v1 or open_v1p5")
    one.add_argument("--to", type=Path, metavar="DIR", help="folder for releases (default: data/releases)")
    one.add_argument(
        "--from", dest="source", metavar="URL|FILE", help="archive with SHA256SUMS beside it (default: the dataset's page)"
    )

    one = verb("plan", plan, "say what an experiment will do and cost, and what cannot run; spends nothing")
    one.add_argument("experiment", type=Path, metavar="EXPERIMENT.yaml")
    one.add_argument("--json", action="store_true", help="print one JSON object")

    one = verb("generate", generate, "run the systems of an experiment; finished cases are not done again")
    one.add_argument("experiment", type=Path, metavar="EXPERIMENT.yaml")

    one = verb("import-candidates", import_candidates, "take in images made elsewhere, by case id")
    one.add_argument("run", type=Path, metavar="RUN", help="run folder (made if need be)")
    one.add_argument("folder", type=Path, metavar="FOLDER", help="images named by case id")
    one.add_argument("--system", required=True, metavar="NAME", help="name of the system that made them")
    one.add_argument("--release", metavar="MANIFEST", help="release of a new run (default: $DATASET_MANIFEST)")

    one = verb("judge", judge, "judge every check that has no current answer")
    one.add_argument("target", type=Path, metavar="EXPERIMENT.yaml|RUN")
    one.add_argument("--profile", type=Path, metavar="FILE", help="judge profile (for a RUN; default: its own judges)")

    one = verb("score", score, "score a run, or a bare table of verdicts")
    one.add_argument("target", type=Path, metavar="RUN|TABLE")
    one.add_argument("--release", type=Path, metavar="MANIFEST", help="take the totals from this release")
    one.add_argument(
        "--missing", choices=["delivered", "zero"], help="policy for missing verdicts (default: the run's, else delivered)"
    )
    one.add_argument("--weights", metavar="NAME|FILE", help="weights of checks for the pass rate (default: uniform-v1)")
    one.add_argument("--json", action="store_true", help="print one JSON object (lb.scores.v1)")

    one = verb("agree", agree, "compare judgments with human labels (not there yet)")
    one.add_argument("--human", type=Path, metavar="FILE")
    one.add_argument("--judge", type=Path, metavar="FILE")
    one.add_argument("--round", choices=["1", "2", "adjudicated"])
    one.add_argument("--json", action="store_true")

    one = verb("report", report, "tables, figures, executed notebooks and report.html of a run; never generates or judges")
    one.add_argument("run", type=Path, metavar="RUN")

    one = verb("merge", merge, "join runs by unit into a new one")
    one.add_argument("out", type=Path, metavar="OUT")
    one.add_argument("runs", type=Path, nargs="+", metavar="RUN")

    one = verb("verify", verify, "re-hash every file of a run and recompute every table cell")
    one.add_argument("run", type=Path, metavar="RUN")

    one = verb("notebook", notebook, "run a notebook with checked parameters")
    one.add_argument("name", metavar="NAME", help="for instance 04_aggregate, or a path")
    one.add_argument("-p", dest="parameters", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"))
    one.add_argument("-f", dest="file", type=Path, metavar="FILE", help="YAML file with parameters")

    verb("doctor", doctor, "what is installed, which keys are set (never their value), what can run")
    return parser


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

    made = workbench.plan(arguments.experiment)
    _say(_as_json(made.as_json()) if arguments.json else made.text())
    return 0 if made.can_run else CallError.exit_code


def generate(arguments: argparse.Namespace) -> int:
    """Make every missing candidate of an experiment."""
    from longbanana_nb import workbench

    _say(workbench.generate(arguments.experiment).text())
    return 0


def import_candidates(arguments: argparse.Namespace) -> int:
    """Import images by case id."""
    from longbanana_nb import workbench

    _say(workbench.import_candidates(arguments.run, arguments.system, arguments.folder, release=arguments.release).text())
    return 0


def judge(arguments: argparse.Namespace) -> int:
    """Judge what has no current answer; exit 3 while something is invalid."""
    from longbanana_nb import workbench

    summaries = workbench.judge(arguments.target, profile=arguments.profile)
    for summary in summaries:
        _say(summary.text())
    return 0 if all(summary.is_complete for summary in summaries) else Incomplete.exit_code


def score(arguments: argparse.Namespace) -> int:
    """Print scores; exit 3 while something is invalid or missing."""
    from longbanana_nb import workbench

    scores = workbench.score(arguments.target, release=arguments.release, missing=arguments.missing, weights=arguments.weights)
    _say(_as_json(scores.as_json()) if arguments.json else workbench.score_text(scores))
    return 0 if scores.is_complete else Incomplete.exit_code


def agree(arguments: argparse.Namespace) -> int:
    """Say that agreement with human labels is not there yet."""
    raise CallError(
        "agree: agreement with human labels is not there yet. `longbanana-nb score` and `report` work on what is judged."
    )


def report(arguments: argparse.Namespace) -> int:
    """Build report.html and print where it is."""
    from longbanana_nb import workbench

    print(workbench.report(arguments.run))
    return 0


def merge(arguments: argparse.Namespace) -> int:
    """Merge runs into a new folder."""
    from longbanana_nb.runs import merge_runs

    print(merge_runs(arguments.out, arguments.runs).path)
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


def doctor(arguments: argparse.Namespace) -> int:
    """Print the state of this installation; exit 1 if the demo could not run."""
    from longbanana_nb.doctor import as_text, diagnose, is_healthy

    findings = diagnose()
    print(as_text(findings))
    return 0 if is_healthy(findings) else 1


def _as_json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)


if __name__ == "__main__":
    sys.exit(main())
