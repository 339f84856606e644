"""Annotating a release that states no units and probes: by rule, by a text model where asked for, and by what people review."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError, Incomplete
from longbanana_nb.judging.annotate.asking import Annotating, ask_about
from longbanana_nb.judging.annotate.drafts import (
    MODEL_DRAFTS,
    Draft,
    ModelDraft,
    Overlay,
    all_checks,
    draft_from_words,
    draft_key,
    lay_over,
    merged,
    model_drafts,
    read_overlay,
)
from longbanana_nb.judging.annotate.reviewing import cells_of, reviewed_drafts
from longbanana_nb.judging.annotate.rules import meaning_of_pass
from longbanana_nb.judging.bills import Tariff
from longbanana_nb.judging.desk import Desk, Flight
from longbanana_nb.judging.prompting import prompt
from longbanana_nb.providers.retry import Retry
from longbanana_nb.release.annotations import overlay_folder
from longbanana_nb.runs import Budget, Ledger, graceful_stop
from longbanana_nb.runs.commits import committing
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judge_spec import Sending
from longbanana_nb.runs.ledger import spent_on
from longbanana_nb.runs.own_loop import in_own_loop
from longbanana_nb.runs.progress import progress_bar

if TYPE_CHECKING:
    from longbanana_nb.providers.contracts import Adapter
    from longbanana_nb.providers.prices import Price
    from longbanana_nb.release import Check, Release
    from longbanana_nb.runs.judge_spec import JudgeModel

CALLS = "calls.jsonl"
IN_FLIGHT_BYTES = 200_000_000


@dataclass(frozen=True, slots=True)
class TextModel:
    """A text model at hand: its spec, how to reach it, and its price (None: unknown)."""

    spec: JudgeModel
    connect: Callable[[], Adapter]
    price: Price | None


@dataclass(slots=True)
class Annotated:
    """What an overlay holds now, and what it took."""

    folder: Path
    checks: int
    units: int = 0
    probes: int = 0
    reviewed: int = 0
    by_model: int = 0
    spent_usd: float | None = 0.0
    sheet: list[dict[str, str]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """A few lines for people."""
        spent = "at a price that is unknown" if self.spent_usd is None else f"for ${self.spent_usd:.2f}"
        lines = [
            f"{self.folder}",
            f"{self.units} of {self.checks} checks have a dimension and polarity, {self.probes} have a probe; "
            f"{self.reviewed} are reviewed, the others are derived and called so wherever they show.",
        ]
        return "\n".join([*lines, f"{self.by_model} were drafted by a text model {spent}."] if self.by_model else lines)


def annotate_release(
    release: Release,
    *,
    model: TextModel | None = None,
    reviewed: Iterable[Mapping[str, str]] = (),
    folder: Path | None = None,
    max_usd: float | None = None,
    concurrency: int = 8,
    retry: Retry | None = None,
) -> Annotated:
    """Derive dimension, polarity and probes of a release into its overlay.

    Rules go first and propose only what the words say surely. A text model is asked about every check to which a rule left
    something open, once. Lines that people reviewed are never changed by either.

    Args:
        reviewed: rows of a review sheet; those that were changed, or marked as reviewed, become reviewed lines.
        folder: where the overlay goes; None is the release's own place in the annotations folder.

    Raises:
        CallError: where the release states its own units. DataError: naming every row of the sheet that cannot be used.
        Incomplete: where a budget or an interruption left checks unasked; the overlay holds what there is.
    """
    own = release.evaluation()
    if any(unit.source == "units" for unit in own.units.values()):
        raise CallError(f"{release.manifest}: the release states its own units and probes; there is nothing to derive.")
    checks, folder = all_checks(own), folder or overlay_folder(release.name, release.revision)
    folder.mkdir(parents=True, exist_ok=True)
    overlay, rows = read_overlay(folder), list(reviewed)
    unfinished = None
    if model is not None:
        unfinished = _ask(checks, overlay, model, folder, (max_usd, concurrency, retry or Retry()))
    drafts = _drafts(checks, folder, model)
    lay_over(overlay, drafts.values())
    lay_over(overlay, reviewed_drafts(rows, overlay, {(check.case_id, check.check_id): check for check in checks}), "reviewed")
    overlay.write((check.case_id, check.check_id) for check in checks)
    done = _summary(overlay, checks, drafts, folder, model)
    if unfinished is not None:
        raise Incomplete(f"{done.text}\n{unfinished}")
    return done


def _drafts(checks: list[Check], folder: Path, model: TextModel | None) -> dict[tuple[str, str], Draft]:
    """The draft of each check: the rules', and where they left something open this model's, or without one an earlier one's."""
    said = model_drafts(folder)
    by_check: dict[tuple[str, str], ModelDraft] = {(one.case_id, one.check_id): one for one in said.values()}
    if model is not None:
        by_check = {(check.case_id, check.check_id): said[key] for check in checks if (key := _key(check, model)) in said}
    return {
        (check.case_id, check.check_id): merged(draft_from_words(check), by_check.get((check.case_id, check.check_id)))
        for check in checks
    }


def _key(check: Check, model: TextModel) -> str:
    return draft_key(check, model.spec.model_dump(mode="json"), prompt("annotate").sha256)


def _ask(
    checks: list[Check], overlay: Overlay, model: TextModel, folder: Path, limits: tuple[float | None, int, Retry]
) -> str | None:
    """Ask about what is open; returns why some was left unasked, None where none was."""
    max_usd, concurrency, retry = limits
    known = model_drafts(folder)
    settled = {key for key, one in known.items() if one.invalid not in ("transport",)}
    wanted = [
        (key, check)
        for check in checks
        if not overlay.is_reviewed((check.case_id, check.check_id))
        and _leaves_open(draft_from_words(check))
        and (key := _key(check, model)) not in settled
    ]
    if not wanted:
        return None
    if max_usd is not None and model.price is None:
        raise CallError(
            f"The price of {model.spec.id} is unknown, so a limit of ${max_usd:g} cannot be kept. Leave the limit out."
        )
    before = spent_on(folder / CALLS)
    budget = Budget(max_usd, before.usd + before.open_usd)
    with graceful_stop() as stop, progress_bar("annotate", len(wanted)) as bar:

        async def work() -> None:
            adapter = model.connect()
            async with committing() as commits:
                desk = Desk(
                    adapter, adapter.model, Sending(), retry, Tariff(adapter.model, model.price), Ledger(folder / CALLS), budget,
                    commits, Flight(IN_FLIGHT_BYTES), stop, role="annotate",
                )  # fmt: skip
                try:
                    asked = Annotating(desk, dict(model.spec.params), Journal(folder / MODEL_DRAFTS), concurrency)
                    await ask_about(asked, wanted, lambda: bar.update(1))
                finally:
                    await adapter.close()

        try:
            in_own_loop(work)
        except Incomplete as why:
            return str(why)
        if stop():
            return f"Stopped by {stop.signal_name}; what was answered is kept. Run the same command again to go on from there."
    return None


def _leaves_open(draft: Draft) -> bool:
    return not draft.has_unit or draft.probe is None


def _summary(
    overlay: Overlay, checks: list[Check], drafts: Mapping[tuple[str, str], Draft], folder: Path, model: TextModel | None
) -> Annotated:
    keys = [(check.case_id, check.check_id) for check in checks]
    spent = spent_on(folder / CALLS).usd
    return Annotated(
        folder,
        len(checks),
        units=sum(key in overlay.units for key in keys),
        probes=sum(key in overlay.probes for key in keys),
        reviewed=sum(overlay.is_reviewed(key) for key in keys),
        by_model=sum(draft.by == "model" for draft in drafts.values()),
        spent_usd=None if model is not None and model.price is None else spent,
        sheet=[_sheet_row(check, drafts[key], overlay) for check, key in zip(checks, keys, strict=True)],
    )


def _sheet_row(check: Check, draft: Draft, overlay: Overlay) -> dict[str, str]:
    key = (check.case_id, check.check_id)
    reviewed = overlay.is_reviewed(key)
    cells = {name: value or "" for name, value in cells_of(overlay, key).items()}
    return {
        "case_id": check.case_id,
        "check_id": check.check_id,
        "reviewed": "yes" if reviewed else "",
        **cells,
        "by": "reviewed" if reviewed else draft.by,
        "look_here": draft.doubt or ("" if draft.has_unit else "no dimension or polarity"),
        "cues": "; ".join(draft.cues),
        "question": check.question,
        "guide": check.guide or "",
        "pass_means": meaning_of_pass(check) or "",
        "reference_ids": " ".join(check.reference_ids),
    }
