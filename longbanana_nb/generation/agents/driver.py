"""One driver for all agent command lines: a fresh home and folder a case, the sandbox around it, the gateway as its only way out.

What the program prints and leaves is a claim; what was asked, answered, seen and drawn is the gateway's record.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.agent_models import ProviderAgent
from longbanana_nb.generation.agents.contracts import TOOL_SERVER, Claim, Rendered, Setting
from longbanana_nb.generation.agents.fitting import refuse_what_does_not_fit
from longbanana_nb.generation.agents.installed import Installed, require_installed
from longbanana_nb.generation.agents.leaving import Files, WatchedWorkspace, answer_left
from longbanana_nb.generation.agents.outcomes import Ending, Seen, ending
from longbanana_nb.generation.agents.placing import described, place_case, write_home
from longbanana_nb.generation.agents.recipes import RECIPES
from longbanana_nb.generation.contracts import Capabilities, Draft, Models
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.gateway import IMAGE_TOOL_SCRIPT, Permit, image_tools
from longbanana_nb.generation.gateway.contracts import MAX_TOKENS
from longbanana_nb.generation.images import examine
from longbanana_nb.generation.native import MAX_IMAGE_CALLS, MAX_TURNS
from longbanana_nb.generation.sandbox import PORT, Bubblewrap, Cell, Finished, Room, case_room
from longbanana_nb.generation.sandbox import state as sandbox_state
from longbanana_nb.generation.sandbox.contracts import HOME, MOST_DISK_MB, WORK
from longbanana_nb.generation.sandbox.mounts import bare_python
from longbanana_nb.generation.sandbox.pickup import read_plain
from longbanana_nb.generation.sandbox.said import end_of
from longbanana_nb.generation.tools import tools_of
from longbanana_nb.generation.workflows import instructions
from longbanana_nb.generation.workflows.artefacts import parts_of
from longbanana_nb.generation.workflows.compliance import counted, kept
from longbanana_nb.providers.keys import key_of

if TYPE_CHECKING:
    from longbanana_nb.generation.gateway import Gate
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

TIMEOUT_S = 1800.0  # of a case, where the system says nothing
REQUEST_S = 600.0  # of one request to the model or use of the image tool, at most
CONTEXT_TOKENS = 200_000  # what a program is told of its model: when it has to shorten its conversation
PROGRAM = "/opt/agent"
TOOL = "/opt/longbanana/image_tool.py"
PERMIT = "gateway"  # the socket is what opens the gateway; programs want something to send as a key


def ready(spec: SystemSpec) -> dict[str, str]:
    """What enters the system's hash beside its spec: the program with all it consists of, the recipe, the texts.

    Raises:
        CallError: where the system cannot run as written, or not on this machine.
    """
    dialect = refuse_what_does_not_fit(spec)
    recipe = RECIPES[spec.harness.kind]
    installed = require_installed(spec.harness.kind)
    box = sandbox_state()
    if not box.usable:
        raise CallError(f"system {spec.name!r}: an agent with a shell runs in a sandbox only. {box.reason}")
    texts = instructions.versions(spec.workflow, "file", more=("command-line",))
    return {"program": installed.identity, "recipe": f"{recipe.name}/{recipe.version} {dialect}", **texts}


def refuse_backend(spec: SystemSpec, case: Case, capabilities: Capabilities) -> None:
    """Raise CallError for an image model that takes no image in a call."""
    if capabilities.references_per_call < 1:
        raise CallError(f"system {spec.name!r}: the backend takes no image in a call, so no reference could reach it.")


def run_agent(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """Let the agent program work on the case."""
    from longbanana_nb.generation.gateway import Gateway

    if models.backend is None or not isinstance(models.agent, ProviderAgent):
        raise CallError(f"system {spec.name!r}: {spec.harness.kind} needs a backend and an agent model of a provider.")
    installed = require_installed(spec.harness.kind)
    board = DrawingBoard(case, models.backend, seed, models.purse)
    with case_room() as room:
        began = time.time()
        files = Files(room.workspace, parts_of(spec.workflow), began)
        tools = image_tools(tools_of(spec.workflow))
        most = spec.limits.max_image_calls or MAX_IMAGE_CALLS
        workspace = WatchedWorkspace(case, board, most, tools, files)
        permit = _permit(case, spec, models, models.agent, board, workspace)
        shown = {**place_case(case, room), PROGRAM: installed.folder, TOOL: IMAGE_TOOL_SCRIPT}
        made = RECIPES[spec.harness.kind].render(_setting(case, spec, permit, installed, board, most))
        write_home(made.files, room.home)
        with Gateway() as gateway, gateway.open(permit, room.gate) as gate:
            finished = Bubblewrap().run(_cell(spec, made, room, shown, models), models.stop)
        return _draft(spec, room, gate, workspace, finished, began)


def _permit(
    case: Case, spec: SystemSpec, models: Models, agent: ProviderAgent, board: DrawingBoard, workspace: WatchedWorkspace
) -> Permit:
    return Permit(
        case=case,
        model=agent.model,
        dialect=refuse_what_does_not_fit(spec),
        key=key_of(agent.model),
        board=board,
        workspace=workspace,
        purse=models.purse,
        price=agent.price,
        tools=image_tools(tools_of(spec.workflow)),
        params=dict(spec.agent_model.params) if spec.agent_model is not None else {},
        max_turns=spec.harness.max_turns or MAX_TURNS,
        deadline=time.monotonic() + _timeout_s(spec),
        request_timeout_s=_request_timeout_s(spec),
    )


def _setting(
    case: Case, spec: SystemSpec, permit: Permit, installed: Installed, board: DrawingBoard, image_calls: int
) -> Setting:
    params = permit.params
    return Setting(
        program=installed.argv_in(PROGRAM),
        folder=PROGRAM,
        workspace=WORK,
        home=HOME,
        path="/usr/local/bin:/usr/bin:/bin",
        instruction=instruction(case, spec, board.capacity, image_calls),
        dialect=permit.dialect,
        model=permit.model.id,
        base_url=f"http://127.0.0.1:{PORT}",
        permit=PERMIT,
        image_tool=image_tool(),
        max_turns=permit.max_turns,
        max_tokens=int(params.get("max_tokens", MAX_TOKENS)),
        context_tokens=CONTEXT_TOKENS,
        timeout_s=_timeout_s(spec),
        request_timeout_s=_request_timeout_s(spec),
    )


def image_tool() -> tuple[str, ...]:
    """What starts the MCP server of the image tool inside the sandbox."""
    return (str(bare_python()), "-I", "-S", TOOL)


def instruction(case: Case, spec: SystemSpec, capacity: int, image_calls: int) -> str:
    """Task and workflow, with the numbers and references of this case."""
    tool = f"Draw by the image tool alone: the tools of the MCP server `{TOOL_SERVER}`. By shell it is used as `{_by_shell()}`."
    filled = {
        "{tool}": tool,
        "{capacity}": str(capacity),
        "{image_calls}": str(image_calls),
        "{turns}": str(spec.harness.max_turns or MAX_TURNS),
        "{inventory}": described(case),
    }
    task = instructions.text("command-line").text
    for gap, value in filled.items():
        task = task.replace(gap, value)
    return f"{task}\n\n{instructions.instruction(spec.workflow, 'file')}"


def _by_shell() -> str:
    return " ".join([*image_tool(), "NAME", "'ARGUMENTS AS JSON'"])


def _timeout_s(spec: SystemSpec) -> float:
    return spec.harness.timeout_s or TIMEOUT_S


def _request_timeout_s(spec: SystemSpec) -> float:
    return min(REQUEST_S, _timeout_s(spec))


def _cell(spec: SystemSpec, made: Rendered, room: Room, shown: dict[str, Path], models: Models) -> Cell:
    return Cell(
        argv=made.argv,
        env=made.env,
        workspace=room.workspace,
        home=room.home,
        read_only=shown,
        hidden=models.hidden,
        gate=room.gate,
        stdin=made.stdin,
        timeout_s=_timeout_s(spec),
        disk_mb=spec.harness.disk_mb or MOST_DISK_MB,
        memory_mb=spec.harness.memory_mb,
    )


def _draft(spec: SystemSpec, room: Room, gate: Gate, workspace: WatchedWorkspace, finished: Finished, began: float) -> Draft:
    """What is made of a run: outcome, candidate, what the workflow left, and what the program said of itself."""
    board = gate.permit.board

    def read_home(name: str) -> bytes | None:
        found = read_plain(room.home, name, began)
        return found if isinstance(found, bytes) else None

    claim = RECIPES[spec.harness.kind].parse(finished.stdout, finished.returncode, read_home)
    drawn = gate.current.image if gate.current is not None else None
    became = ending(finished, Seen(drawn, gate.limit, gate.trouble, gate.undrawn), answer_left(room.workspace, began), claim)
    candidate = _take(board, became)
    left = workspace.left(candidate)
    draft = board.draft
    draft.workflow = counted(spec.workflow, left, {reference.id for reference in gate.permit.case.inputs})
    draft.notes = kept(spec.workflow, left)
    draft.resized = list(dict.fromkeys([*draft.resized, *gate.resized]))
    _tell(board, finished, claim, became)
    return draft


def _take(board: DrawingBoard, became: Ending) -> int | None:
    """Make the ending the draft's; returns the number of the image call that drew the candidate, None for another picture."""
    digest = sha256_bytes(became.image) if became.image is not None else None
    step = next((one for one in reversed(board.draft.steps) if one.sha256 == digest), None)
    board.current = step
    board.end(became.outcome, became.reason)
    if became.image is not None and step is None:
        board.draft.image, board.draft.format = became.image, examine(became.image).format
    return step.n if step is not None else None


def _tell(board: DrawingBoard, finished: Finished, claim: Claim, became: Ending) -> None:
    """Lines of the transcript about the program itself; its own words are marked as such."""
    for name, output in (("stdout", finished.stdout), ("stderr", finished.stderr)):
        is_told = name == "stderr" or claim.end == "silent"  # events are read into the claim; they hold whole pictures
        if is_told and (said := end_of(output)):
            board.trace("program", "output", name, said)
    usage = "".join(f", {count} tokens {name}" for name, count in claim.usage.items())
    board.trace("program", "claim", claim.end, f"{claim.text or claim.detail}{usage}")
    how = f"exit code {finished.returncode}" if finished.returncode is not None else f"{finished.ended}: {finished.detail}"
    memory = f", {finished.peak_mb:.0f} MB at most" if finished.peak_mb else ""
    board.trace("program", "end", finished.ended, how + memory, seconds=finished.seconds)
    reason = f"{became.reason.code}: {became.reason.raw}" if became.reason is not None else ""
    images = [sha256_bytes(became.image)] if became.image is not None else []
    board.trace("harness", "outcome", became.outcome, reason, images=images)
