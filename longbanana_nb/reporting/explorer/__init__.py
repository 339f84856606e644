"""The failure explorer: a run's answers, filtered by facets with live counts."""

from longbanana_nb.reporting.explorer.answers import answers_frame
from longbanana_nb.reporting.explorer.state import FACETS, ExplorerState

__all__ = ["FACETS", "ExplorerState", "answers_frame"]
