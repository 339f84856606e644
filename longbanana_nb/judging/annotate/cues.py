"""The words that give a check's dimension and polarity away, as short patterns; one list a meaning."""

from __future__ import annotations

import re

_PICTURE = r"(?:picture|image|frame|scene|canvas|composition)"
_QUOTED = r"[\"“'‘][^\"?]+[\"”'’]"


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


ASKS_ABSENCE = _any_of(
    r"\bfree (?:of|from)\b", r"\babsent\b", r"\babsence of\b", r"\bwithout\b", r"\bdevoid of\b", r"\bnone of\b",
    r"\bavoid(?:s|ed|ing)?\b", r"\bexclud(?:e|es|ed|ing)\b", r"\bomit(?:s|ted)?\b", r"\bmissing from\b",
    r"\bno (?:\w+ ){0,6}(?:visible|present|appears?|shown|left)\b",
    r"^(?:are|is|does|do) (?:there|the \w+) (?:show |contain )?no\b",
    r"\b(?:not|never|n't) (?:\w+ ){0,2}(?:appear|contain|include|show|depict|feature|present|visible|have|use|be|leak|render)\w*",
)  # fmt: skip

PASS_IS_ABSENCE = _any_of(
    r"^(?:no|none|nothing|neither)\b", r"\bno such\b", r"\b(?:is|are|be) (?:\w+ )?(?:absent|not|nowhere|missing)\b",
    r"\bdo(?:es)? not\b", r"\bcannot be\b", r"\bnot (?:visible|present|shown|seen|appear)\b", r"\bfree (?:of|from)\b",
    r"\bwithout\b", r"\babsent\b",
)  # fmt: skip

EDGE = _any_of(
    rf"\b(?:left|right) of (?!the {_PICTURE})", r"\b(?:above|below|beneath|under|underneath|behind|beside|between|inside)\b",
    r"\bon top of\b", r"\bin front of\b", r"\bnext to\b", rf"\bwithin the (?!{_PICTURE})\w+", r"\boverlap\w*", r"\btouch\w*",
    r"\b(?:holds?|holding|held|wears?|wearing|worn|faces|facing)\b", r"\blean\w* (?:on|against)\b", r"\battached to\b",
    r"\bhang\w* (?:on|from)\b", r"\b(?:rest\w*|stands?|sits?|sitting|standing) on\b", r"\bclos(?:er|est) to\b",
    r"\b(?:into|onto|pours?|pulls?|pushes|rides?|riding)\b", r"\b(?:looks|points) at\b", r"\breaches for\b",
    rf"^(?:is|are) the [^?]+ (?:on|in|at) (?:the|a|an|its) (?!{_PICTURE}|[\w -]+ of the {_PICTURE})",
)  # fmt: skip

BINDING = _any_of(
    rf"\b(?:bears|reads?|says?|spells?|carr(?:y|ies))\b[^?]*{_QUOTED}",
    rf"\bdo(?:es)? the [^:?]+ bear (?:the|this|an?|its) [^?]*{_QUOTED}",
    rf"^(?:is|are) the [^\"?]+ (?:lettered|labell?ed|inscribed|printed|marked) (?:with )?{_QUOTED}\?$",
    r"\b(?:colou?r|material|pattern|texture|finish|style) of the \w+",
    r"\b(?:same|matching|match(?:es)?) (?:the )?(?:colou?r|material|pattern|texture|design|finish)\b",
)

WHOLE_GRAPH = _any_of(
    r"\b(?:backdrop|background|palette|lighting|composition)\b", r"\bart(?:istic)? style\b", r"\bharmoni\w+", r"\bsymmetr\w+",
    r"\b(?:whole|entire|overall) (?:picture|image|scene)\b", r"\bconsisten\w+ (?:across|throughout)\b", r"\bgrid\b",
    r"\border\b.*\b(?:left to right|top to bottom|right to left)\b", r"\bin (?:this|the) order\b",
    r"\bin (?:all|total)\b", r"\btotal (?:of|number)\b", r"\baltogether\b", r"\bnothing else\b", r"\bno other\b",
    rf"\b(?:top|bottom|left|right|upper|lower)(?:[- ]?(?:left|right|half|third|quarter))?(?: \w+)? (?:of|in) the {_PICTURE}",
    rf"\b(?:centre|center|middle|corner|half|third|quarter|foreground) of the {_PICTURE}",
    r"\b(?:lettering|text|words?|inscription|caption|watermark)\b.*\b(?:absent|free|anywhere|picture|image)\b",
    r"\b(?:exactly|at least|at most) \w+ (?:of )?.* and .*",
)  # fmt: skip

FREE_OF = _any_of(r"\bfree (?:of|from)\b")

NOT_ASKED_FOR = _any_of(r"not asked for", r"unrequested", r"unsupported", r"extraneous", r"not (?:mentioned|requested|part of)")

AS_IN_REFERENCE = _any_of(r",? (?:the same as|as) (?:shown |seen |pictured |it is )?in (?:its|the|their) [^?]*\?$")

NODE = _any_of(
    r"\b(?:visible|present|shown|depicted|appears?|recogni[sz]able|seen|included|shows?)\b", r"\b(?:is|are) there\b",
    r"\bfree of (?:a|an|the|any)\b", r"^(?:is|are) the (?:[\w'’-]+ ){1,3}[\w-]+\?$", r"\bsame \w+ as\b", r"\blooks? like\b",
    r"\bmatch(?:es)? (?:the )?reference\b", r"\bexactly (?:one|two|three|four|five|six|seven|eight|nine|ten|\d+)\b",
)  # fmt: skip

PASS_CLAUSE = re.compile(r"\bPass\b\s*(?:\((?:2|score 2)\))?\s*(?:=|:|if|when|means)?\s*(?P<says>[^.;\n]+)", re.IGNORECASE)
