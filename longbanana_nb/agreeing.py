"""`agree` for people: labels against verdicts, two judges on the same labels, raters against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.reporting.run_labels import labels_of_run, verdicts_of_run
from longbanana_nb.runs import open_run
from longbanana_nb.runs.labels import SIMULATED, candidate_hashes
from longbanana_nb.runs.run import RUN_JSON
from longbanana_nb.scoring.label_tables import CHOICES, Choice, chosen_labels, read_label_table, twice_labelled
from longbanana_nb.scoring.pairs import Matched, agreement_json, hashes_of, match, verdict_units
from longbanana_nb.scoring.raters import raters_json
from longbanana_nb.scoring.tables_in import read_verdict_table
from longbanana_nb.scoring.two_judges import compared

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.scoring.label_tables import Hashes


@dataclass(frozen=True, slots=True)
class Told:
    """What `agree` found: the JSON object, the same for a terminal, and whether nothing was invalid or missing."""

    value: dict[str, Any]
    text: str
    complete: bool


def agree(
    human: Path, judge: Path | None, *, against: Path | None = None, round_: str | None = None, name: str | None = None
) -> Told:
    """Compare labels with verdicts, and with those of a second judge; or, without a judge, raters with each other.

    Args:
        human: a run with labels, or a table of labels. judge, against: a run, `RUN/judgments/NAME`, a journal, or a table.
        round_: which of several labels of a unit counts. name: the judge of a run or a table that holds several.
    """
    labels, hashes = _labels(human)
    if judge is None:
        return _raters(labels, hashes)
    choice = _choice(round_)
    first = _matched(labels, hashes, judge, choice, name)
    value = agreement_json(first) | {"simulated": _is_simulated(labels)}
    lines, complete = [text_of(value)], first.complete
    if against is not None:
        second = _matched(labels, hashes, against, choice, None)
        value["against"] = compared(first, second)
        lines.append(against_text(value["against"]))
        complete = complete and second.complete
    return Told(value, "\n".join(lines), complete)


def _choice(word: str | None) -> Choice | None:
    if word is None:
        return None
    for choice in CHOICES:
        if word == choice:
            return choice
    raise CallError(f"round: found {word!r}; expected one of {', '.join(CHOICES)}.")


def _labels(place: Path) -> tuple[pd.DataFrame, Hashes]:
    if (place / RUN_JSON).is_file():
        run = open_run(place)
        hashes = {(system, case, str(sample)): sha256 for (system, case, sample), sha256 in candidate_hashes(run).items()}
        return labels_of_run(run), hashes
    return read_label_table(place), {}


def _matched(labels: pd.DataFrame, hashes: Hashes, place: Path, choice: Choice | None, name: str | None) -> Matched:
    verdicts = verdict_units(_verdicts(place, name))
    return match(chosen_labels(labels, choice, {**hashes_of(verdicts), **hashes}), verdicts)


def _verdicts(place: Path, name: str | None) -> pd.DataFrame:
    """The verdicts of one judge."""
    if (place / RUN_JSON).is_file():
        return verdicts_of_run(open_run(place), name)
    if place.parent.name == "judgments" and (place.parent.parent / RUN_JSON).is_file():
        return verdicts_of_run(open_run(place.parent.parent), place.name)
    grid = read_verdict_table(place)
    judges = list(dict.fromkeys(grid["judge"]))
    if name is None and len(judges) > 1:
        raise CallError(f"{place}: found verdicts of {', '.join(map(repr, judges))}; expected one judge. Name it (--name).")
    if name is not None and name not in judges:
        near = nearest(name, judges)
        raise CallError(f"{place}: found no judge {name!r}." + (f" Did you mean {near!r}?" if near else ""))
    return grid if name is None else grid[grid["judge"] == name]


def _raters(labels: pd.DataFrame, hashes: Hashes) -> Told:
    pairs, units = twice_labelled(labels, hashes)
    if pairs.empty:
        raise CallError(
            "agree: no unit has a label of round 1 and one of round 2. Name a judge (--judge), or have some units labelled twice."
        )
    value = raters_json(pairs, units) | {"simulated": _is_simulated(labels)}
    return Told(value, raters_text(value), True)


def _is_simulated(labels: pd.DataFrame) -> bool:
    """Whether any label is that of a simulated rater."""
    return any(str(rater).startswith(SIMULATED) for rater in labels["rater"].unique())


def text_of(value: dict[str, Any]) -> str:
    """Agreement for a terminal: counts, labels, case scores, correlations, and what does not exist."""
    dropped = value["dropped"]
    lines = [
        f"{value['n']} pairs of labels; left out: {dropped['human']} without a human label, {dropped['judge']} invalid verdicts, "
        f"{dropped['unmatched']} on one side only; {value['stale']} stale labels"
    ]
    rows = zip(("Fail", "Uncertain", "Pass"), value["confusion"], strict=True)
    lines += ["labels of people (rows), of the judge (columns: Fail, Uncertain, Pass)"]
    lines += [f"  {name:<10}" + "".join(f"{count:>8}" for count in counts) for name, counts in rows]
    lines += [_row(name, value, name, scale) for name, scale in (("exact", 100), ("opposite", 100), ("kappa_quadratic", 1))]
    lines += [f"case scores, 0-100, over {value['cases']} (system, case):"]
    lines += [_row(name, value, name, 1) for name in ("bias", "mae")]
    limits = value["limits_of_agreement"]
    lines += [f"  95 % of differences within {limits[0]:.1f} to {limits[1]:.1f}"] if limits else []
    parts = (("pooled", value), ("within case", value["within_case"]), ("system means", value["system_means"]))
    lines += [
        _row(f"{name}, {part}", block, name, 1) for part, block in parts for name in ("pearson", "spearman", "kendall_tau_b")
    ]
    hidden = [f"  {name}: {reason}" for name, reason in value["undefined"].items() if not name.startswith("by.")]
    lines += ["undefined:", *hidden] if hidden else []
    lines += ["Labels of simulated raters."] if value["simulated"] else []
    return "\n".join([*lines, f"Intervals: {value['level']:.0%}, {value['method']}, seed {value['seed']}."])


def against_text(value: dict[str, Any]) -> str:
    """The differences of two judges, for a terminal."""
    lines = [f"against the second judge, on {value['n']} labels that both answered (first - second):"]
    for name, one in value["statistics"].items():
        scale, unit = (100, " points") if name in ("exact", "opposite") else (1, "")
        if one["difference"] is not None:
            interval = f" [{scale * one['ci_low']:+.2f}, {scale * one['ci_high']:+.2f}]" if one["ci_low"] is not None else ""
            lines.append(f"  {name:<28}{scale * one['difference']:+.2f}{unit}{interval}")
    return "\n".join(lines)


def raters_text(value: dict[str, Any]) -> str:
    """Agreement of raters as papers give it."""
    raters = " by simulated raters" if value["simulated"] else ""
    return (
        f"{value['n']} units labelled twice{raters} ({100 * value['share']:.1f} % of {value['units']}), before adjudication\n"
        + "\n".join(_row(name, value, name, scale) for name, scale in (("exact", 100), ("opposite", 100), ("kappa_quadratic", 1)))
    )


def _row(title: str, block: dict[str, Any], name: str, scale: int) -> str:
    number, interval, unit = block[name], block["intervals"][name], " %" if scale == 100 else ""
    if number is None:
        return f"  {title:<28}-"
    digits = 1 if scale == 100 or name in ("bias", "mae") else 3
    shown = f" [{scale * interval[0]:.{digits}f}, {scale * interval[1]:.{digits}f}]" if interval else ""
    return f"  {title:<28}{scale * number:.{digits}f}{unit}{shown}"
