"""One policy of trying again, over all providers: what is tried again, after how long, and that every try is seen."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from longbanana_nb.providers.contracts import Adapter, ProviderError, Reply, Request

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Retry:
    """How often and how patiently. Times are in seconds.

    Waits double from `base_s` to `cap_s`, each between half of that and all of it. What a server asks for (Retry-After,
    RetryInfo) is waited instead where it is longer, up to `retry_after_cap_s`. `repeats_paid` says whether a call is made
    again that may have been charged although no answer came.
    """

    attempts: int = 5
    base_s: float = 1.0
    cap_s: float = 30.0
    retry_after_cap_s: float = 120.0
    repeats_paid: bool = True

    def wait_s(self, attempt: int, error: ProviderError, chance: float) -> float | None:
        """How long to wait after this attempt (from 1) failed so; None for no further attempt. `chance` is from 0 to 1."""
        if attempt >= self.attempts or not error.is_transient or (error.maybe_paid and not self.repeats_paid):
            return None
        own = min(self.cap_s, self.base_s * 2.0 ** min(attempt - 1, 60)) * (0.5 + chance / 2)
        asked_for = min(error.retry_after_s or 0.0, self.retry_after_cap_s)
        return max(own, asked_for + min(1.0, asked_for / 10) * chance)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: its number from 1, how long it took, what failed, how long is waited before the next (None: it was the last)."""

    number: int
    seconds: float
    error: ProviderError | None
    wait_s: float | None

    @property
    def maybe_paid(self) -> bool:
        """Whether the provider may have charged for this try although it brought nothing."""
        return self.error is not None and self.error.maybe_paid


Log = Callable[[Attempt], None]


async def asked(adapter: Adapter, request: Request, retry: Retry, log: Log | None = None) -> Reply:
    """Ask, and ask again where that can help. `log` sees every attempt before the next one starts.

    Raises:
        ProviderError: of the last attempt.
    """
    return await tried(lambda: adapter.ask(request), retry, log)


async def tried(call: Callable[[], Awaitable[Answer]], retry: Retry, log: Log | None = None) -> Answer:
    """The same policy for any call of an adapter: uploads, batches, their states."""
    number = 0
    while True:
        number += 1
        started = time.monotonic()
        try:
            answer = await call()
        except ProviderError as error:
            wait = retry.wait_s(number, error, random.random())
            _tell(log, Attempt(number, time.monotonic() - started, error, wait))
            if wait is None:
                raise
            await asyncio.sleep(wait)
        else:
            _tell(log, Attempt(number, time.monotonic() - started, None, None))
            return answer


def _tell(log: Log | None, attempt: Attempt) -> None:
    if log is not None:
        log(attempt)
