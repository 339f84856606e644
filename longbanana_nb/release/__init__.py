"""What is measured: the release contract, its loading, validation, fetching and writing, and the probe grammar."""

from longbanana_nb.release.annotations import overlay_folder
from longbanana_nb.release.contract import Case, Check, CheckKey, Evaluation, Option, Reference, Release, Unit
from longbanana_nb.release.fetching import fetch_release
from longbanana_nb.release.loading import load_release
from longbanana_nb.release.probe_grammar import parse_probe
from longbanana_nb.release.probes import PROBE_VERSION, Box, Entity, Probe
from longbanana_nb.release.validation import Validation, validate_release
from longbanana_nb.release.writing import write_release

__all__ = [
    "PROBE_VERSION",
    "Box",
    "Case",
    "Check",
    "CheckKey",
    "Entity",
    "Evaluation",
    "Option",
    "Probe",
    "Reference",
    "Release",
    "Unit",
    "Validation",
    "fetch_release",
    "load_release",
    "overlay_folder",
    "parse_probe",
    "validate_release",
    "write_release",
]
