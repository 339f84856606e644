"""The benchmark's fixed words: suites, categories, dimensions and label values, in the order of the dataset card.

Source: LongBanana dataset card, Suites and Categories; Evaluation Protocol. A category names a case's dominant demand, not
an exclusive content.
"""

from __future__ import annotations

from types import MappingProxyType

CATEGORIES = ("SCC", "RGC", "LAC", "GAC", "LAB", "AHC", "SEL", "TSR", "AGG")
CATEGORY_NAMES = MappingProxyType(
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
SUITES = MappingProxyType(
    {
        "Scene Composition": ("SCC", "RGC", "LAC"),
        "Visual Appearance": ("GAC", "LAB", "AHC"),
        "Reference Reasoning": ("SEL", "TSR", "AGG"),
    }
)
SUITE_OF = MappingProxyType({code: suite for suite, codes in SUITES.items() for code in codes})
DIMENSIONS = ("Content Fidelity", "Relational Binding", "Global Constraint Satisfaction")
LABEL_NAMES = MappingProxyType({0: "Fail", 1: "Uncertain", 2: "Pass"})

FACTORS = ("harness", "workflow", "agent_model", "backend")
"""What a system is made of: systems are grouped, and contrasted, by these."""
