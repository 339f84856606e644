"""The embedded default: a demo release built by code, and (in their own modules) an image model, an agent model and the truth."""

from __future__ import annotations

from longbanana_nb.demo.brief import Brief, Thing, UnparsablePrompt, parse, render
from longbanana_nb.demo.build import build_demo
from longbanana_nb.demo.projection import PROFILE, Projection, project

__all__ = ["PROFILE", "Brief", "Projection", "Thing", "UnparsablePrompt", "build_demo", "parse", "project", "render"]
