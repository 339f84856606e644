"""Downloads against a real server on this machine: cut connections, ignored ranges, changed and wrong bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from release_fixtures import small_release
from test_release_archive import compress, member, members_of, names, plain_tar

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.release import fetch_release
from longbanana_nb.release.download import download
from longbanana_nb.release.fetching import archive_url


class Site(ThreadingHTTPServer):
    """One archive and its SHA256SUMS; `cuts` says after how many bytes to hang up, request by request."""

    daemon_threads = True

    def __init__(self, archive: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.archive, self.etag = archive, '"v1"'
        self.sums = f"{hashlib.sha256(archive).hexdigest()}  tiny.tar.zst\n".encode()
        self.cuts: list[int] = []
        self.ignores_ranges = False
        self.asked: list[str | None] = []
        self.statuses: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/data/tiny.tar.zst"


class _Handler(BaseHTTPRequestHandler):
    server: Site
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        site = self.server
        if self.path.endswith("SHA256SUMS"):
            return self.answer(200, site.sums, {})
        if self.path.startswith("/away"):
            return self.answer(302, b"", {"Location": "http://example.org/tiny.tar.zst"})
        if not self.path.endswith("tiny.tar.zst"):
            return self.answer(404, b"no", {})
        asked = self.headers.get("Range")
        site.asked.append(asked)
        if site.statuses:
            return self.answer(site.statuses.pop(0), b"later", {})
        fresh = self.headers.get("If-Range") in (None, site.etag)
        if asked and fresh and not site.ignores_ranges:
            start = int(asked.removeprefix("bytes=").rstrip("-"))
            stated = f"bytes {start}-{len(site.archive) - 1}/{len(site.archive)}"
            return self.answer(206, site.archive[start:], {"ETag": site.etag, "Content-Range": stated})
        return self.answer(200, site.archive, {"ETag": site.etag})

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        cut = self.server.cuts.pop(0) if self.server.cuts and status in (200, 206) and len(body) > 1000 else None
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    members = members_of(small_release(tmp_path / "made").parent)
    server = Site(compress(plain_tar([*members, member("tiny/noise.bin", os.urandom(400_000))])))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    with contextlib.closing(server.socket):
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longbanana_nb.release.download.time.sleep", lambda seconds: None)


def test_a_cut_connection_is_resumed_where_it_broke(tmp_path: Path, site: Site) -> None:
    site.cuts = [150_000, 100_000]
    folder = fetch_release("tiny", to=tmp_path / "to", source=site.url)
    assert (folder / "manifest.json").is_file()
    assert site.asked == [None, "bytes=150000-", "bytes=250000-"]
    assert names(tmp_path / "to") == ["tiny"]


def test_a_server_that_ignores_ranges_is_read_anew(tmp_path: Path, site: Site) -> None:
    site.cuts, site.ignores_ranges = [150_000], True
    assert fetch_release("tiny", to=tmp_path / "to", source=site.url).is_dir()
    assert site.asked == [None, "bytes=150000-"]


def test_bytes_of_two_versions_are_never_joined(tmp_path: Path, site: Site) -> None:
    site.cuts = [150_000] + [0] * 10
    with pytest.raises(DataError, match="goes on from there"):
        fetch_release("tiny", to=tmp_path / "to", source=site.url)
    site.cuts, site.etag = [], '"v2"'
    assert fetch_release("tiny", to=tmp_path / "to", source=site.url).is_dir()
    assert site.asked[-1] == "bytes=150000-"


def test_a_later_call_goes_on_from_a_broken_download(tmp_path: Path, site: Site) -> None:
    site.cuts = [150_000] + [0] * 10
    with pytest.raises(DataError, match="150000 bytes"):
        fetch_release("tiny", to=tmp_path / "to", source=site.url)
    assert names(tmp_path / "to") == [".tiny.fetch"]
    site.cuts, site.asked = [], []
    fetch_release("tiny", to=tmp_path / "to", source=site.url)
    assert (site.asked, names(tmp_path / "to")) == (["bytes=150000-"], ["tiny"])


def test_a_wrong_hash_is_refused_and_leaves_nothing(tmp_path: Path, site: Site) -> None:
    site.sums = f"{'0' * 64}  tiny.tar.zst\n".encode()
    with pytest.raises(DataError, match="as SHA256SUMS says"):
        fetch_release("tiny", to=tmp_path / "to", source=site.url)
    assert names(tmp_path / "to") == []


def test_a_busy_server_is_asked_again_and_a_missing_page_is_not(tmp_path: Path, site: Site) -> None:
    site.statuses = [503, 429]
    assert fetch_release("tiny", to=tmp_path / "to", source=site.url).is_dir()
    with pytest.raises(DataError, match="status 404"):
        download(site.url.replace("tiny", "none"), tmp_path / "none")


def test_an_archive_larger_than_the_disk_is_not_begun(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = __import__("shutil").disk_usage(tmp_path)
    monkeypatch.setattr("longbanana_nb.release.download.shutil.disk_usage", lambda path: usage._replace(free=1000))
    with pytest.raises(DataError, match="1000 bytes free"):
        fetch_release("tiny", to=tmp_path / "to", source=site.url)
    assert names(tmp_path / "to") == []


@pytest.mark.parametrize("url", ["http://example.org/x.tar.zst", "ftp://127.0.0.1/x.tar.zst", "file:///etc/x.tar.zst"])
def test_plain_http_is_for_this_machine_only(tmp_path: Path, url: str) -> None:
    with pytest.raises(CallError, match="expected https"):
        fetch_release("tiny", to=tmp_path / "to", source=url)


def test_a_redirection_does_not_lead_to_plain_http(tmp_path: Path, site: Site) -> None:
    with pytest.raises(CallError, match="expected https"):
        download(site.url.replace("/data/", "/away/"), tmp_path / "x")


def test_the_default_address_is_the_public_page_and_the_endpoint_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert archive_url("open_v1") == "https://huggingface.co/datasets/hooccee/Longbanana/resolve/main/open_v1.tar.zst"
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/hub/")
    assert archive_url("open_v1") == "https://mirror.example/hub/datasets/hooccee/Longbanana/resolve/main/open_v1.tar.zst"


def test_secrets_in_an_address_stay_out_of_messages(tmp_path: Path, site: Site) -> None:
    secret = site.url.replace("http://", "http://user:pass@").replace("tiny", "none") + "?token=abc"
    with pytest.raises(DataError) as caught:
        download(secret, tmp_path / "x")
    assert "pass" not in str(caught.value)
    assert "abc" not in str(caught.value)
