"""The recipes, by harness."""

from collections.abc import Mapping
from typing import Final

from longbanana_nb.generation.agents.contracts import Recipe
from longbanana_nb.generation.agents.recipes.claude_code import ClaudeCode
from longbanana_nb.generation.agents.recipes.codex import Codex
from longbanana_nb.generation.agents.recipes.hermes import Hermes
from longbanana_nb.generation.agents.recipes.openclaw import OpenClaw
from longbanana_nb.generation.agents.recipes.opencode import OpenCode

RECIPES: Final[Mapping[str, Recipe]] = {
    recipe.name: recipe for recipe in (OpenClaw(), OpenCode(), Hermes(), ClaudeCode(), Codex())
}

__all__ = ["RECIPES"]
