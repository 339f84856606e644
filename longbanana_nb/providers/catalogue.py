"""Which model a profile means: who serves it, until when, what it takes; retired ids are refused and never swapped."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from longbanana_nb.errors import CallError
from longbanana_nb.names import nearest
from longbanana_nb.providers import params as parameters
from longbanana_nb.providers.catalogue_file import Capabilities, Catalogue, Facts, Limits, Provider, Role, shipped
from longbanana_nb.providers.tokens import IMAGE_FORMULAS, TEXT_FORMULAS

LifecycleState = Literal["live", "ending", "retired", "unknown"]
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,127}")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Whether a model can be called on the day asked about; `source` and `checked` say who says so and when it was read."""

    state: LifecycleState
    ends: dt.date | None
    successor: str | None
    source: str
    checked: dt.date


@dataclass(frozen=True)
class Model:
    """A model as a profile names it, with all the catalogue knows. `warnings` are sentences for the people who run it."""

    provider: str
    id: str
    route: str
    base_url: str | None
    key_env: tuple[str, ...]
    lifecycle: Lifecycle
    roles: tuple[Role, ...]
    capabilities: Capabilities
    limits: Limits
    params: Mapping[str, parameters.Rule]
    image_formula: str | None
    text_formula: str | None
    has_own_endpoint: bool
    warnings: tuple[str, ...] = ()

    def image_tokens(self, width: int, height: int) -> int | None:
        """Tokens of a picture of this size, at most what the provider scales it down to; None where no formula is known."""
        if self.image_formula is None:
            return None
        count = IMAGE_FORMULAS[self.image_formula](width, height)
        return count if self.limits.unscaled_tokens is None else min(count, self.limits.unscaled_tokens)

    def is_scaled_down(self, width: int, height: int) -> bool | None:
        """Whether the provider would show the model a smaller picture than this; None where that is unknown."""
        side, tokens = self.limits.unscaled_side, self.limits.unscaled_tokens
        if side is None or tokens is None or self.image_formula is None:
            return None
        return max(width, height) > side or IMAGE_FORMULAS[self.image_formula](width, height) > tokens

    def text_tokens(self, text: str) -> int | None:
        """An estimate of the tokens of a text; None where nothing is known of the tokenizer."""
        return TEXT_FORMULAS[self.text_formula](text) if self.text_formula else None

    def check_params(self, params: Mapping[str, Any]) -> None:
        """CallError with everything that this model does not take, or not so."""
        found = parameters.faults(self.params, params)
        if found:
            raise CallError(f"Parameters of {self.provider}/{self.id}: {'; '.join(found)}.")


def resolve(
    provider: str,
    id: str,
    route: str | None = None,
    *,
    base_url: str | None = None,
    key_env: str | None = None,
    on: dt.date,
    catalogue: Catalogue | None = None,
) -> Model:
    """The model that a profile names, on a day.

    An id that the catalogue does not hold is allowed, with a warning that says what is unknown.

    Raises:
        CallError: no such provider or route, a retired id (its successor is named), an address or a variable that cannot be one.
    """
    known = catalogue or shipped()
    entry = _provider(known, provider)
    route = _route(entry, provider, route)
    _check_endpoint(entry, provider, base_url, key_env)
    facts = next((f for f in known.of(provider, route) if id == f.id or id in f.aliases), None)
    lifecycle = _lifecycle(facts, known, on)
    if facts is not None and lifecycle.state == "retired":
        raise CallError(_retired(facts, lifecycle))
    used = facts or known.families[entry.unknown]
    usual = entry.routes[route]
    return Model(
        provider=provider,
        id=id,
        route=route,
        base_url=base_url or usual.base_url,
        key_env=(key_env,) if key_env else usual.key_env,
        lifecycle=lifecycle,
        roles=used.roles,
        capabilities=used.capabilities,
        limits=used.limits,
        params=used.params,
        image_formula=used.image_formula,
        text_formula=used.text_formula,
        has_own_endpoint=base_url is not None,
        warnings=tuple(_warnings(known, facts, lifecycle, (provider, route, id), base_url)),
    )


def _provider(known: Catalogue, provider: str) -> Provider:
    if provider in known.providers:
        return known.providers[provider]
    near = nearest(provider, known.providers)
    offer = f"Did you mean {near!r}?" if near else f"There are {', '.join(known.providers)}."
    raise CallError(f"No provider is called {provider!r}. {offer}")


def _route(entry: Provider, provider: str, route: str | None) -> str:
    if route is None:
        return entry.usual_route
    if route not in entry.routes:
        raise CallError(f"{provider} has no route {route!r}; it has {', '.join(entry.routes)}.")
    return route


def _check_endpoint(entry: Provider, provider: str, base_url: str | None, key_env: str | None) -> None:
    if key_env is not None and not _VARIABLE.fullmatch(key_env):
        raise CallError("key_env is the name of an environment variable (A-Z, 0-9, _), never the key itself.")
    if base_url is None:
        if entry.any_id:
            raise CallError(f"A model of {provider} needs base_url, for example http://127.0.0.1:8000/v1.")
        return
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise CallError("base_url is an address with http:// or https:// and a host.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise CallError(
            "base_url holds an address alone: no name, key, query or fragment. A key goes into the variable of key_env."
        )
    if parts.scheme == "http" and not entry.any_id and parts.hostname not in _LOOPBACK:
        raise CallError(f"base_url of {provider} is http://, which would send the key unencrypted. Use https://.")


def _lifecycle(facts: Facts | None, known: Catalogue, on: dt.date) -> Lifecycle:
    if facts is None:
        return Lifecycle("unknown", None, None, "not in the catalogue", known.checked)
    is_over = facts.ends is not None and facts.ends <= on and not facts.ends_at_earliest
    state: LifecycleState = "live" if facts.ends is None else "retired" if is_over else "ending"
    return Lifecycle(state, facts.ends, facts.successor, known.sources[facts.source], known.checked)


def _retired(facts: Facts, lifecycle: Lifecycle) -> str:
    text = f"{facts.provider}/{facts.id} (route {facts.route}) was retired on {lifecycle.ends} ({lifecycle.source})."
    if lifecycle.successor:
        text += f" Its successor is {lifecycle.successor}, a different system: name it in a profile of its own."
    return f"{text} Elsewhere: {facts.elsewhere}." if facts.elsewhere else text


def _warnings(
    known: Catalogue, facts: Facts | None, lifecycle: Lifecycle, name: tuple[str, str, str], base_url: str | None
) -> list[str]:
    provider, route, model_id = name
    subject = f"{provider}/{model_id} (route {route})"
    found = []
    if facts is None and known.providers[provider].any_id:
        found.append(
            f"{subject}: what it takes, how many tokens a picture makes and what it costs is unknown; nothing is checked."
        )
    elif facts is None:
        near = nearest(model_id, [f.id for f in known.of(provider, route)])
        found.append(
            f"{subject} is not in the catalogue of {known.checked}: whether it exists and until when, its limits, token counts"
            f" and price are unknown, and limits are not checked.{f' Nearest known: {near}.' if near else ''}"
        )
    elif lifecycle.state == "ending":
        after = f"; its successor is {lifecycle.successor}" if lifecycle.successor else ""
        when = f"{lifecycle.ends} or later" if facts.ends_at_earliest else f"{lifecycle.ends}"
        found.append(f"{subject} ends on {when} ({lifecycle.source}){after}.")
    if facts is not None and facts.remark:
        found.append(f"{subject}: {facts.remark}.")
    if base_url and base_url.startswith("http://") and urlsplit(base_url).hostname not in _LOOPBACK:
        found.append(f"{base_url} is not encrypted: whatever is sent there, a key too, can be read on the way.")
    return found
