"""The table of harnesses: which there are, which version of each, and what each needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.generation import command, floors, fp_direct, native, pd_direct
from longbanana_nb.generation.agents import driver
from longbanana_nb.generation.contracts import Capabilities, Draft, Models
from longbanana_nb.runs.system_spec import COMMAND_LINES

if TYPE_CHECKING:
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

Harness = Callable[["Case", "SystemSpec", Models, int], Draft]
Fitting = Callable[["SystemSpec", "Case", Capabilities], None]
Ready = Callable[["SystemSpec"], Mapping[str, str]]

HARNESSES: dict[str, Harness] = {
    "fp-direct": fp_direct.fp_direct,
    "pd-direct": pd_direct.pd_direct,
    "native": native.native,
    "command": command.command,
    **dict.fromkeys(COMMAND_LINES, driver.run_agent),
    "blank": floors.blank,
    "single-reference": floors.single_reference,
    "collage": floors.collage,
    "words": floors.words,
}
# A version enters the hash of each system: raise it when the harness would leave another picture for the same case.
VERSIONS: dict[str, str] = {**dict.fromkeys(HARNESSES, "1"), "collage": "3", "words": "2"}
FITTING: dict[str, Fitting] = {
    "fp-direct": fp_direct.refuse_what_does_not_fit,
    "pd-direct": pd_direct.refuse_what_does_not_fit,
    "native": native.refuse_what_does_not_fit,
    **dict.fromkeys(COMMAND_LINES, driver.refuse_backend),
}
# What a harness needs of this machine: it refuses what is not there, and returns the versions that enter the hash.
READY: dict[str, Ready] = {
    "native": native.versions_of,
    "command": command.ready,
    **dict.fromkeys(COMMAND_LINES, driver.ready),
}


def harness_of(spec: SystemSpec) -> Harness:
    """The harness of a system; CallError for one whose candidates are not generated."""
    kind = spec.harness.kind
    if kind == "imported":
        raise CallError(f"system {spec.name!r}: imported candidates are not generated. Use import-candidates.")
    return HARNESSES[kind]
