"""HTML that others wrote made harmless: known tags and styles, no scripts, no addresses but embedded pictures and own pages."""

from __future__ import annotations

import re

TAGS = frozenset(
    {
        "a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "del", "details", "div",
        "dl", "dt", "em", "figcaption", "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd",
        "li", "mark", "ol", "p", "pre", "q", "s", "samp", "section", "small", "span", "strong", "sub", "summary",
        "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "tt", "u", "ul", "var",
    }
)  # fmt: skip
PLAIN_ATTRIBUTES = frozenset(
    {"class", "id", "colspan", "rowspan", "scope", "title", "alt", "width", "height", "lang", "dir", "start"}
)
# Nothing here can load anything, cover other parts of the page, or hide them.
STYLES = (
    "aspect-ratio", "background-color", "border", "border-radius", "color", "display", "flex-wrap", "font-family", "font-size",
    "font-style", "font-weight", "gap", "line-height", "margin", "max-width", "opacity", "overflow-wrap", "padding",
    "place-items", "text-align", "text-decoration", "width",
)  # fmt: skip
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*\Z")
PLACE = re.compile(r"(?:#[^\s\"'<>:]*|[A-Za-z0-9][A-Za-z0-9._%-]*\.html(?:#[^\s\"'<>:]*)?)\Z")
DROPPED = re.compile(
    r"<(script|style|iframe|object|embed|template|noscript|svg|math)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE
)
DATA = re.compile(r"(data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,)([A-Za-z0-9+/=\s]{200,})")


def safe_html(text: str) -> str:
    """The text as safe HTML. What is not allowed is removed; its words stay, except inside scripts, styles and the like."""
    import bleach  # type: ignore[import-untyped]
    from bleach.css_sanitizer import CSSSanitizer  # type: ignore[import-untyped]

    pictures: list[str] = []

    def put_aside(match: re.Match[str]) -> str:
        pictures.append("".join(match[2].split()))
        return f"{match[1]}PICTURE{len(pictures) - 1}="

    short = DATA.sub(put_aside, DROPPED.sub("", text))
    styles = CSSSanitizer(allowed_css_properties=STYLES)
    cleaned = bleach.clean(short, tags=TAGS, attributes=_is_allowed, protocols={"data"}, css_sanitizer=styles, strip=True)

    def put_back(match: re.Match[str]) -> str:
        number = int(match[2])
        return match[1] + (pictures[number] if number < len(pictures) else "")

    return re.sub(r"(data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,)PICTURE(\d+)=", put_back, cleaned)


def _is_allowed(tag: str, name: str, value: str) -> bool:
    if name == "src":
        return tag == "img" and PICTURE.match(value) is not None
    if name == "href":
        return tag == "a" and PLACE.match(value) is not None
    if name == "style":
        return "(" not in value and "\\" not in value
    return name in PLAIN_ATTRIBUTES
