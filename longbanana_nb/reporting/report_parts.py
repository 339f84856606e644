"""The sections of the report page as safe HTML: every text that comes from a run or a release is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longbanana_nb.reporting.facts import RunFacts
from longbanana_nb.reporting.gallery import Drawing
from longbanana_nb.reporting.numbers import percent
from longbanana_nb.reporting.sinks.html import escape
from longbanana_nb.reporting.thumbnails import CaseStrip, Thumbnail

CITATION = """@misc{cao2026longbanana,
  title={LongBanana: An Expert-Verified Benchmark for Long-Context Multi-Reference Image Synthesis},
  author={Cao, Haoxiang and Zhang, Yuxuan and Du, Penghui and others},
  year={2026},
  url={https://github.com/Hooccee/LongBanana_open}
}"""


def head(facts: RunFacts, cases: int, valid: int, total: int) -> str:
    """Title, what is simulated in one badge, and the run in six facts."""
    judge = facts.main_judge
    shown = {
        "Release": facts.release,
        "Revision": facts.revision[:12],
        "Systems": f"{len(facts.competitors)}, and {len(facts.floors)} floors" if facts.floors else str(len(facts.competitors)),
        "Cases": str(cases),
        "Judge": f"{judge.name} ({judge.protocol})" if judge else "none yet",
        "Coverage": f"{percent(valid, total)} % of {total} verdicts" if total else "no verdicts",
        "Missing verdicts": str(facts.policy.get("missing", "delivered")),
    }
    rows = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in shown.items())
    badge = '<p><span class="badge">Simulated</span></p>\n' if facts.has_simulated else ""
    return (
        f'<header>\n<p class="kicker">LongBanana report</p>\n<h1>{len(facts.competitors)} '
        f"{'system' if len(facts.competitors) == 1 else 'systems'} on {escape(facts.release)}</h1>\n{badge}"
        f'<dl class="facts">{rows}</dl>\n</header>\n'
    )


def section(anchor: str, title: str, lead: str, *parts: str) -> str:
    """One section; `title` and `lead` are the workbench's own words."""
    return f'<section id="{anchor}">\n<h2>{title}</h2>\n<p class="lead">{lead}</p>\n{"".join(parts)}</section>\n'


def picture(drawing: Drawing) -> str:
    """A figure inside the page, with alternative text and caption."""
    caption = f"<figcaption>{escape(drawing.caption)}</figcaption>"
    return f'<figure class="figure" id="figure-{drawing.name}">{drawing.image()}{caption}</figure>\n'


def strips(cases: Iterable[CaseStrip]) -> str:
    """Cases with their candidates side by side."""
    return "".join(
        f'<article class="case"><h3>{escape(case.case_id)} · {escape(case.category)}</h3><p>{escape(_shortened(case.prompt))}</p>'
        f'<div class="strip">{"".join(_candidate(one, case.case_id) for one in case.candidates)}</div></article>\n'
        for case in cases
    )


def index(pages: Sequence[tuple[str, str]]) -> str:
    """Links to the executed notebooks: (title, relative address)."""
    if not pages:
        return "<p>No notebook has been executed in this run.</p>\n"
    rows = "".join(
        f'<li><a href="{escape(address)}">{escape(title)}</a><span>{escape(address)}</span></li>' for title, address in pages
    )
    return f'<ol class="index">{rows}</ol>\n'


def simulated(facts: RunFacts) -> str:
    """What is simulated in this run, by name."""
    systems = [system.name for system in facts.systems if system.simulated]
    judges = [judge.name for judge in facts.judges if judge.simulated]
    lines = []
    if systems:
        lines.append(f"Candidates of {_names(systems)} are simulated: the embedded default composed them, no image model did.")
    if judges:
        lines.append(f"Verdicts of {_names(judges)} come from the embedded default: no model and no person looked.")
    if facts.truth:
        lines.append(
            f"{facts.truth.name} reads the scenes that the simulation wrote down: it knows what was drawn and looks at no pixel."
        )
    lines = lines or ["Nothing in this run is simulated."]
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>\n"


def origin(facts: RunFacts, attribution: str | None) -> str:
    """Licence and attribution of the images, and the citation."""
    licence = facts.license or "not stated in the manifest"
    text = f"<pre>{escape(attribution.strip())}</pre>\n" if attribution else "<p>The release holds no attribution file.</p>\n"
    return (
        f"<p>Reference images belong to the release {escape(facts.release)}; licence: {escape(licence)}.</p>\n{text}"
        f"<h3>Citation</h3>\n<pre>{escape(CITATION)}</pre>\n"
    )


def foot(facts: RunFacts) -> str:
    """The last line: which package wrote the page, from what."""
    package = escape(facts.package or "longbanana-nb")
    return f"<footer>Written from the run folder alone by {package}. This page loads nothing and runs nothing.</footer>\n"


def _candidate(one: Thumbnail, case_id: str) -> str:
    name = escape(one.system)
    score = f"<b>{one.score:.1f}</b>" if one.score is not None else "no score"
    image = (
        f'<img alt="Candidate of {name} for case {escape(case_id)}" src="{one.picture}">'
        if one.picture
        else f'<div class="none">{escape(one.outcome)}</div>'
    )
    return f"<figure>{image}<figcaption>{name}<br>{score}</figcaption></figure>"


def _shortened(text: str, length: int = 420) -> str:
    words = " ".join(text.split())
    return words if len(words) <= length else words[:length].rsplit(" ", 1)[0] + " …"


def _names(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
