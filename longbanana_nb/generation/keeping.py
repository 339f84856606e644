"""From a draft to the files of a run: scenes and steps first, the record last, so that a candidate is whole or absent."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import canonical_json, sha256_bytes, utc_now, write_atomic
from longbanana_nb.generation.contracts import Draft, Outcome, Reason, Scene, Step, Usage
from longbanana_nb.generation.images import EXTENSIONS, PictureFacts
from longbanana_nb.generation.inventory import never_sent
from longbanana_nb.generation.jobs import Job, Made
from longbanana_nb.generation.prepare import Prepared
from longbanana_nb.runs import Record, Run
from longbanana_nb.runs.disk import saving
from longbanana_nb.runs.records import CallCounts, ImageFacts, ModelUsed, ReferencesUsed, Tokens
from longbanana_nb.runs.records import Reason as RecordReason
from longbanana_nb.runs.records import Step as RecordStep

if TYPE_CHECKING:
    from longbanana_nb.runs import SystemSpec


@dataclass(frozen=True, slots=True)
class StepFiles:
    """The record's steps, and the bytes of those that are not the candidate itself."""

    steps: list[RecordStep]
    contents: dict[str, bytes]


def keep(run: Run, system: Prepared, job: Job, made: Made) -> Record:
    """Write one candidate into the run and return its record. Only the owner of the run may call this."""
    draft = made.draft
    image = image_facts(draft.image, made.facts) if draft.image is not None and made.facts is not None else None
    files = _step_files(draft.steps, image)
    record = Record(
        system=system.spec.name,
        system_sha256=system.sha256,
        case_id=job.case.case_id,
        sample=job.sample,
        outcome=draft.outcome,
        reason=_reason(draft.reason),
        image=image,
        steps=files.steps,
        references=ReferencesUsed(list(draft.opened), list(draft.sent), never_sent(job.case, draft.sent), list(draft.resized)),
        workflow=draft.workflow,
        calls=CallCounts(draft.agent_calls, draft.image_calls),
        tokens=_tokens(draft.usage),
        cost_usd=sum(usage.cost_usd for usage in draft.usage),
        models=_models(system.spec, draft.answered),
        sandbox=system.spec.sandbox,
        privileges=list(system.spec.privileges),
        simulated=system.simulated,
        seed=job.seed,
        attempt=job.attempt,
        started_at=made.started_at,
        ended_at=made.ended_at,
        package=f"longbanana-nb {version('longbanana-nb')}",
    )
    for scene in _scenes(draft):
        keep_scene(run, scene)
    run.candidate(record.system, record.case_id, record.sample).save(
        record, draft.image, {**files.contents, **draft.notes}, draft.trace
    )
    return record


def keep_scene(run: Run, scene: Scene) -> None:
    """Write a scene beside, never inside, the candidates; keyed by the hash of its image."""
    path = run.scene_file(str(scene["image_sha256"]))
    with saving(path):
        write_atomic(path, canonical_json(scene) + b"\n")


def image_facts(data: bytes, facts: PictureFacts) -> ImageFacts:
    """The record's description of an image; the file's extension comes from its bytes."""
    return ImageFacts(
        file=f"image{facts.extension}",
        sha256=sha256_bytes(data),
        pixel_sha256=facts.pixel_sha256,
        bytes=len(data),
        format=facts.format,
        width=facts.width,
        height=facts.height,
    )


def without_image(outcome: Outcome, reason: Reason) -> Made:
    """A candidate that never got as far as a draft."""
    now = utc_now()
    return Made(Draft(outcome, reason), None, now, now)


def _step_files(steps: list[Step], image: ImageFacts | None) -> StepFiles:
    """Steps as files; the step that is the candidate, mostly the last, is not written twice."""
    rows: list[RecordStep] = []
    contents: dict[str, bytes] = {}
    chosen = next((step for step in reversed(steps) if image is not None and step.sha256 == image.sha256), None)
    for step in steps:
        is_candidate = step is chosen
        file = image.file if is_candidate and image else f"steps/{step.n:02}{EXTENSIONS[step.format]}"
        if not is_candidate:
            contents[file] = step.image
        rows.append(RecordStep(step.n, file, step.sha256, step.parent_sha256, list(step.references_sent), step.prompt_sha256))
    return StepFiles(rows, contents)


def _scenes(draft: Draft) -> list[Scene]:
    scenes: dict[str, Any] = {step.sha256: step.scene for step in draft.steps if step.scene is not None}
    if draft.scene is not None:
        scenes[str(draft.scene["image_sha256"])] = draft.scene
    return list(scenes.values())


def _reason(reason: Reason | None) -> RecordReason | None:
    return None if reason is None else RecordReason(**reason.as_json())


def _tokens(usage: list[Usage]) -> Tokens:
    return Tokens(
        sum(one.input_tokens for one in usage),
        sum(one.cached_tokens for one in usage),
        sum(one.output_tokens for one in usage),
    )


def _models(spec: SystemSpec, answered: dict[str, str]) -> list[ModelUsed]:
    pairs = [("backend", spec.backend), ("agent", spec.agent_model)]
    return [ModelUsed(role, model.id, answered.get(role), model.route) for role, model in pairs if model is not None]
