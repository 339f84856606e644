"""Which of the paper's models can still be called on a day, and how, from the catalogue."""

from __future__ import annotations

import datetime as dt

from longbanana_nb.providers.catalogue_file import Facts, shipped


def paper_models(on: dt.date) -> str:
    """A Markdown table: one row a route of a model that the paper used."""
    lines = [
        "| paper | provider, route | id | can be called | successor (a different system) | source |",
        "|---|---|---|---|---|---|",
    ]
    for facts in (f for f in shipped().models if f.paper):
        cells = (facts.paper, f"{facts.provider}, {facts.route}", f"`{facts.id}`", _state(facts, on), _successor(facts))
        lines.append(f"| {' | '.join(str(cell) for cell in cells)} | {shipped().sources[facts.source]} |")
    return "\n".join(lines)


def retired_or_ending(on: dt.date) -> list[tuple[str, str]]:
    """Every id with a last day: its name and what that means on `on`, the nearest day first."""
    ending = sorted(((f.ends, f) for f in shipped().models if f.ends is not None), key=lambda pair: pair[0])
    return [(f"{f.provider}/{f.id} ({f.route})", f"{_state(f, on)}; successor {f.successor}") for _, f in ending]


def _state(facts: Facts, on: dt.date) -> str:
    if facts.ends is None:
        return f"yes ({facts.remark})" if facts.remark else "yes"
    if facts.ends_at_earliest:
        return f"yes, until {facts.ends} or later"
    return f"no, retired {facts.ends}" if facts.ends <= on else f"yes, ends {facts.ends}"


def _successor(facts: Facts) -> str:
    return f"`{facts.successor}`" if facts.successor else "-"
