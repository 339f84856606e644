"""Candidates: how a case becomes an image, or a recorded outcome without one."""

from longbanana_nb.generation.agent_contracts import (
    Action,
    AgentModel,
    Finish,
    ListedReference,
    SeenImage,
    Stop,
    ToolCall,
    ToolCalls,
    ToolResult,
    Turn,
)
from longbanana_nb.generation.contracts import (
    Backend,
    Capabilities,
    Draft,
    ImageRequest,
    ImageResult,
    InputImage,
    ModelChoice,
    Models,
    Reason,
    Step,
    Usage,
)
from longbanana_nb.generation.engine import generate_run
from longbanana_nb.generation.harnesses import HARNESSES
from longbanana_nb.generation.importing import import_candidates
from longbanana_nb.generation.prepare import Factories, Prepared, prepare
from longbanana_nb.generation.summary import Summary

__all__ = [
    "HARNESSES",
    "Action",
    "AgentModel",
    "Backend",
    "Capabilities",
    "Draft",
    "Factories",
    "Finish",
    "ImageRequest",
    "ImageResult",
    "InputImage",
    "ListedReference",
    "ModelChoice",
    "Models",
    "Prepared",
    "Reason",
    "SeenImage",
    "Step",
    "Stop",
    "Summary",
    "ToolCall",
    "ToolCalls",
    "ToolResult",
    "Turn",
    "Usage",
    "generate_run",
    "import_candidates",
    "prepare",
]
