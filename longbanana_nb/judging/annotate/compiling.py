"""Probes from words alone: only what needs no exemplar, and only where the words leave one reading."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from longbanana_nb.release.probes import COLOURS

if TYPE_CHECKING:
    from longbanana_nb.release import Check

VERSION = "annotate-probes-1"
BACKDROP_SHARE = 0.6  # of the backdrop; a person may ask for another share in the overlay
_WHOLE = [0.0, 0.0, 1.0, 1.0]
_QUOTED = re.compile(r"[\"“]([^\"”]{1,40})[\"”]")
_LETTERING = r"(?:lettering|text|words?|inscription|caption|slogan|watermark)"
_SEEN = r"(?:absent|visible|readable|legible|present|missing|appear|be read|be seen)"
_ONE = r"[\"“][^\"”]+[\"”]"
_WRITTEN_ANYWHERE = re.compile(
    rf"^(?:is|are|does|do|can) (?:the |any )?{_LETTERING} {_ONE} {_SEEN}[^\"“”]*\?$"
    rf"|^(?:is|does) the (?:picture|image) (?:free of|read|show|contain|bear) (?:the |any )?{_LETTERING} {_ONE}\?$",
    re.IGNORECASE,
)
_BACKDROP = re.compile(
    rf"^is the (?:backdrop|background)(?P<free> free of large)? (?P<colour>{'|'.join(COLOURS)})(?: areas)?\?$", re.IGNORECASE
)


def probe_from_words(check: Check, polarity: str) -> dict[str, Any] | None:
    """The probe of a check on lettering anywhere in the picture, or on the backdrop's colour; None for all others."""
    question = check.question.strip()
    if backdrop := _BACKDROP.match(question):
        palette = {"palette": {"colour": backdrop["colour"].lower(), "share": BACKDROP_SHARE}}
        return {"not": palette} if backdrop["free"] else palette
    quoted = _QUOTED.findall(question)
    if len(quoted) == 1 and _WRITTEN_ANYWHERE.match(question):
        written = {"text": {"in": _WHOLE, "contains": quoted[0]}}
        return {"not": written} if polarity == "negative" else written
    return None
