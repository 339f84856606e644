"""What calls cost: prices with their day and source. What is not known is None, never nothing."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import msgspec
import yaml

from longbanana_nb import paths
from longbanana_nb.providers.catalogue import Model
from longbanana_nb.providers.contracts import CacheTime, Usage

MILLION = 1_000_000


class Rates(msgspec.Struct, frozen=True):
    """Dollars per million tokens; None where no price of that kind is known. `per_image` and `per_reference` are per picture."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    write_5m: float | None = None
    write_1h: float | None = None
    image_input: float | None = None
    image_cached: float | None = None
    image_output: float | None = None
    per_image: float | None = None
    per_reference: float | None = None

    def times(self, factor: float) -> Rates:
        """The same rates, each multiplied."""
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        return Rates(**{name: None if value is None else value * factor for name, value in fields.items()})


@dataclass(frozen=True, slots=True)
class Price:
    """A price: rates by the length of the prompt (`over` that many tokens the whole call costs them), where they are from."""

    steps: tuple[tuple[int, Rates], ...]
    source: str
    is_batch: bool = False
    caches_unasked: bool = False

    def rates(self, prompt_tokens: int) -> Rates:
        """The rates of a call with a prompt of so many tokens, cached ones included."""
        return next(rates for over, rates in reversed(self.steps) if prompt_tokens > over or over == 0)

    def of(self, usage: Usage) -> float:
        """What a call cost. Cached tokens whose rate is not known count as if they had been sent anew."""
        rates = self.rates(usage.input_tokens + usage.cached_tokens + usage.cache_write_tokens)
        sent = _known(rates.input)
        for_an_hour = min(usage.cache_write_tokens, _written_for_an_hour(usage))
        dollars = usage.input_tokens * sent + usage.output_tokens * _known(rates.output)
        dollars += usage.cached_tokens * (sent if rates.cached is None else rates.cached)
        dollars += (usage.cache_write_tokens - for_an_hour) * _write(rates, "5m") + for_an_hour * _write(rates, "1h")
        return dollars / MILLION

    def most(self, input_tokens: int, max_tokens: int, cache: CacheTime = "off") -> float:
        """The most that a call can cost before it is made: nothing read from a cache, everything written to it, a full answer."""
        rates = self.rates(input_tokens)
        cache = "5m" if cache == "off" and self.caches_unasked else cache
        return (input_tokens * max(_known(rates.input), _write(rates, cache)) + max_tokens * _known(rates.output)) / MILLION


def price(model: Model, on: dt.date, *, batch: bool = False) -> Price | None:
    """The price of a model on a day; None where none is known, as for models behind OpenAI-compatible addresses.

    A provider's model behind an address of one's own has the provider's list price, which the source says. Ids that the
    catalogue does not hold are priced only where the package names them exactly.
    """
    found = _own(model, on, batch=batch) or _published(model, on, batch=batch)
    if found is None:
        return None
    remark = f"; list price of {model.provider}, the address may charge otherwise" if model.has_own_endpoint else ""
    return replace(found, source=found.source + remark, caches_unasked=model.capabilities.cache == "automatic")


def _known(rate: float | None) -> float:
    if rate is None:
        raise ValueError("a price by the token was asked of a model that is priced by the picture")
    return rate


def _write(rates: Rates, time: CacheTime) -> float:
    if time == "off":
        return 0.0
    found = rates.write_5m if time == "5m" else rates.write_1h or rates.write_5m
    return _known(rates.input) if found is None else found


def _written_for_an_hour(usage: Usage) -> int:
    """Of the tokens written to a cache those kept for an hour, which Anthropic tells apart."""
    told = usage.reported.get("cache_creation")
    return int(told.get("ephemeral_1h_input_tokens") or 0) if isinstance(told, dict) else 0


class _Row(Rates, frozen=True, kw_only=True, forbid_unknown_fields=True):
    provider: str
    ids: tuple[str, ...]
    source: str
    checked: dt.date
    begins: dt.date | None = msgspec.field(default=None, name="from")
    batch: float | None = None


class _BatchFactor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    provider: str
    ids: tuple[str, ...]
    factor: float
    source: str
    checked: dt.date


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    prices: tuple[_Row, ...]
    batches: tuple[_BatchFactor, ...]


@cache
def _table() -> _Table:
    raw: Any = yaml.safe_load((paths.data_folder() / "models" / "prices.yaml").read_bytes())
    return msgspec.convert(raw, _Table)


def _own(model: Model, on: dt.date, *, batch: bool) -> Price | None:
    rows = [row for row in _table().prices if row.provider == model.provider and model.id in row.ids]
    begun = [row for row in rows if row.begins is None or row.begins <= on]
    if not begun:
        return None
    row = max(begun, key=lambda row: row.begins or dt.date.min)
    if batch and row.batch is None:
        return None
    rates = Rates(**{name: getattr(row, name) for name in Rates.__struct_fields__})
    source = f"{row.source}, {row.checked}"
    return Price(((0, rates.times(row.batch) if batch and row.batch else rates),), source, is_batch=batch)


def _published(model: Model, on: dt.date, *, batch: bool) -> Price | None:
    """The price that genai-prices holds, from the data inside the installed package; nothing is fetched."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, found = get_snapshot().find_provider_model(model.id, None, model.provider, None)
    except LookupError:
        return None
    if model.lifecycle.state == "unknown" and found.id != model.id:
        return None
    noon = dt.datetime.combine(on, dt.time(12), dt.UTC)
    full = _steps(found.get_prices(noon))
    source = f"genai-prices {version('genai-prices')}"
    if not full or full[0][1].input is None or full[0][1].output is None:
        return None
    if not batch:
        return Price(full, source)
    variants = [v for v in found.price_variants or () if v.when == {"processing": "batch"}]
    if any(v.constraint is None or v.constraint.active(noon) for v in variants):
        return Price(_steps(found.get_prices(noon, {"processing": "batch"})), source, is_batch=True)
    factor = next((f for f in _table().batches if f.provider == model.provider and model.id in f.ids), None)
    if factor is None:
        return None
    steps = tuple((over, rates.times(factor.factor)) for over, rates in full)
    return Price(steps, f"{source}; batches: {factor.source}, {factor.checked}", is_batch=True)


_FIELDS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cached": "cache_read_mtok",
    "write_5m": "cache_write_mtok",
    "write_1h": "cache_write_1h_mtok",
    "image_input": "input_image_mtok",
    "image_cached": "cache_image_read_mtok",
    "image_output": "output_image_mtok",
}


def _steps(found: Any) -> tuple[tuple[int, Rates], ...]:
    """Rates by length of the prompt, from the fields of the package, which may be numbers or tiers."""
    values = {ours: getattr(found, theirs, None) for ours, theirs in _FIELDS.items()}
    starts = sorted({0} | {tier.start for value in values.values() for tier in getattr(value, "tiers", ())})
    return tuple((start, Rates(**{name: _at(value, start) for name, value in values.items()})) for start in starts)


def _at(value: Any, start: int) -> float | None:
    if value is None or not hasattr(value, "tiers"):
        return None if value is None else float(value)
    return float(next((tier.price for tier in reversed(value.tiers) if tier.start <= start), value.base))
