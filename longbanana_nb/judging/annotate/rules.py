"""Dimension and polarity of a check from its words; where the words leave doubt, the guess says that it is not sure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.judging.annotate import cues

if TYPE_CHECKING:
    from longbanana_nb.release import Check

VERSION = "annotate-rules-1"
CONTENT, RELATIONAL, GLOBAL = "Content Fidelity", "Relational Binding", "Global Constraint Satisfaction"


@dataclass(frozen=True, slots=True)
class Guess:
    """What the words of a check point to, and the words it rests on; not sure where they point to nothing or to two things."""

    value: str
    is_sure: bool
    cues: tuple[str, ...]


def guess_polarity(check: Check) -> Guess:
    """Whether a check asks for presence ("positive") or for absence: by its question, held against what it says of Pass.

    Sure where question and Pass agree, or where nothing is said of Pass.
    """
    asked = cues.ASKS_ABSENCE.search(check.question)
    meaning = meaning_of_pass(check)
    passes = cues.PASS_IS_ABSENCE.search(meaning) if meaning else None
    agree = meaning is None or bool(asked) == bool(passes)
    return Guess("negative" if asked else "positive", agree, tuple(_word(found) for found in (asked, passes) if found))


def guess_dimension(check: Check) -> Guess:
    """The level of the graph a check lies on: a node, an edge, or the whole graph (the paper's three dimensions).

    Words of the whole outweigh words of an edge, and those words of a node; whole and edge together are not sure.
    """
    question = cues.AS_IN_REFERENCE.sub("?", check.question)
    names_a_thing = cues.FREE_OF.search(question)  # what follows describes one thing, however many words it takes
    found = {
        GLOBAL: _found(cues.WHOLE_GRAPH, question) + _found(cues.NOT_ASKED_FOR, f"{check.question} {check.guide or ''}"),
        RELATIONAL: [] if names_a_thing else _found(cues.EDGE, question) + _found(cues.BINDING, question),
        CONTENT: _found(cues.NODE, question) + _found(cues.AS_IN_REFERENCE, check.question),
    }
    for value, words in found.items():
        if words:
            return Guess(value, not (value == GLOBAL and found[RELATIONAL]), tuple(words))
    return Guess(CONTENT, False, ())


def meaning_of_pass(check: Check) -> str | None:
    """What the check says of Pass, in its options or in its guide; None where it says nothing."""
    for option in check.options:
        if option.value == 2 and option.description and option.description.strip():
            return option.description.strip()
    found = cues.PASS_CLAUSE.search(check.guide or "")
    return found["says"].strip() if found else None


def _found(pattern: re.Pattern[str], words: str) -> list[str]:
    return [_word(match) for match in pattern.finditer(words)][:3]


def _word(match: re.Match[str]) -> str:
    return match.group(0).strip().lower()[:60]
