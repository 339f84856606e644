"""What calls of a model cost: a tariff before they are made, a bill after."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from longbanana_nb.judging.estimates import input_tokens
from longbanana_nb.providers.contracts import Request, Usage

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.providers.prices import Price

MARGIN = 1.25  # by which the count of a request's tokens may be too low


@dataclass(slots=True)
class Bill:
    """What one job came to: its calls, their tokens and dollars."""

    calls: int = 0
    cost_usd: float = 0.0
    usage: Usage = field(default_factory=Usage)

    def merge(self, other: Bill) -> None:
        """Put all calls of another bill on this one."""
        self.calls += other.calls
        self.cost_usd += other.cost_usd
        self.usage += other.usage

    def add(self, usage: Usage, cost_usd: float) -> None:
        """Put a call on the bill."""
        self.calls += 1
        self.cost_usd += cost_usd
        self.usage += usage


@dataclass(slots=True)
class Tariff:
    """What calls of a model cost; without a price everything costs nothing that is known."""

    model: Model
    price: Price | None

    def most(self, request: Request) -> float:
        """The most that a call may cost."""
        tokens = input_tokens(self.model, request)
        if self.price is None or tokens is None:
            return 0.0
        return self.price.most(int(tokens * MARGIN), request.max_tokens, request.cache)

    def cost(self, usage: Usage) -> float:
        """What a call did cost; never less than nothing, whatever a server reports."""
        return max(0.0, self.price.of(usage)) if self.price is not None else 0.0


def tokens(usage: Usage) -> dict[str, int]:
    """Tokens as ledgers and judgments hold them."""
    return {
        "in": usage.input_tokens,
        "cached": usage.cached_tokens,
        "cache_write": usage.cache_write_tokens,
        "out": usage.output_tokens,
    }
