"""The gateway: an agent program's only way out, to its one model and the image tool; it holds the keys and keeps the record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from longbanana_nb.generation.gateway.contracts import IMAGE_TOOLS, Permit, Refusal, SeenPicture, image_tools

if TYPE_CHECKING:
    from longbanana_nb.generation.gateway.gate import Gate
    from longbanana_nb.generation.gateway.gateway import Gateway

IMAGE_TOOL_SCRIPT: Final = Path(__file__).with_name("mcp_image_tool.py")  # shown to the program, run by a bare Python

__all__ = ["IMAGE_TOOLS", "IMAGE_TOOL_SCRIPT", "Gate", "Gateway", "Permit", "Refusal", "SeenPicture", "image_tools"]


def __getattr__(name: str) -> object:
    """`Gate` and `Gateway` when they are first asked for: the server library is loaded with them."""
    if name == "Gateway":
        from longbanana_nb.generation.gateway.gateway import Gateway

        return Gateway
    if name == "Gate":
        from longbanana_nb.generation.gateway.gate import Gate

        return Gate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
