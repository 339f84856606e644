"""What tables, figures and pages state about a run beside its numbers: release, systems, judges, policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pandas as pd

FLOOR_HARNESSES = frozenset({"blank", "single-reference", "collage", "words"})


class ScoreFrames(Protocol):
    """The three frames of `lb.scores.v1`, as `scoring.score_grid` returns them."""

    @property
    def scores(self) -> pd.DataFrame:
        """One row per (system, judge, scope, name); scores 0-100."""

    @property
    def pass_rates(self) -> pd.DataFrame:
        """One row per (system, judge); rates 0-1."""


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """How one system makes its candidates, in the words that tables print."""

    name: str
    harness: str
    workflow: str | None = None
    agent_model: str | None = None
    backend: str | None = None
    simulated: bool = False
    privileges: tuple[str, ...] = ()
    sandbox: str | None = None

    @property
    def is_floor(self) -> bool:
        """True for the floors, which stand in tables but never compete."""
        return self.harness in FLOOR_HARNESSES

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that every table shows beside this system's name."""
        shown = {
            "simulated": self.simulated,
            "privileged": "graph" in self.privileges,
            "unsandboxed": self.sandbox == "none",
        }
        return tuple(flag for flag, is_shown in shown.items() if is_shown)


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """One judge: its protocol, its model (None for `tools` and `truth`), and whether it is simulated."""

    name: str
    protocol: str
    model: str | None = None
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Derived:
    """How many of a run's checks have a dimension and polarity, and how many a probe, that were derived and not reviewed."""

    units: int
    probes: int
    checks: int


@dataclass(frozen=True, slots=True)
class RunFacts:
    """Everything a footer says. `systems` and `judges` stand in the order in which tables show them."""

    release: str
    revision: str
    systems: tuple[SystemFacts, ...]
    judges: tuple[JudgeFacts, ...]
    license: str | None = None
    package: str | None = None
    level: float = 0.95
    policy: Mapping[str, object] = field(default_factory=dict)
    derived: Derived | None = None  # what of the checks' annotations was derived and not reviewed
    shard: str | None = None  # i/n, where the run is a part of its experiment
    audits: Mapping[str, str] = field(default_factory=dict)  # what is known of what each judge notices, in one line

    def system(self, name: str) -> SystemFacts:
        """The facts of one system."""
        return next(system for system in self.systems if system.name == name)

    def judge(self, name: str) -> JudgeFacts:
        """The facts of one judge."""
        return next(judge for judge in self.judges if judge.name == name)

    @property
    def truth(self) -> JudgeFacts | None:
        """The judge that reads scenes instead of pixels, if the run has one."""
        return next((judge for judge in self.judges if judge.protocol == "truth"), None)

    @property
    def main_judge(self) -> JudgeFacts | None:
        """The first judge that looks at pixels; without one, the truth."""
        return next((judge for judge in self.judges if judge.protocol != "truth"), self.truth)

    @property
    def competitors(self) -> tuple[SystemFacts, ...]:
        """The systems that are no floors."""
        return tuple(system for system in self.systems if not system.is_floor)

    @property
    def floors(self) -> tuple[SystemFacts, ...]:
        """The floors."""
        return tuple(system for system in self.systems if system.is_floor)

    @property
    def has_simulated(self) -> bool:
        """True when a system or a judge of this run is simulated."""
        return any(system.simulated for system in self.systems) or any(judge.simulated for judge in self.judges)


def judge_line(facts: RunFacts, judge: str) -> str:
    """For example `Judge: tools-1 (protocol tools; simulated)`."""
    described = facts.judge(judge)
    details = [f"protocol {described.protocol}"]
    details += [described.model] if described.model else []
    details += ["simulated"] if described.simulated else []
    return f"Judge: {judge} ({'; '.join(details)})"


def derived_units_note(facts: RunFacts) -> tuple[str, ...]:
    """That dimension and polarity are derived, where they are; nothing where the release or a person states them."""
    if facts.derived is None or not facts.derived.units:
        return ()
    return (f"Dimension and polarity of {facts.derived.units} of {facts.derived.checks} checks are derived, not reviewed.",)


def derived_probes_note(facts: RunFacts, judge: str) -> tuple[str, ...]:
    """That probes are derived, for a judge that answers probes."""
    if facts.derived is None or not facts.derived.probes or facts.judge(judge).protocol not in ("tools", "truth"):
        return ()
    return (f"The probes of {facts.derived.probes} of {facts.derived.checks} checks are derived, not reviewed.",)


def audit_notes(facts: RunFacts, judge: str) -> tuple[str, ...]:
    """What the judge's audit says, or a warning that there is none; nothing for a judge that needs none."""
    return (facts.audits[judge],) if judge in facts.audits else ()


def policy_line(facts: RunFacts) -> str:
    """For example `missing: delivered; min_case_coverage: 0`, in the order of the policy."""
    words = [f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}" for key, value in facts.policy.items()]
    return f"Policy: {'; '.join(words) or 'card defaults'}"


def source_line(facts: RunFacts) -> str:
    """The release, its revision and the package that made the page."""
    package = f"; {facts.package}" if facts.package else ""
    part = f"; shard {facts.shard} only, a part of the experiment" if facts.shard else ""
    return f"Release {facts.release}, revision {facts.revision}{package}{part}"


INTERVALS = "Intervals hold the sampling of cases only; judge error is not included."
SAMPLED = (
    "Only a sample of each case's checks was asked; intervals hold that too. A pass rate on so few checks a case is rough: more "
    "cases lie on the wrong side of the threshold by chance."
)
CATEGORY_NOTE = "A category is a case's dominant demand, not an exclusive content."
