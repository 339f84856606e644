"""Keys come from the environment and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from longbanana_nb.errors import CallError
from longbanana_nb.providers.catalogue import Model

_USABLE = re.compile(r"[\x21-\x7e]+")


def key_of(model: Model, environment: Mapping[str, str] | None = None) -> str | None:
    """The key of a model: the first of its variables that is set; None where it names none (local servers, Google Cloud).

    Raises:
        CallError: saying which variable to set; it never repeats what is in one.
    """
    if not model.key_env:
        return None
    values = os.environ if environment is None else environment
    for name in model.key_env:
        value = values.get(name, "").strip()
        if not value:
            continue
        if not _USABLE.fullmatch(value):
            raise CallError(f"${name} holds blanks or characters that no key has. Set it again.")
        return value
    names = " or ".join(f"${name}" for name in model.key_env)
    raise CallError(
        f"{model.provider}/{model.id} needs a key: set {names} in the environment (never in a profile or a notebook)."
    )
