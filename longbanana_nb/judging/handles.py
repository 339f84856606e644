"""What lies with a provider for us: uploads and batches, written down so that a kill loses nothing and repeats nothing."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sha256_bytes
from longbanana_nb.runs.journal import Journal

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model

FILE = "handles.jsonl"


class Made(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the bytes of an upload were made from and what they are; `by` names the version of what decoded and encoded."""

    source_sha256: str
    transcode: tuple[str, int]
    by: str
    mime: str
    width: int
    height: int
    done: tuple[str, ...]


class HandleLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """One line of handles.jsonl.

    An upload has an `intent` before it begins, with its name (`label`), and `handed_in` with the provider's handle; `lost`
    when a kill came between and the provider has nothing of that name. Of a whole picture `handed_in` says what it was made
    from, so that it need not be opened again. A batch has an `intent` before it is handed in, with the keys of its judgments by
    the id of their request; `handed_in` with the provider's handle; `read` when its answers are in the journals, or `lost` when
    it turned out never to have reached the provider.
    """

    kind: Literal["upload", "batch"]
    event: Literal["intent", "handed_in", "read", "lost"]
    at: str
    account: str
    handle: str = ""
    sha256: str = ""
    expires_at: str | None = None
    label: str = ""
    judge: str = ""
    judge_sha256: str = ""
    call: int = 0
    items: dict[str, list[str]] = {}
    bytes: int = 0  # of an upload
    made: Made | None = None


@dataclass(slots=True)
class OpenBatch:
    """A batch whose answers are not in the journals yet; `handle` is "" where a kill came before it was written down."""

    label: str
    at: str
    call: int
    items: dict[str, list[str]]
    handle: str = ""


@dataclass(slots=True)
class Handles:
    """The handles of one account: of this run, and of other runs for uploads."""

    journal: Journal
    account: str
    uploads: dict[str, HandleLine] = field(default_factory=dict)  # by SHA-256 of the bytes sent, the newest
    begun: dict[str, HandleLine] = field(default_factory=dict)  # the same, intents of this run without an end
    known: set[str] = field(default_factory=set)  # handles of all batches ever written down here

    def take(self, line: HandleLine) -> None:
        """Count a line of an upload of this account."""
        if line.event == "intent":
            self.begun[line.sha256] = line
            return
        self.begun.pop(line.sha256, None)
        if line.event == "handed_in":
            self.uploads[line.sha256] = line

    def batches_of(self, judge: str, judge_sha256: str) -> list[OpenBatch]:
        """The judge's open batches, in the order they were begun."""
        found: dict[str, OpenBatch] = {}
        for line in read_handles(self.journal.path):
            if line.kind != "batch" or (line.judge, line.judge_sha256, line.account) != (judge, judge_sha256, self.account):
                continue
            if line.event == "intent":
                found[line.label] = OpenBatch(line.label, line.at, line.call, line.items)
            elif line.event == "handed_in" and line.label in found:
                found[line.label].handle = line.handle
            else:
                found.pop(line.label, None)
        return list(found.values())


def open_handles(run_path: Path, reuse: Iterable[str | Path], account: str) -> Handles:
    """The handles of a run, with the uploads that other runs left with the same account.

    Raises:
        DataError: where a file of handles cannot be read.
    """
    handles = Handles(Journal(run_path / FILE), account)
    for path in [*(Path(other) / FILE for other in reuse), handles.journal.path]:
        handles.begun.clear()  # what another run began is its own to end
        for line in read_handles(path):
            if line.kind == "batch" and line.handle:
                handles.known.add(line.handle)
            elif line.kind == "upload" and line.account == account:
                handles.take(line)
    return handles


def read_handles(path: Path) -> list[HandleLine]:
    """The lines of a handles.jsonl, none where there is no file; DataError where one is broken."""
    try:
        return msgspec.json.Decoder(HandleLine).decode_lines(Journal(path).read())
    except (msgspec.DecodeError, ValueError) as error:
        fault = Fault(str(path), "handle", str(error), "one upload or batch event a line", "Restore the file from a copy.")
        raise DataError("A journal of handles cannot be read.", [fault]) from None


def account_of(model: Model, key: str | None) -> str:
    """A name for where uploads lie: provider, route, address, and who pays. Nothing of the key can be read from it."""
    mark = sha256_bytes(f"longbanana account\n{model.base_url}\n{key}".encode())[:12]
    return f"{model.provider}/{model.route}/{mark}"


def is_fresh(expires_at: str | None, needed_s: float) -> bool:
    """Whether what expires then is still there in so many seconds."""
    if expires_at is None:
        return True
    return dt.datetime.fromisoformat(expires_at) > dt.datetime.now(dt.UTC) + dt.timedelta(seconds=needed_s)


def encoded(line: HandleLine) -> bytes:
    """The line without its newline."""
    return msgspec.json.encode(line)
