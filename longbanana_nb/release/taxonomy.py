"""The card's fixed words, as the release reads them, and the shape that published releases have."""

from __future__ import annotations

from longbanana_nb.taxonomy import CATEGORIES, CATEGORY_NAMES, DIMENSIONS, LABEL_NAMES, SUITE_OF, SUITES

__all__ = [
    "CATEGORIES",
    "CATEGORY_NAMES",
    "DIMENSIONS",
    "LABEL_NAMES",
    "POLARITIES",
    "PUBLISHED_CASES",
    "PUBLISHED_CASES_PER_CATEGORY",
    "PUBLISHED_REFERENCES",
    "PUBLISHED_RELEASES",
    "SUITES",
    "SUITE_OF",
]

POLARITIES = ("positive", "negative")
PUBLISHED_RELEASES = ("open_v1", "open_v1p5")
PUBLISHED_REFERENCES = 32  # a case of a published release has exactly so many, its background not counted
PUBLISHED_CASES = 90
PUBLISHED_CASES_PER_CATEGORY = 10
