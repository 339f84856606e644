"""Downloading over https with resume: a partial file that only ever grows with bytes of the same version of the same archive."""

from __future__ import annotations

import ipaddress
import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import write_atomic
from longbanana_nb.release.archive import MAX_BYTES

if TYPE_CHECKING:
    import requests

ATTEMPTS = 6
_TIMEOUT_S = (15, 60)
_BLOCK = 1 << 18
_HOPS = 8
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class _OtherPartError(Exception):
    """The server answered with bytes that do not continue ours; ours are given up."""


class _BrokenError(Exception):
    """The connection failed or ended early; what came is kept, and the next attempt goes on from there."""


@dataclass(frozen=True, slots=True)
class _Partial:
    """The growing file, and the version (ETag) and full size of what it is a part of."""

    file: Path

    @property
    def note(self) -> Path:
        return self.file.with_name(f"{self.file.name}.json")

    def state(self, url: str) -> tuple[int, str | None]:
        """How many bytes are there, and of which version; zero if they are of another address."""
        if not self.file.is_file() or not self.note.is_file():
            return 0, None
        try:
            note = json.loads(self.note.read_text("utf-8"))
        except ValueError:  # the note was not finished: nothing says what the bytes are, so they do not count
            return 0, None
        return (self.file.stat().st_size, note.get("etag")) if note.get("url") == url else (0, None)

    def describe(self, url: str, etag: str | None) -> None:
        write_atomic(self.note, json.dumps({"url": url, "etag": etag}).encode())


def download(url: str, file: Path, *, pause_s: float = 1.0) -> None:
    """Bring `url` to `file`, going on from what an earlier, broken download left there.

    A server that ignores ranges, or that now has another version, makes it start anew. Its bytes are not verified here.

    Raises:
        CallError: for an address that is neither https nor plain http to this machine.
        DataError: when the server refuses, or breaks off six times in a row without one more byte.
    """
    import requests
    from urllib3.exceptions import HTTPError

    partial, failures = _Partial(file), 0
    with requests.Session() as session:
        while True:
            before, _ = partial.state(url)
            try:
                _go_on(session, url, partial)
            except (_BrokenError, HTTPError, requests.RequestException) as error:
                have, _ = partial.state(url)
                failures = 0 if have > before else failures + 1
                if failures == ATTEMPTS:
                    found = f"{have} bytes, then {ATTEMPTS} attempts without one more ({_plain(error)})"
                    fix = "Run the same command again when the connection is better: it goes on from there."
                    raise _fault(url, "transport", found, "the whole archive", fix) from None
                time.sleep(min(pause_s * 2**failures, 30))
            else:
                partial.note.unlink(missing_ok=True)
                return


def read_small(url: str, limit: int = 1 << 20) -> bytes:
    """The bytes of a small text such as SHA256SUMS.

    Raises:
        DataError: if it cannot be had or is larger than `limit`.
    """
    import requests

    try:
        with requests.Session() as session, _open(session, url, {}) as response:
            if response.status_code != 200:
                raise _fault(url, "transport", f"status {response.status_code}", "200", "Check the address.")
            text = b""
            for block in response.iter_content(_BLOCK):
                text += block
                if len(text) > limit:
                    raise _fault(url, "too_large", f"more than {limit} bytes", "a short list of hashes", "Check the address.")
            return text
    except requests.RequestException as error:
        raise _fault(url, "transport", _plain(error), "an answer", "Check the connection and the address.") from None


def require_safe(url: str) -> None:
    """Raise CallError unless the address is https, or plain http to this very machine."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise CallError(f"an address: found one that cannot be read ({error}); expected https. Correct the address.") from None
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname and _is_loopback(parts.hostname):
        return
    raise CallError(f"{shown_url(url)}: found {parts.scheme or 'no scheme'}; expected https. Use an https address or a file.")


def shown_url(url: str) -> str:
    """An address without what may be secret in it: user, password, query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rsplit('@', 1)[-1]}{parts.path}"


def _go_on(session: requests.Session, url: str, partial: _Partial) -> None:
    have, etag = partial.state(url)
    headers = {"Range": f"bytes={have}-"} if have else {}
    if have and etag and not etag.startswith("W/"):
        headers["If-Range"] = etag
    with _open(session, url, headers) as response:
        try:
            start, total = _place(url, response, have, etag)
        except _OtherPartError as error:
            partial.file.unlink(missing_ok=True)
            raise _BrokenError(str(error)) from None
        if start is None:
            return
        if total is not None:
            _require_room(url, total, start, partial.file)
        if start == 0:
            partial.file.unlink(missing_ok=True)
            partial.describe(url, response.headers.get("ETag"))
        end = _append(url, response, partial.file, start)
    if total is not None and end < total:
        raise _BrokenError(f"the connection ended at {end} of {total} bytes")
    if total is not None and end > total:
        partial.file.unlink()
        raise _BrokenError(f"{end} bytes where {total} were announced")


def _place(url: str, response: requests.Response, have: int, etag: str | None) -> tuple[int | None, int | None]:
    """Where the bytes of an answer belong, and the full size if it is told; (None, ...) if all are there already."""
    status = response.status_code
    if status == 206:
        match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        changed = etag is not None and response.headers.get("ETag", etag) != etag
        if match and int(match[1]) == have and not changed:
            return have, None if match[3] == "*" else int(match[3])
        raise _OtherPartError(f"another part than asked for ({response.headers.get('Content-Range')})")
    if status == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdecimal() else None
    if status == 416 and have and response.headers.get("Content-Range") == f"bytes */{have}":
        return None, have
    if status == 416 and have:
        raise _OtherPartError("no such part")
    if status in (408, 429) or status >= 500:
        raise _BrokenError(f"status {status}")
    raise _fault(url, "transport", f"status {status}", "200 or 206", "Check the name of the release and the address.")


def _append(url: str, response: requests.Response, file: Path, start: int) -> int:
    from tqdm import tqdm

    announced = response.headers.get("Content-Length", "")
    total = start + int(announced) if announced.isdecimal() else None
    with (
        file.open("ab") as out,
        tqdm(desc="download", total=total, initial=start, unit="B", unit_scale=True, disable=None) as bar,
    ):
        end = out.tell()
        while block := response.raw.read1(_BLOCK, decode_content=False):  # what has come, also if the rest will not
            end += len(block)
            if end > MAX_BYTES:
                raise _fault(url, "too_large", f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES}", "Check the address.")
            out.write(block)
            bar.update(len(block))
    return end


def _require_room(url: str, total: int, start: int, file: Path) -> None:
    if total > MAX_BYTES:
        raise _fault(url, "too_large", f"{total} bytes", f"at most {MAX_BYTES}", "Check the address.")
    free = shutil.disk_usage(file.parent).free
    if free < 2 * total - start:
        expected = f"{2 * total - start} bytes free in {file.parent.parent}, for the archive and what it holds"
        raise _fault(url, "disk", f"{free} bytes free", expected, "Free some space or choose another folder.")


def _open(session: requests.Session, url: str, headers: dict[str, str]) -> requests.Response:
    """Ask for an address, following redirections only to addresses that are as safe."""
    plain = {"Accept-Encoding": "identity", **headers}
    for _ in range(_HOPS):
        require_safe(url)
        response = session.get(url, headers=plain, stream=True, timeout=_TIMEOUT_S, allow_redirects=False)
        if not response.is_redirect:
            return response
        response.close()
        try:
            target = urljoin(url, response.headers["Location"])
        except ValueError as error:
            raise _fault(
                url, "transport", f"a redirection that is no address ({error})", "the archive", "Tell its owner."
            ) from None
        url = target
    raise _fault(url, "transport", f"more than {_HOPS} redirections", "the archive", "Check the address.")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _plain(error: Any) -> str:
    """An error of the network without the address, which may hold a secret."""
    return re.sub(r"https?://\S+", "(address)", f"{type(error).__name__}: {error}")[:200]


def _fault(url: str, code: str, found: str, expected: str, fix: str) -> DataError:
    return DataError("The download failed.", [Fault(shown_url(url), code, found, expected, fix)])
