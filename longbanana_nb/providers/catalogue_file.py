"""Reading the shipped catalogue of models: strict, so that a misspelt fact is an error and not an unknown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from longbanana_nb import paths
from longbanana_nb.errors import DataError
from longbanana_nb.providers.params import Rule

Role = Literal["judge", "agent", "image"]
CacheKind = Literal["request", "automatic"]


class Capabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model does. None is unknown, which is not no."""

    vision: bool | None = None
    structured_output: bool | None = None
    tools: bool | None = None
    cache: CacheKind | None = None
    cache_times: tuple[str, ...] = ()
    uploads: bool | None = None
    batches: bool | None = None


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a model takes. None is unknown.

    `many_side` is the longest side allowed where a request holds more than `many_images`. A picture with a side over
    `unscaled_side` or of more than `unscaled_tokens` tokens is scaled down by the provider, or refused where we ask for that.
    `references` is the number of pictures an image model takes in one call, `sizes` what it draws.
    """

    images: int | None = None
    many_images: int | None = None
    side: int | None = None
    many_side: int | None = None
    pixels: int | None = None
    unscaled_side: int | None = None
    unscaled_tokens: int | None = None
    image_bytes: int | None = None
    request_bytes: int | None = None
    formats: tuple[str, ...] = ()
    references: int | None = None
    sizes: tuple[str, ...] = ()
    context_tokens: int | None = None
    output_tokens: int | None = None
    cache_min_tokens: int | None = None
    upload_hours: int | None = None
    batch_requests: int | None = None
    batch_bytes: int | None = None


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model of the catalogue, its family's facts laid under its own."""

    id: str
    provider: str
    source: str
    route: str | None = None
    aliases: tuple[str, ...] = ()
    paper: str | None = None
    ends: dt.date | None = None
    ends_at_earliest: bool = False
    successor: str | None = None
    elsewhere: str | None = None
    remark: str | None = None
    roles: tuple[Role, ...] = ()
    image_formula: str | None = None
    text_formula: str | None = None
    params: dict[str, Rule] = {}
    capabilities: Capabilities = Capabilities()
    limits: Limits = Limits()


class Route(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to a provider: the variables a key is looked for in, and the address."""

    key_env: tuple[str, ...]
    base_url: str | None


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider; its first route is the usual one, `unknown` the family of ids that the catalogue does not hold."""

    routes: dict[str, Route]
    unknown: str
    any_id: bool = False

    @property
    def usual_route(self) -> str:
        """The route of a profile that names none."""
        return next(iter(self.routes))


class Catalogue(msgspec.Struct, frozen=True):
    """All that is known, and the day it was checked."""

    checked: dt.date
    sources: dict[str, str]
    providers: dict[str, Provider]
    models: tuple[Facts, ...]
    families: dict[str, Facts]

    def of(self, provider: str, route: str) -> Iterator[Facts]:
        """The models of a route of a provider."""
        return (facts for facts in self.models if (facts.provider, facts.route) == (provider, route))


@cache
def shipped() -> Catalogue:
    """The catalogue in `data/models/catalogue.yaml`, read once."""
    return read_catalogue(paths.data_folder() / "models" / "catalogue.yaml")


def read_catalogue(path: Path) -> Catalogue:
    """Read a catalogue; DataError naming the file and the place of what is wrong."""
    try:
        raw = yaml.load(path.read_bytes(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
        providers = msgspec.convert(raw["providers"], dict[str, Provider])
        families = {
            name: _facts({"id": name, "provider": "-", "source": "-", **facts}) for name, facts in raw["families"].items()
        }
        models = tuple(_model(row, raw["families"], providers) for row in raw["models"])
        return Catalogue(raw["checked"], raw["sources"], providers, models, families)
    except (OSError, yaml.YAMLError, msgspec.ValidationError, KeyError) as error:
        raise DataError(f"The catalogue of models {path} cannot be read: {type(error).__name__}: {error}") from error


def _model(row: dict[str, Any], families: dict[str, Any], providers: dict[str, Provider]) -> Facts:
    own = {key: value for key, value in row.items() if key != "like"}
    own.setdefault("route", providers[row["provider"]].usual_route)
    return _facts({**families[row["like"]], **own})


def _facts(flat: dict[str, Any]) -> Facts:
    """Flat facts of the file as a nested record; a key that belongs nowhere is refused."""
    parts: dict[str, dict[str, Any]] = {"capabilities": {}, "limits": {}}
    rest = {}
    for key, value in flat.items():
        if key in Capabilities.__struct_fields__:
            parts["capabilities"][key] = value
        elif key in Limits.__struct_fields__:
            parts["limits"][key] = value
        else:
            rest[key] = value
    return msgspec.convert({**rest, **parts}, Facts)
