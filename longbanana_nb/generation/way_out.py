"""How a program of the user reaches the models of its system: the gateway, opened for one case; without models it is closed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError
from longbanana_nb.generation.agents.contracts import Dialect
from longbanana_nb.generation.agents.fitting import SPOKEN_TO
from longbanana_nb.generation.drawing import DrawingBoard
from longbanana_nb.generation.gateway import IMAGE_TOOL_SCRIPT, Permit
from longbanana_nb.generation.gateway.dialects import SAMPLING
from longbanana_nb.generation.native import MAX_IMAGE_CALLS, MAX_TURNS
from longbanana_nb.generation.sandbox.contracts import Places
from longbanana_nb.generation.sandbox.mounts import bare_python
from longbanana_nb.generation.workspace import Workspace
from longbanana_nb.providers.keys import key_of

if TYPE_CHECKING:
    from longbanana_nb.generation.contracts import Models
    from longbanana_nb.generation.gateway import Gate
    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

TOOL = "/opt/longbanana/image_tool.py"
PERMIT = "gateway"  # the socket is what opens the gateway; clients want something to send as a key


def has_models(spec: SystemSpec) -> bool:
    """Whether the system names models that its program may use."""
    return spec.agent_model is not None or spec.backend is not None


def shown_for(spec: SystemSpec) -> dict[str, Path]:
    """What must be shown so that the program can use the image tool."""
    return {TOOL: IMAGE_TOOL_SCRIPT} if has_models(spec) else {}


def dialect_of(spec: SystemSpec) -> Dialect:
    """How the program has to speak to its agent model.

    Raises:
        CallError: where only one of the two models is named, the provider has no dialect that passes, or a parameter is none
            that the gateway can set.
    """
    model = spec.agent_model
    if model is None or spec.backend is None:
        raise CallError(
            f"system {spec.name!r}: a command that names one model must name both, agent_model and backend; the gateway leads to "
            "both. Add the other, or remove it; with `sandbox: none` the program can call a model itself."
        )
    spoken = SPOKEN_TO.get(model.provider, ())
    if not spoken:
        raise CallError(
            f"system {spec.name!r}: no program can speak with agent models of {model.provider} through the gateway; "
            f"it can with those of {', '.join(SPOKEN_TO)}."
        )
    if odd := sorted(set(model.params) - SAMPLING - {"max_tokens"}):
        raise CallError(
            f"system {spec.name!r}: agent_model.params: {', '.join(odd)}; the gateway sets max_tokens and sampling parameters "
            f"({', '.join(sorted(SAMPLING))}) and no others."
        )
    return spoken[0]


def told_of(spec: SystemSpec, places: Places) -> dict[str, Any] | None:
    """What the task says of the way out: address, model, dialect, and what starts the image tool."""
    if spec.agent_model is None:
        return None
    url = f"http://127.0.0.1:{places.port}"
    tool = [str(bare_python()), "-I", "-S", places.of(TOOL), "--url", url]
    return {"url": url, "key": PERMIT, "dialect": dialect_of(spec), "model": spec.agent_model.id, "image_tool": tool}


@contextmanager
def way_out(case: Case, spec: SystemSpec, models: Models, seed: int, folder: Path, timeout_s: float) -> Iterator[Gate | None]:
    """The gate of one case in `folder`, open within this; None where the system names no models."""
    if not has_models(spec):
        yield None
        return
    from longbanana_nb.generation.agent_models import ProviderAgent
    from longbanana_nb.generation.gateway import Gateway

    if models.backend is None or not isinstance(models.agent, ProviderAgent):
        raise CallError(f"system {spec.name!r}: a command reaches agent models of providers only, and needs a backend.")
    board = DrawingBoard(case, models.backend, seed, models.purse)
    permit = Permit(
        case=case,
        model=models.agent.model,
        dialect=dialect_of(spec),
        key=key_of(models.agent.model),
        board=board,
        workspace=Workspace(case, board, spec.limits.max_image_calls or MAX_IMAGE_CALLS),
        purse=models.purse,
        price=models.agent.price,
        params=dict(spec.agent_model.params) if spec.agent_model is not None else {},
        max_turns=spec.harness.max_turns or MAX_TURNS,
        deadline=time.monotonic() + timeout_s,
        request_timeout_s=timeout_s,
    )
    with Gateway() as gateway, gateway.open(permit, folder) as gate:
        yield gate
