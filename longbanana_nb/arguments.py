"""What can be typed after `longbanana-nb`: every verb with its arguments and its help."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from longbanana_nb import __version__

EPILOG = """\
start here:
  longbanana-nb demo          the whole loop on built-in data: no key, no network, a few minutes
  longbanana-nb doctor        what is installed and what can run

exit codes: 0 complete and good, 1 bad data or run, 2 bad call, 3 incomplete (budget, interruption, coverage below 100 %)
"""

SHARD = "take the I-th of N parts (from 1), in a run folder of its own"

Verb = Callable[[str, str], argparse.ArgumentParser]  # name, what it does -> a parser to add its arguments to


def parser() -> argparse.ArgumentParser:
    """The whole command line; `verb` of what it reads is the verb's name."""
    whole = argparse.ArgumentParser(
        prog="longbanana-nb",
        description="Generate, judge, score and explain long-context multi-reference image synthesis.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action="version", version=f"longbanana-nb {__version__}")
    verbs = whole.add_subparsers(title="verbs", required=True, metavar="VERB")

    def verb(name: str, text: str) -> argparse.ArgumentParser:
        added = verbs.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        added.set_defaults(verb=name)
        return added

    _of_releases(verb)
    _of_experiments(verb)
    _of_scores(verb)
    _of_runs(verb)
    return whole


def _of_releases(verb: Verb) -> None:
    one = verb("demo", "build the demo release, generate, judge, score and report; no key, no network")
    one.add_argument("--run", type=Path, metavar="DIR", help="where the run goes (default: reports/demo)")
    one.add_argument("--cases", type=int, default=3, metavar="N", help="cases a category: 3 (default) to 10 (the full shape)")

    one = verb("validate-data", "check a release: hashes, counts, ids, paths, every picture")
    one.add_argument("manifest", nargs="?", type=Path, metavar="MANIFEST", help="default: $DATASET_MANIFEST")
    one.add_argument("--evaluation", action="store_true", help="open the evaluation side too (else it stays unopened)")
    one.add_argument("--no-decode", action="store_true", help="check hashes and text only")
    one.add_argument("--json", action="store_true", help="print one JSON object")

    one = verb("fetch", "download or unpack a published release, verified before and after")
    one.add_argument("release", metavar="RELEASE", help="open_v1 or open_v1p5")
    one.add_argument("--to", type=Path, metavar="DIR", help="folder for releases (default: data/releases)")
    one.add_argument(
        "--from", dest="source", metavar="URL|FILE", help="archive with SHA256SUMS beside it (default: the dataset's page)"
    )

    one = verb("annotate", "derive dimension, polarity and probes of a release that states none, for people to review")
    one.add_argument("manifest", nargs="?", type=Path, metavar="MANIFEST", help="default: $DATASET_MANIFEST")
    one.add_argument("--model", type=Path, metavar="FILE", help="text model to ask where rules are not sure")
    one.add_argument("--reviewed", type=Path, metavar="SHEET.csv", help="take back the review sheet that people filled in")
    one.add_argument("--max-usd", type=float, metavar="USD", help="dollars the text model may cost in all")
    one.add_argument("--measure", action="store_true", help="only compare the rules with the units a release states")


def _of_experiments(verb: Verb) -> None:
    one = verb("plan", "say what an experiment will do and cost, and what cannot run; spends nothing")
    one.add_argument("experiment", type=Path, metavar="EXPERIMENT.yaml")
    one.add_argument("--shard", metavar="I/N", help=SHARD)
    one.add_argument("--json", action="store_true", help="print one JSON object")

    one = verb("generate", "run the systems of an experiment; finished cases are not done again")
    one.add_argument("experiment", type=Path, metavar="EXPERIMENT.yaml")
    one.add_argument("--shard", metavar="I/N", help=SHARD)

    one = verb("scale", "carry out an experiment in shards on the workers of a Dask cluster, then merge them")
    one.add_argument("experiment", type=Path, metavar="EXPERIMENT.yaml")
    one.add_argument("--shards", type=int, required=True, metavar="N", help="parts, from 2")
    one.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster you trust (default: a local one for this command)")
    one.add_argument("--workers", type=int, metavar="N", help="worker processes of the local cluster (default: one a processor)")

    one = verb("import-candidates", "take in images made elsewhere, by case id")
    one.add_argument("run", type=Path, metavar="RUN", help="run folder (made if need be)")
    one.add_argument("folder", type=Path, metavar="FOLDER", help="images named by case id")
    one.add_argument("--system", required=True, metavar="NAME", help="name of the system that made them")
    one.add_argument("--release", metavar="MANIFEST", help="release of a new run (default: $DATASET_MANIFEST)")

    one = verb("judge", "judge every check that has no current answer")
    one.add_argument("target", type=Path, metavar="EXPERIMENT.yaml|RUN")
    one.add_argument("--shard", metavar="I/N", help=f"of an EXPERIMENT: {SHARD}")
    one.add_argument("--profile", type=Path, metavar="FILE", help="judge profile (for a RUN; default: its own judges)")
    one.add_argument(
        "--max-usd", type=_dollars, metavar="USD", help="what the run may have cost in all (default: the experiment's)"
    )
    one.add_argument(
        "--retry", type=_words, default=(), metavar="REASONS", help="ask invalid answers again, for instance refused,filtered"
    )

    one.add_argument("--steps", action="store_true", help="judge a RUN's pictures on the way instead, for the loss funnel")

    one = verb("audit", "what a judge does not notice: pictures changed by one edit, judged before and after")
    one.add_argument("run", type=Path, metavar="RUN")
    one.add_argument("--judge", metavar="NAME", help="a judge of the run (default: the first that looks at pixels)")
    one.add_argument("--profile", type=Path, metavar="FILE", help="judge profile, instead of a judge of the run")
    one.add_argument("--pairs", type=int, default=12, metavar="N", help="pairs of each kind of edit (default: 12)")
    one.add_argument("--seed", type=int, default=1, metavar="N", help="of the choice of pairs (default: 1)")
    one.add_argument(
        "--source", choices=["auto", "graph", "pixels"], default="auto", help="how pairs are made (default: graphs if possible)"
    )
    one.add_argument("--max-usd", type=_dollars, metavar="USD", help="what the audit of this judge may have cost in all")
    one.add_argument("--canary", action="store_true", help="ask a frozen set of questions once more instead, and report drift")
    one.add_argument(
        "--units", type=int, default=100, metavar="N", help="questions of the canary set, when it is drawn (default: 100)"
    )
    one.add_argument("--json", action="store_true", help="print one JSON object")


def _of_scores(verb: Verb) -> None:
    one = verb("score", "score a run, or a bare table of verdicts; several runs on different releases are pooled")
    one.add_argument("target", type=Path, nargs="+", metavar="RUN|TABLE")
    one.add_argument("--release", type=Path, metavar="MANIFEST", help="take the totals from this release")
    one.add_argument(
        "--missing", choices=["delivered", "zero"], help="policy for missing verdicts (default: the run's, else delivered)"
    )
    one.add_argument("--weights", metavar="NAME|FILE", help="weights of checks for the pass rate (default: uniform-v1)")
    one.add_argument("--json", action="store_true", help="print one JSON object (lb.scores.v1)")

    one = verb("label", "draw units for people to label, hand out blind sheets, take them back")
    one.add_argument("run", type=Path, metavar="RUN", help="alone: say where the labelling of the run stands")
    one.add_argument(
        "--raters", type=_words, default=(), metavar="NAMES", help="draw units for these raters, for instance anna,ben"
    )
    one.add_argument("--units", type=int, default=200, metavar="N", help="units to draw (default: 200)")
    one.add_argument(
        "--double", type=float, default=0.15, metavar="SHARE", help="share of them that a second rater labels too (default: 0.15)"
    )
    one.add_argument(
        "--judge", metavar="NAME", help="draw by the answers of this judge (default: the first that looks at pixels)"
    )
    one.add_argument("--seed", type=int, default=1, metavar="N", help="of the draw (default: 1)")
    one.add_argument("--take", type=Path, metavar="FILE", help="take labels in: a filled-in sheet, or a .csv or .jsonl table")
    one.add_argument("--rater", metavar="NAME", help="who filled in FILE (or a column `rater` says)")
    one.add_argument("--round", choices=["1", "2", "adjudicated"], help="round of the rows of FILE that do not say (default: 1)")
    one.add_argument("--adjudicate", metavar="NAME", help="write a third rater's sheet: units on which two raters differ")
    one.add_argument(
        "--simulate",
        nargs="?",
        const="careful",
        metavar="QUALITY",
        help="carry it all out with simulated raters (expert, careful, hasty, lenient) from the demo's truth",
    )

    one.add_argument("--freeze", type=Path, metavar="FILE", help="write difficulty weights of the checks from the settled labels")
    one.add_argument("--pool", type=_words, default=(), metavar="SYSTEMS", help="whose labels make the weights (default: all)")

    one = verb("agree", "compare a judge with human labels, two judges on them, or raters with each other")
    one.add_argument("--human", type=Path, required=True, metavar="RUN|FILE", help="a run with labels, or a table of labels")
    one.add_argument(
        "--judge",
        type=Path,
        metavar="RUN|FILE",
        help="whose verdicts: a run, RUN/judgments/NAME, a table (without: raters alone)",
    )
    one.add_argument("--name", metavar="NAME", help="the judge, where --judge holds several (a run: the first that sees pixels)")
    one.add_argument(
        "--against", type=Path, metavar="RUN|FILE", help="a second judge, compared with the first on the same labels"
    )
    one.add_argument("--round", choices=["1", "2", "adjudicated", "majority"], help="which label counts where a unit has several")
    one.add_argument("--json", action="store_true", help="print one JSON object")


def _of_runs(verb: Verb) -> None:
    one = verb("report", "tables, figures, executed notebooks and report.html of a run; never generates or judges")
    one.add_argument("run", type=Path, metavar="RUN")

    one = verb("merge", "join runs by unit into a new one")
    one.add_argument("out", type=Path, metavar="OUT")
    one.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    one.add_argument(
        "--accept-drift", action="store_true", help="join them although a judge's canary moved too far; tables then say so"
    )

    one = verb("verify", "re-hash every file of a run and recompute every table cell")
    one.add_argument("run", type=Path, metavar="RUN")

    one = verb("notebook", "run a notebook with checked parameters")
    one.add_argument("name", metavar="NAME", help="for instance 04_aggregate, or a path")
    one.add_argument("-p", dest="parameters", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"))
    one.add_argument("-f", dest="file", type=Path, metavar="FILE", help="YAML file with parameters")

    one = verb("agents", "install the agent command lines, or say which are installed")
    one.add_argument("action", choices=["install", "list"], metavar="install|list")
    one.add_argument("name", nargs="?", metavar="NAME|all", help="openclaw, opencode, hermes, claude-code, codex, or all")

    verb("doctor", "what is installed, which keys are set (never their value), what can run")


def _words(text: str) -> tuple[str, ...]:
    """Words between commas."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _dollars(text: str) -> float:
    """A number of dollars."""
    try:
        dollars = float(text)
    except ValueError:
        dollars = -1.0
    if not 0 <= dollars < math.inf:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected dollars, a number from 0")
    return dollars
