"""What has to hold before a model judge's first call: a live model, parameters it takes, a way to send, a key, a price."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.judging.handles import account_of
from longbanana_nb.providers.catalogue import Model, resolve
from longbanana_nb.providers.keys import key_of
from longbanana_nb.providers.prices import Price, price
from longbanana_nb.runs.judge_spec import Sending

if TYPE_CHECKING:
    from longbanana_nb.runs import JudgeSpec
    from longbanana_nb.runs.judge_spec import JudgeModel


@dataclass(frozen=True, slots=True)
class Ready:
    """A judge that may be asked: its model, the key, the price (None: unknown), and the account its uploads lie with.

    `missing` says which key has to be set first; where nothing is open, none has to.
    """

    model: Model
    key: str | None
    price: Price | None
    account: str
    missing: CallError | None = None

    def require_key(self) -> None:
        """CallError where the key that is needed is not set."""
        if self.missing is not None:
            raise self.missing


def ready_to_ask(profile: JudgeSpec, *, max_usd: float | None, on: dt.date | None = None) -> Ready:
    """Everything that is known to be needed, before anything is sent; that the key is there is asked for by `require_key`.

    Raises:
        CallError: a retired model (its successor is named), parameters or a way to send that the model does not take, or a
            limit in dollars for a model whose price is unknown.
    """
    day = on or dt.datetime.now(dt.UTC).date()
    model, found = model_of(profile, on=day)
    if max_usd is not None and found is None:
        raise CallError(
            f"judge {profile.name!r}: the price of {model.provider}/{model.id} is unknown, so limits.max_usd of ${max_usd:g} "
            "cannot be kept. Set limits.max_usd to null to run it at an unknown cost, or choose a model with a known price."
        )
    key, missing = None, None
    try:
        key = key_of(model)
    except CallError as fault:
        missing = fault
    return Ready(model, key, found, account_of(model, key), missing)


def model_of(profile: JudgeSpec, *, on: dt.date) -> tuple[Model, Price | None]:
    """The judge's model and its price on a day; needs no key.

    Raises:
        CallError: as `ready_to_ask`, but for key and limit.
    """
    asked = profile.model
    if asked is None:
        raise CallError(f"judge {profile.name!r} names no model.")
    model = resolved(asked, on=on)
    faults = sending_faults(model, profile.sending or Sending())
    if model.capabilities.vision is False:
        faults.insert(0, "it sees no pictures, and a judge has to")
    if faults:
        raise CallError(f"judge {profile.name!r}, model {model.provider}/{model.id} (route {model.route}): {'; '.join(faults)}.")
    return model, price(model, on, batch=bool(profile.sending and profile.sending.batch))


def resolved(asked: JudgeModel, *, on: dt.date) -> Model:
    """The model a file names, with parameters it takes; CallError where it is retired, or takes one of them not."""
    model = resolve(asked.provider, asked.id, asked.route, base_url=asked.base_url, key_env=asked.key_env, on=on)
    model.check_params(asked.params)
    return model


def sending_faults(model: Model, sending: Sending) -> list[str]:
    """Why requests cannot travel to this model that way; empty where they can."""
    can, faults = model.capabilities, []
    if sending.cache != "off" and sending.cache not in can.cache_times:
        way = "caches by itself, without being asked" if can.cache == "automatic" else "is not known to cache on request"
        times = f"it caches for {' or '.join(can.cache_times)}" if can.cache_times else f"it {way}"
        faults.append(f"sending.cache {sending.cache}: {times}; set it to {' or '.join(['off', *can.cache_times])}")
    if sending.images == "uploaded" and not can.uploads:
        faults.append("sending.images uploaded: it is not known to take uploads; set it to inline")
    if sending.batch and not can.batches:
        faults.append("sending.batch true: it is not known to take batches; set it to false")
    return faults
