"""One judgment led back to its pixels: the candidate and the bound references, with boxes where the judge looked."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.reporting.shown import Shown, as_jpeg, open_upright, row_of, tile
from longbanana_nb.taxonomy import LABEL_NAMES

if TYPE_CHECKING:
    from longbanana_nb.runs import Run
    from longbanana_nb.runs.judgments import Evidence, Judgment

CANDIDATE = "candidate"
BOX_COLOUR = (213, 94, 0)


def evidence_view(run: Run, judge: str, system: str, case_id: str, check_id: str, *, width: int = 300) -> Shown:
    """The newest answer of a judge on one check: question, label, pictures with boxes, and what was measured.

    References are read from the release the run names; where it is no longer there, the view says so and shows the rest.

    Raises:
        CallError: where this check was not answered by this judge.
    """
    answer = newest_answer(run.judgments(judge, system, case_id).read(), check_id)
    if answer is None:
        raise CallError(
            f"judge {judge!r} has not answered check {check_id!r} of {system} on case {case_id!r}. Judge the run first."
        )
    question = next(check.question for check in run.checks() if (check.case_id, check.check_id) == (case_id, check_id))
    verdict = LABEL_NAMES[answer.label] if answer.label is not None else f"invalid ({answer.invalid})"
    heading = f"{check_id}: {question} → {verdict}"
    tiles = [_candidate(run, answer, width), *_references(run, answer, width)]
    return Shown(row_of([t for t in tiles if t], heading) + _measurements(answer.evidence), f"{system} on {case_id}, {heading}")


def newest_answer(judgments: Iterable[Judgment], check_id: str) -> Judgment | None:
    """The newest valid answer on a check, else the newest invalid one, else None."""
    answers = [judgment for judgment in judgments if judgment.check_id == check_id]
    valid = [judgment for judgment in answers if judgment.label is not None]
    found = valid or answers
    return found[-1] if found else None


def _candidate(run: Run, answer: Judgment, width: int) -> str:
    image = run.candidate(answer.system, answer.case_id, answer.sample).image
    if image is None:
        return ""
    return _tile(image, f"candidate of {answer.system}", _boxes(answer.evidence, CANDIDATE), width)


def _references(run: Run, answer: Judgment, width: int) -> list[str]:
    case = next(case for case in run.cases() if case.case_id == answer.case_id)
    listed = [*([case.background] if case.background else []), *case.references]
    used = {step.image.id for step in answer.evidence if step.image} | set(answer.opened)
    tiles = []
    for reference in (one for one in listed if one.id in used):
        file = run.manifest.parent / reference.path
        if file.is_file():
            tiles.append(_tile(file, f"reference {reference.id}", _boxes(answer.evidence, reference.id), width))
        else:
            tiles.append(f"<p>Reference {html.escape(reference.id)}: the release is not at its place.</p>")
    return tiles


def _boxes(evidence: Sequence[Evidence], image_id: str) -> list[Sequence[float]]:
    return [step.image.box for step in evidence if step.image and step.image.id == image_id and step.image.box]


def _tile(file: Path, caption: str, boxes: Sequence[Sequence[float]], width: int) -> str:
    from PIL import ImageDraw

    picture = open_upright(file)
    picture.thumbnail((2 * width, 2 * width))
    pen = ImageDraw.Draw(picture)
    for x0, y0, x1, y1 in boxes:
        corners = (x0 * picture.width, y0 * picture.height, x1 * picture.width, y1 * picture.height)
        pen.rectangle(corners, outline="white", width=5)
        pen.rectangle(corners, outline=BOX_COLOUR, width=3)
    marked = f", {len(boxes)} boxes marked" if boxes else ""
    return tile(as_jpeg(picture, 2 * width), caption, f"{caption}{marked}", width=width)


def _measurements(evidence: Sequence[Evidence]) -> str:
    rows = "".join(
        f"<tr><td>{step.n}</td><td>{html.escape(step.tool)}</td><td>{_compact(step.args)}</td><td>{_compact(step.result)}</td></tr>"
        for step in evidence
    )
    head = "<tr><th>step</th><th>tool</th><th>asked</th><th>measured</th></tr>"
    return (
        f'<table style="font-family:system-ui,sans-serif;font-size:12px;line-height:1.4;text-align:left">{head}{rows}</table>'
        if rows
        else ""
    )


def _compact(value: Any) -> str:
    return html.escape(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)[:400])
