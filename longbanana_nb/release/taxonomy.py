"""The closed vocabularies of the benchmark: categories, suites, dimensions, polarities and labels (dataset card)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CATEGORY_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "SCC": "Semantic Coverage & Consistency",
        "RGC": "Relational Graph Consistency",
        "LAC": "Layout Arrangement Consistency",
        "GAC": "Global Appearance Conditioning",
        "LAB": "Local Appearance Binding",
        "AHC": "Appearance Harmonization & Coherence",
        "SEL": "Selection & Retrieval",
        "TSR": "Temporal / State Reasoning",
        "AGG": "Counting & Aggregation",
    }
)
CATEGORIES: tuple[str, ...] = tuple(CATEGORY_NAMES)  # in the card's order
SUITES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Scene Composition": ("SCC", "RGC", "LAC"),
        "Visual Appearance": ("GAC", "LAB", "AHC"),
        "Reference Reasoning": ("SEL", "TSR", "AGG"),
    }
)
SUITE_OF: Mapping[str, str] = MappingProxyType({code: suite for suite, codes in SUITES.items() for code in codes})
DIMENSIONS: tuple[str, ...] = ("Content Fidelity", "Relational Binding", "Global Constraint Satisfaction")
POLARITIES: tuple[str, ...] = ("positive", "negative")
LABEL_NAMES: Mapping[int, str] = MappingProxyType({0: "Fail", 1: "Uncertain", 2: "Pass"})

PUBLISHED_RELEASES: tuple[str, ...] = ("open_v1", "open_v1p5")
PUBLISHED_REFERENCES = 32  # a case of a published release has exactly so many, its background not counted
PUBLISHED_CASES = 90
PUBLISHED_CASES_PER_CATEGORY = 10
