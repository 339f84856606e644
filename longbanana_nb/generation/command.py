"""The harness `command`: the user's own program, started once a case, its picture picked up where it was told to leave it.

The program gets a JSON file (`lb.task.v1`) and the pictures, in a fresh workspace and home. It is trusted with nothing: it runs
in the sandbox unless the system says `sandbox: none`, and what it leaves is taken as from a stranger. Success is a fresh, plain,
decodable picture at its place, whatever the exit code says.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation import program as programs
from longbanana_nb.generation.contracts import Draft, Models, Outcome, Reason, Step, trace_line
from longbanana_nb.generation.images import examine
from longbanana_nb.generation.inventory import reference_bytes
from longbanana_nb.generation.sandbox import (
    Cell,
    Finished,
    Places,
    Room,
    Sandbox,
    case_room,
    pick_up,
    pick_up_steps,
    sandbox_named,
)
from longbanana_nb.generation.sandbox.contracts import MOST_DISK_MB, WORK
from longbanana_nb.generation.sandbox.pickup import NOT_LEFT
from longbanana_nb.generation.sandbox.said import end_of
from longbanana_nb.generation.way_out import dialect_of, has_models, shown_for, told_of, way_out
from longbanana_nb.runs.system_spec import PROGRAMS

if TYPE_CHECKING:
    from longbanana_nb.generation.gateway import Gate
    from longbanana_nb.release import Case, Reference
    from longbanana_nb.runs import SystemSpec

TIMEOUT_S = 1800.0  # of a case, where the system says nothing
OUTCOMES: dict[str, tuple[Outcome, str]] = {
    "timeout": ("timeout", "timeout"),
    "stopped": ("interrupted", "stopped"),
    "too_large": ("failed", "limit_passed"),
}


def ready(spec: SystemSpec) -> dict[str, str]:
    """What of this machine enters the system's hash: the contents of the program's files.

    Raises:
        CallError: where the program cannot be run here as written.
    """
    program = programs.program_of(spec)
    sandbox_named(spec.sandbox, spec.name)
    way = {"way out": f"gateway, {dialect_of(spec)}"} if has_models(spec) else {}
    return {"program": program.sha256, **way}


def notes_on(systems: Iterable[SystemSpec]) -> list[str]:
    """A sentence for each system that runs a program without a sandbox, for whoever plans or runs it."""
    return [
        f"{spec.name} runs without a sandbox: it can read all that you can, checks included; every table marks it."
        for spec in systems
        if spec.sandbox == "none" and spec.harness.kind in PROGRAMS
    ]


def command(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """Run the program on one case."""
    program = programs.program_of(spec)
    box = sandbox_named(spec.sandbox, spec.name)
    with case_room() as room:
        shown = {**_pictures(case, room), **shown_for(spec), **program.shown}
        if spec.sandbox == "none" and spec.folder is not None:
            shown[programs.FOLDER] = spec.folder
        places = box.places(room.workspace, room.home, shown)
        shown[programs.TASK] = _task(case, room, places, seed, told_of(spec, places))
        for place in (programs.OUT, f"{programs.STEPS}/-"):
            (room.workspace / Path(place).relative_to(WORK)).parent.mkdir(exist_ok=True)
        cell = Cell(
            argv=program.argv_in(places),
            env=program.environment_in(places, box.name != "none"),
            workspace=room.workspace,
            home=room.home,
            read_only=shown,
            hidden=models.hidden,
            gate=room.gate if has_models(spec) else None,
            timeout_s=spec.harness.timeout_s or TIMEOUT_S,
            disk_mb=spec.harness.disk_mb or MOST_DISK_MB,
            memory_mb=spec.harness.memory_mb,
            port=places.port,
        )
        began = time.time()
        with way_out(case, spec, models, seed, room.gate, cell.timeout_s) as gate:
            finished = box.run(cell, models.stop)
        return _draft(case, spec, room, box, finished, began, program.secrets, gate)


def _pictures(case: Case, room: Room) -> dict[str, Path]:
    """Copies of the case's pictures, named by their order alone, in one folder that is shown."""
    folder = room.shown / "references"
    folder.mkdir()
    for reference, name in zip(case.inputs, _names(case), strict=True):
        file = folder / name
        file.write_bytes(reference_bytes(reference))
        file.chmod(0o444)
    return {programs.REFERENCES: folder}


def _names(case: Case) -> list[str]:
    """`background`, then 01, 02... with the suffixes the release gives them."""
    first = [f"background{_suffix(case.background)}"] if case.background is not None else []
    return [*first, *(f"{number:02}{_suffix(one)}" for number, one in enumerate(case.references, start=1))]


def _suffix(reference: Reference) -> str:
    suffix = Path(reference.path).suffix.lower()
    return suffix if suffix[1:].isalnum() and suffix.isascii() else ""


def _task(case: Case, room: Room, places: Places, seed: int, models: dict[str, Any] | None) -> Path:
    """The task as the program reads it: no case id, no category, nothing of the evaluation."""
    listed = [
        {"id": one.id, "path": places.of(f"{programs.REFERENCES}/{name}"), "role": one.role}
        for one, name in zip(case.inputs, _names(case), strict=True)
    ]
    task: dict[str, Any] = {
        "schema": "lb.task.v1",
        "prompt": case.prompt,
        "references": [one for one in listed if one["role"] == "reference"],
        "background": next((one for one in listed if one["role"] == "background"), None),
        "out": places.of(programs.OUT),
        "steps": places.of(programs.STEPS),
        "seed": seed,
        "models": models,
    }
    file = room.shown / "task.json"
    file.write_text(json.dumps(task, ensure_ascii=False, indent=1), "utf-8", "surrogatepass")
    file.chmod(0o444)
    return file


def _draft(
    case: Case,
    spec: SystemSpec,
    room: Room,
    box: Sandbox,
    finished: Finished,
    began: float,
    secrets: tuple[str, ...],
    gate: Gate | None,
) -> Draft:
    """What is made of a run: its pictures, its outcome, and a trace of what the program said."""
    said = {name: end_of(output, secrets) for name, output in (("stdout", finished.stdout), ("stderr", finished.stderr))}
    taken, refused = pick_up_steps(room.workspace, _name(programs.STEPS), began)
    found = pick_up(room.workspace, _name(programs.OUT), began)
    draft = gate.permit.board.draft if gate is not None else Draft("image", sent=[one.id for one in case.inputs])
    draft.steps += _steps(case, [data for _, data in taken] + ([found] if isinstance(found, bytes) else []), draft.steps)
    draft.trace += _trace(box, spec, finished, said, refused)
    draft.outcome, draft.reason = _outcome(finished, found, said["stderr"], gate)
    if draft.outcome == "image" and isinstance(found, bytes):
        draft.image, draft.format = found, examine(found).format
    draft.trace.append(_ending(draft))
    for n, line in enumerate(draft.trace, start=1):
        line["n"] = n
    return draft


def _outcome(finished: Finished, found: bytes | Reason, stderr: str, gate: Gate | None) -> tuple[Outcome, Reason | None]:
    """The outcome, and the reason where it is no image."""
    if finished.ended in OUTCOMES:
        outcome, code = OUTCOMES[finished.ended]
        return outcome, Reason(code, "program", finished.detail)
    if isinstance(found, bytes):
        return "image", None
    if found.code == NOT_LEFT:
        if gate is not None and gate.limit is not None:
            return "budget", gate.limit
        if gate is not None and gate.trouble is not None:
            return gate.trouble
        if finished.returncode:
            return "failed", Reason("program_failed", "program", f"exit code {finished.returncode}: {stderr}".strip(": "))
        return "no_image", Reason(NOT_LEFT, "program", f"it ended well and left no picture. {stderr}".strip())
    return "no_image" if found.code == "empty_image" else "failed", found


def _steps(case: Case, pictures: list[bytes], drawn: list[Step]) -> list[Step]:
    """Pictures the program left, the candidate last; those that an image call drew are steps already."""
    prompt = sha256_bytes(case.prompt.encode("utf-8", "surrogatepass"))
    hashes = [sha256_bytes(data) for data in pictures]
    known = {step.sha256 for step in drawn}
    kept = [n for n in range(len(pictures)) if hashes[n] not in known and (n == len(pictures) - 1 or hashes[n] != hashes[n + 1])]
    first = max((step.n for step in drawn), default=0) + 1
    return [Step(n, pictures[i], hashes[i], examine(pictures[i]).format, None, (), prompt) for n, i in enumerate(kept, first)]


def _trace(
    box: Sandbox, spec: SystemSpec, finished: Finished, said: dict[str, str], refused: list[Reason]
) -> list[dict[str, Any]]:
    how = f"exit code {finished.returncode}" if finished.returncode is not None else f"{finished.ended}: {finished.detail}"
    memory = f", {finished.peak_mb:.0f} MB at most" if finished.peak_mb else ""
    started = json.dumps(list(spec.harness.argv), ensure_ascii=False)  # as written: the paths are of this machine
    lines = [("harness", "program", f"sandbox {box.name} {box.version}".strip(), started, 0.0)]
    lines += [("program", "output", name, text, 0.0) for name, text in said.items() if text]
    lines += [("harness", "refused", one.where, f"{one.code}: {one.raw}", 0.0) for one in refused]
    lines.append(("program", "end", finished.ended, how + memory, finished.seconds))
    return [trace_line(n, actor, kind, name, text, seconds=s) for n, (actor, kind, name, text, s) in enumerate(lines, start=1)]


def _ending(draft: Draft) -> dict[str, Any]:
    reason = f"{draft.reason.code}: {draft.reason.raw}" if draft.reason else ""
    images = [sha256_bytes(draft.image)] if draft.image is not None else []
    return trace_line(0, "harness", "outcome", draft.outcome, reason, images=images)


def _name(place: str) -> str:
    return place.removeprefix(f"{WORK}/")
