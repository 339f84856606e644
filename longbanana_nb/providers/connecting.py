"""From a model of the catalogue to an adapter that speaks with it; SDKs are loaded here and not before."""

from __future__ import annotations

import importlib
from typing import cast

from longbanana_nb.errors import CallError
from longbanana_nb.providers.catalogue import Model
from longbanana_nb.providers.contracts import Adapter

ADAPTERS = {
    "anthropic": ("anthropic", "anthropic"),
    "google": ("google", "google-genai"),
    "openai": ("openai_responses", "openai"),
    "openai-compatible": ("openai_chat", "openai"),
}


def connect(
    model: Model, *, key: str | None, base_url: str | None = None, timeout_s: float = 120.0, connections: int = 32
) -> Adapter:
    """An adapter for a model, with its own HTTP client; nothing is sent yet.

    Args:
        key: from `key_of`; None for servers that want none.
        base_url: instead of the model's own address.
        timeout_s: bounds one whole call.
        connections: how many calls may travel at once.
    """
    if model.provider not in ADAPTERS:
        raise CallError(f"{model.provider} draws pictures and answers no questions. Judges: {', '.join(ADAPTERS)}.")
    module, package = ADAPTERS[model.provider]
    try:
        opener = importlib.import_module(f"longbanana_nb.providers.{module}").open_adapter
    except ModuleNotFoundError as error:
        raise CallError(
            f"{model.provider} needs the package {package} ({error.name} is missing): pip install {package}"
        ) from error
    return cast(
        Adapter, opener(model, key=key, base_url=base_url or model.base_url, timeout_s=timeout_s, connections=connections)
    )
