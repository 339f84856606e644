"""What a run holds, as small frames and strips of pictures for notebooks: systems, candidates, steps, a case's references."""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.reporting.shown import CAPTION_STYLE, Shown, row_of, show_figure, thumbnail, tile

if TYPE_CHECKING:
    import pandas as pd

    from longbanana_nb.runs import Record, Run

PROMPT_STYLE = "font-family:Georgia,serif;font-size:14px;line-height:1.5;max-width:60em;margin:.5em 0"
GAP_STYLE = "aspect-ratio:1;border:1px dashed;border-radius:4px;display:grid;place-items:center;font-size:13px"


def systems_frame(run: Run) -> pd.DataFrame:
    """One row a system in the run's order: its parts, whether it is simulated, and the start of its hash."""
    import pandas as pd

    rows = []
    for name, entry in run.systems.items():
        spec = entry.system()
        rows.append(
            {
                "system": name,
                "harness": spec.harness.kind,
                "workflow": spec.workflow or "",
                "agent_model": spec.agent_model.id if spec.agent_model else "",
                "backend": spec.backend.id if spec.backend else "",
                "simulated": entry.simulated,
                "sha256": entry.sha256[:12],
            }
        )
    return pd.DataFrame(rows)


def candidates_frame(run: Run) -> pd.DataFrame:
    """One row a finished candidate: outcome, calls, how many references were opened and sent, cost."""
    import pandas as pd

    order = {case.case_id: place for place, case in enumerate(run.cases())} if (run.path / "cases.jsonl").is_file() else {}
    records = sorted(run.records(), key=lambda record: order.get(record.case_id, len(order)))
    rows = [
        {
            "system": record.system,
            "case_id": record.case_id,
            "sample": record.sample,
            "outcome": record.outcome,
            "reason": record.reason.code if record.reason else "",
            "image_calls": record.calls.image,
            "agent_calls": record.calls.agent,
            "opened": len(record.references.opened),
            "sent": len(record.references.sent),
            "cost_usd": record.cost_usd,
            "simulated": record.simulated,
        }
        for record in records
    ]
    return pd.DataFrame(rows)


def candidate_strip(run: Run, case_id: str, *, width: int = 240) -> Shown:
    """The candidates of all systems for one case side by side; an outcome without image is said in words."""
    tiles = [_candidate_tile(run, name, case_id, width) for name in run.systems]
    return Shown(
        row_of(tiles, f"Case {case_id}"), f"Candidates of {len(tiles)} systems for case {case_id}: {', '.join(run.systems)}"
    )


def step_strip(run: Run, system: str, case_id: str, *, sample: int = 0, width: int = 240) -> Shown:
    """How one candidate grew: each image call's picture, with the references it was given."""
    if system not in run.systems:
        raise CallError(f"system {system!r} is not in this run.{_hint(system, run.systems)}")
    slot = run.candidate(system, case_id, sample)
    record = slot.record()
    if record is None:
        return Shown(_sentence(f"{system} has no candidate for case {case_id}."), f"No candidate of {system} for {case_id}")
    tiles = []
    for step in record.steps:
        sent = f"given {', '.join(step.references_sent)}" if step.references_sent else "given no reference"
        alt = f"Step {step.n} of {system} on case {case_id}, {sent}"
        tiles.append(tile(thumbnail(slot.folder / step.file, 2 * width), f"step {step.n}", alt, width=width, note=sent))
    return Shown(row_of(tiles, f"{system}, case {case_id}"), f"{len(tiles)} steps of {system} on case {case_id}")


def case_sheet(prompt: str, pictures: Iterable[tuple[str, Path]], *, title: str = "", width: int = 104) -> Shown:
    """A case as a system gets it: the prompt, then its pictures in contract order under their ids."""
    pictures = list(pictures)
    tiles = [tile(thumbnail(file, 2 * width), name, f"Reference {name}", width=width) for name, file in pictures]
    words = f'<blockquote style="{PROMPT_STYLE}">{html.escape(prompt)}</blockquote>'
    return Shown(row_of([], title) + words + row_of(tiles), f"{title}: {len(pictures)} pictures; prompt: {prompt}")


def reference_use_figure(use: pd.DataFrame) -> Shown:
    """Checks bound to each place of the inventory, summed over cases.

    Args:
        use: the frame of `release.reference_use`.
    """
    from matplotlib.figure import Figure

    from longbanana_nb.reporting.style import paper_style

    counts = use.groupby("position")["checks"].sum().astype(int)
    with paper_style():
        figure = Figure(figsize=(6.75, 2.2), layout="constrained")
        axes = figure.subplots()
        axes.bar(counts.index, counts.to_numpy(), color="#0072B2", width=0.8)
        axes.set(xlabel="place of the reference in the inventory", ylabel="bound checks", xlim=(0.3, len(counts) + 0.7))
        axes.spines[["top", "right"]].set_visible(False)
    alt = f"Bars: checks bound to the references at places 1 to {len(counts)}, from {counts.min()} to {counts.max()}"
    return show_figure(figure, alt)


def _candidate_tile(run: Run, system: str, case_id: str, width: int) -> str:
    slot = run.candidate(system, case_id)
    record = slot.record()
    image = slot.image
    if record is None or image is None:
        return _gap(system, record, width)
    alt = f"Candidate of {system} for case {case_id}"
    note = "simulated" if record.simulated else ""
    return tile(thumbnail(image, 2 * width), system, alt, width=width, note=note)


def _gap(system: str, record: Record | None, width: int) -> str:
    outcome = record.outcome if record else "not made"
    why = f" ({record.reason.code})" if record and record.reason else ""
    words = f'<figcaption style="{CAPTION_STYLE}">{html.escape(system)}</figcaption>'
    return f'<figure style="margin:0;width:{width}px"><div style="{GAP_STYLE}">{html.escape(outcome + why)}</div>{words}</figure>'


def _sentence(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _hint(word: str, known: Iterable[str]) -> str:
    near = nearest(word, known)
    return f" Did you mean {near!r}?" if near else ""
