"""How alike two pieces of lettering are, with the rule for letters that instruments confuse."""

from __future__ import annotations

CONFUSED = str.maketrans({"0": "O", "1": "I", "5": "S", "8": "B", "2": "Z", "6": "G"})
"""Pairs counted as one letter: read from pixels they differ by chance. Q and O, L and I, V and Y stay apart."""
ONE_OFF = 0.5
DOUBTFUL = 0.75
SURE_READING = 0.8


def normal(text: str) -> str:
    """Upper case, letters and digits only."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def folded(text: str) -> str:
    """`normal` with confused letters made one."""
    return normal(text).translate(CONFUSED)


def edits(a: str, b: str) -> int:
    """Letters to add, drop or change to turn one text into the other (Levenshtein)."""
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        before, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


def equal(found: str, wanted: str, confidence: float = 1.0) -> float:
    """Likeness of two texts, 0 to 1: 1 if equal, 0.5 one letter off, 0 from two.

    One letter off and not surely read is 0.75: it may have been misread.
    """
    distance = edits(folded(found), folded(wanted))
    if distance == 1 and confidence < SURE_READING and len(folded(wanted)) > 2:
        return DOUBTFUL
    return max(0.0, 1.0 - ONE_OFF * distance)


def contains(found: str, wanted: str, confidence: float = 1.0) -> float:
    """The best `equal` of the wanted text with a part of the found one of the same length."""
    length = len(folded(wanted))
    have = folded(found)
    parts = [have[n : n + length] for n in range(max(1, len(have) - length + 1))]
    return max(equal(part, wanted, confidence) for part in parts)
