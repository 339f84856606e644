"""Which answers are looked at: facets, a text, a page. No widgets, no pictures."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from longbanana_nb.errors import CallError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

FACETS = (
    "judge", "system", "suite", "category", "dimension", "polarity", "verdict", "invalid", "bound",
    "against_truth", "against_human",
)  # fmt: skip
LISTED = ("judge", "system", "case_id", "check_id", "verdict", "against_truth", "against_human", "question")
PAGE = 12


class ExplorerState:
    """A selection among the rows of `answers_frame`: chosen values by facet, and a text that the question holds."""

    def __init__(self, answers: pd.DataFrame, chosen: Mapping[str, Sequence[str]] | None = None, text: str = "") -> None:
        self._answers = answers
        self._questions = answers["question"].str.lower()
        self._chosen: dict[str, list[str]] = {}
        self.text = text
        for facet, values in (chosen or {}).items():
            self.choose(facet, *values)

    @classmethod
    def from_filter(cls, answers: pd.DataFrame, filter_text: str) -> ExplorerState:
        """The state that `filter` wrote; CallError where the text is no such filter."""
        try:
            found: Any = json.loads(filter_text)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not all(_is_part(name, value) for name, value in found.items()):
            raise CallError(
                f'explore: filter {filter_text[:80]!r}; expected what `filter()` gives, such as {{"verdict": ["Fail"]}}.'
            )
        text = found.pop("text", "")
        return cls(answers, found, text)

    def choose(self, facet: str, *values: str) -> ExplorerState:
        """Show only these values of a facet; none shows all of them. Returns itself; CallError for an unknown facet."""
        if facet not in FACETS:
            raise CallError(f"explore: facet {facet!r}; expected one of {', '.join(FACETS)}.")
        self._chosen.pop(facet, None)
        if values:
            self._chosen[facet] = sorted(set(values))
        return self

    def filter(self) -> str:
        """The selection as one line of JSON, to be pasted into `explore(run, filter=...)`."""
        parts: dict[str, Any] = dict(sorted(self._chosen.items()))
        return json.dumps(parts | ({"text": self.text} if self.text else {}), ensure_ascii=False)

    def counts(self, facet: str) -> dict[str, int]:
        """How many answers each value of a facet has under the other facets and the text, most first."""
        if facet not in FACETS:
            raise CallError(f"explore: facet {facet!r}; expected one of {', '.join(FACETS)}.")
        counted = self._answers.loc[self._mask(but=facet), facet].value_counts()
        return {str(value): int(number) for value, number in counted.items()}

    def frame(self) -> pd.DataFrame:
        """The selected answers, in the order of the run, as a frame of its own."""
        return self._answers[self._mask()].copy()

    def page(self, number: int = 0) -> pd.DataFrame:
        """Page `number` of the selection, from 0, 12 rows each; empty after the last."""
        if number < 0:
            raise CallError(f"explore: page {number}; expected 0 or more.")
        places = self._mask().nonzero()[0][PAGE * number : PAGE * (number + 1)]
        return self._answers.iloc[places][list(LISTED)]

    def _mask(self, but: str = "") -> np.ndarray[Any, np.dtype[np.bool_]]:
        import numpy as np

        mask = np.ones(len(self._answers), dtype=bool)
        for facet, values in self._chosen.items():
            if facet != but:
                mask &= self._answers[facet].isin(values).to_numpy()
        if self.text:
            mask &= self._questions.str.contains(self.text.lower(), regex=False).to_numpy(dtype=bool)
        return mask

    def __repr__(self) -> str:
        return f"{int(self._mask().sum())} of {len(self._answers)} answers, filter {self.filter()}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(repr(self))}</p>{self.page().to_html(index=False, escape=True, na_rep='')}"


def _is_part(name: str, value: Any) -> bool:
    if name == "text":
        return isinstance(value, str)
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
