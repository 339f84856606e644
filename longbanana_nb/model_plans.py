"""What is said of a model judge's costs: shares of systems and floors, by way of sending, in numbers and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of all calls, as they would be charged."""

    input: int
    cached: int
    cache_written: int
    output: int


@dataclass(frozen=True, slots=True)
class Share:
    """What systems, or floors, take: questions still open, calls from least to most, pictures sent, dollars by way of sending.

    `tokens` is None where they are not known. `most_usd` is what the open calls cost if each takes all its turns; for a judge
    that takes none it is `usd` as chosen.
    """

    open: int
    calls: int
    most_calls: int
    pictures: int
    tokens: Tokens | None
    usd: Mapping[str, float | None]
    chosen_usd: float | None
    most_usd: float | None


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The money side of a model judge's plan. `price` says where the price is from; None: unknown, and so are all dollars."""

    model: str
    price: str | None
    systems: Share
    floors: Share
    uploads: int
    not_puttable: int
    assumed_candidates: int
    cannot: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def calls(self) -> int:
        """Calls at least, over systems and floors."""
        return self.systems.calls + self.floors.calls

    @property
    def calls_in_words(self) -> str:
        """`3909`, or `3909 to 27363` for a judge that takes turns."""
        return _from_to(self.calls, self.systems.most_calls + self.floors.most_calls)

    @property
    def tokens(self) -> int | None:
        """All tokens, in and out; None where they are not known."""
        parts = (self.systems.tokens, self.floors.tokens)
        known = [one.input + one.cached + one.cache_written + one.output for one in parts if one is not None]
        return sum(known) if len(known) == len(parts) else None

    @property
    def chosen_usd(self) -> float | None:
        """Dollars as the profile sends; None: unknown."""
        return _sum((self.systems.chosen_usd, self.floors.chosen_usd))

    @property
    def most_usd(self) -> float | None:
        """Dollars as the profile sends, with all turns taken; None: unknown."""
        return _sum((self.systems.most_usd, self.floors.most_usd))

    @property
    def cost_in_words(self) -> str:
        """`about $16.96`; for a judge that takes turns `$12.73 without a turn, at most $949.24 with all`."""
        if self.chosen_usd is None:
            return "price unknown" if self.price is None else "cost unknown"
        if self.most_usd is None or self.most_usd == self.chosen_usd:
            return _usd(self.chosen_usd)
        return f"{_usd(self.chosen_usd)} without a turn, at most ${self.most_usd:.2f} with all"

    def lines(self) -> list[str]:
        """For a person, under the judge's own line."""
        found = [f"{self.model}: price {self.price or 'unknown, so the cost is unknown'}"]
        for name, share in (("systems", self.systems), ("floors", self.floors)):
            calls = f"{_from_to(share.calls, share.most_calls)} calls"
            found.append(f"{name}: {share.open} checks open, {calls}, {share.pictures} pictures, {_tokens(share.tokens)}")
        for way in self.systems.usd:
            if way in self.cannot:
                continue
            parts = (self.systems.usd[way], self.floors.usd[way])
            found.append(f"{way}: {_usd(_sum(parts))} (systems {_usd(parts[0])}, floors {_usd(parts[1])})")
        found.append(f"as the profile sends: {self.cost_in_words}")
        return [*found, *self.notes]


def _sum(parts: Sequence[float | None]) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"about ${amount:.2f}" if amount >= 1 or amount == 0 else f"about ${amount:.4f}"


def _from_to(least: int, most: int) -> str:
    return f"{least}" if least == most else f"{least} to {most}"


def _tokens(tokens: Tokens | None) -> str:
    if tokens is None:
        return "tokens unknown"
    cached = f", {tokens.cached:,} from the cache, {tokens.cache_written:,} into it" if tokens.cache_written else ""
    return f"tokens: {tokens.input:,} in{cached}, {tokens.output:,} out"
