"""What the embedded default hands down to the engines: image models, agent models, judge protocols, and the demo release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from longbanana_nb.paths import releases_folder

if TYPE_CHECKING:
    from longbanana_nb.judging import Protocol
    from longbanana_nb.judging.audit.running import GraphMaker
    from longbanana_nb.judging.model_protocols import ModelProtocol

# Factories by provider, by import path: they travel to worker processes, and naming them loads nothing.
BACKENDS: Final = {"sketch": "longbanana_nb.demo.sketch:sketch_backend"}
AGENTS: Final = {
    "embedded": "longbanana_nb.demo.planner:planner_agent",
    **dict.fromkeys(("anthropic", "google", "openai", "openai-compatible"), "longbanana_nb.generation.agent_models:agent_model"),
}

USUAL_CASES = 3


def demo_manifest(cases_per_category: int = USUAL_CASES) -> Path:
    """The manifest of the demo release of this shape, built first if it does not stand there yet."""
    from longbanana_nb.demo import build_demo

    name = "demo_v1" if cases_per_category == USUAL_CASES else f"demo_v1-{cases_per_category}"
    return build_demo(releases_folder() / name, cases_per_category=cases_per_category)


def protocols() -> dict[str, Protocol]:
    """The judge protocols that need no model, by name."""
    from longbanana_nb.demo.truth import TRUTH_VERSION
    from longbanana_nb.judging import ToolsProtocol, TruthProtocol

    return {"tools": ToolsProtocol(), "truth": TruthProtocol("longbanana_nb.demo.truth:scene_look", TRUTH_VERSION)}


def model_protocols() -> dict[str, ModelProtocol]:
    """The judge protocols that ask a model, by name."""
    from longbanana_nb.judging.agentic import AgenticProtocol
    from longbanana_nb.judging.direct import DirectProtocol

    return {"direct": DirectProtocol(), "agentic": AgenticProtocol()}


def pair_maker(release: str) -> GraphMaker | None:
    """What makes minimal pairs from the graphs of a release by this name; None where nothing does."""
    from longbanana_nb.demo.pairs import VERSION
    from longbanana_nb.judging.audit.running import GraphMaker

    return GraphMaker("longbanana_nb.demo.pairs:make_pairs", VERSION) if release == "demo_v1" else None
