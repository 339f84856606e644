"""Paid calls of one candidate: written to its ledger before and after, and held against the budget of the run in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from longbanana_nb.errors import CallError, Incomplete

if TYPE_CHECKING:
    from longbanana_nb.generation.contracts import Usage
    from longbanana_nb.runs import Budget, Ledger
    from longbanana_nb.runs.ledger import Reservation

RUN_BUDGET = "max_usd"  # the reason of a candidate that the budget of the whole run cut short
CASE_BUDGET = "max_usd_per_case"


class OverBudgetError(Exception):
    """A call was not made, because it could pass the budget named by `code`."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


@runtime_checkable
class Paid(Protocol):
    """An image model or agent model whose calls cost money; one without this price is free, and may report no cost.

    A paid one whose price nobody knows states 0.0 here and is true for `price_is_unknown`: its calls are written down like all
    others, and no limit in dollars can be kept for it.
    """

    @property
    def max_usd_per_call(self) -> float:
        """The most one call may cost, in dollars."""
        ...


def most_of(model: object) -> float:
    """The most one call of a model may cost; 0.0 where nothing is paid."""
    return model.max_usd_per_call if isinstance(model, Paid) else 0.0


def is_unpriced(model: object) -> bool:
    """Whether calls of a model cost money and nobody knows how much."""
    return bool(getattr(model, "price_is_unknown", False))


@dataclass(slots=True)
class Receipt:
    """What a call came to. One that was never filled in may have been paid: it counts with its most."""

    usage: Usage | None = None
    outcome: str = ""


@dataclass(slots=True)
class Purse:
    """Pays the calls of one candidate. Only the owner of the run has one, for only the owner writes into the run.

    `names` holds the id of the model by role, "backend" and "agent"; `budget` is the run's, `allowance` the case's.
    """

    ledger: Ledger
    budget: Budget
    allowance: Budget
    names: Mapping[str, str]

    @contextmanager
    def call(self, role: str, max_usd: float) -> Iterator[Receipt]:
        """Make one call within this, and fill in its receipt.

        Raises:
            OverBudgetError: where the call could pass a budget; it is then not made.
        """
        receipt, cost = Receipt(), max_usd
        reservations = self._reserved(max_usd)
        try:
            number = self.ledger.open_call(role, self.names[role], max_usd)
            yield receipt
            if receipt.usage is not None:
                used = receipt.usage
                cost = used.cost_usd + used.maybe_usd
                self.ledger.close_call(number, used.cost_usd, receipt.outcome, _tokens(used), maybe_usd=used.maybe_usd)
        finally:
            for reservation in reservations:
                reservation.settle(cost)

    def _reserved(self, max_usd: float) -> tuple[Reservation, Reservation]:
        try:
            mine = self.allowance.reserve(max_usd)
        except Incomplete:
            spent, most = self.allowance.spent_usd, self.allowance.max_usd
            text = f"${most:g} were allowed for the case, ${spent:.2f} are spent, and the next call may cost ${max_usd:.2f}"
            raise OverBudgetError(CASE_BUDGET, text) from None
        try:
            return mine, self.budget.reserve(max_usd)
        except Incomplete as error:
            mine.settle(0.0)
            raise OverBudgetError(RUN_BUDGET, str(error)) from None


@contextmanager
def paid_call(purse: Purse | None, role: str, model: object) -> Iterator[Receipt]:
    """One call of a model: through the purse if the model is paid, else just a receipt, which must then cost nothing.

    Raises:
        OverBudgetError: where the call could pass a budget.
        CallError: where a paid model has no purse, or a free one reports a cost: nothing is paid outside the ledger.
    """
    most, has_to_be_written = most_of(model), most_of(model) > 0 or is_unpriced(model)
    if has_to_be_written and purse is not None:
        with purse.call(role, most) as receipt:
            yield receipt
        return
    if has_to_be_written:
        raise CallError(
            f"{role} {type(model).__name__}: its calls are paid, and there is no ledger to write them to. Use generate_run."
        )
    receipt = Receipt()
    yield receipt
    if receipt.usage is not None and receipt.usage.cost_usd > 0:
        raise CallError(
            f"{role} {type(model).__name__}: it reported a cost of ${receipt.usage.cost_usd:g} and states no price. "
            "Give the model `max_usd_per_call`, so that budgets count its calls before they are made."
        )


def _tokens(usage: Usage) -> dict[str, Any]:
    return {"in": usage.input_tokens, "cached": usage.cached_tokens, "out": usage.output_tokens}
