"""Archives, lists of hashes and addresses that are odd rather than plainly bad: said rightly, and nothing left behind."""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

import pytest
from release_fixtures import small_release
from test_release_archive import Members, compress, member, members_of, names, plain_tar, publish

from longbanana_nb.cli import main
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.release import fetch_release


@pytest.fixture
def good(tmp_path: Path) -> Members:
    return members_of(small_release(tmp_path / "source").parent)


@pytest.mark.parametrize(
    ("added", "code"),
    [
        ([member("tiny/a"), member("tiny/a/b")], "duplicate"),
        ([member("tiny/a/b"), member("tiny/a")], "duplicate"),
        ([member("tiny/a", b""), member("tiny/a/", b"", tarfile.DIRTYPE)], "path"),
        ([member("tiny/" + "n" * 256)], "path"),
        ([member("tiny/" + "d/" * 600 + "x")], "path"),
        ([member("tiny/" + "\u00e9" * 130)], "path"),
    ],
)
def test_names_that_cannot_lie_side_by_side_are_the_archives_fault(
    tmp_path: Path, good: Members, added: Members, code: str
) -> None:
    archive = publish(tmp_path / "pub", compress(plain_tar(good + added)))
    with pytest.raises(DataError) as refused:
        fetch_release("tiny", source=archive, to=tmp_path / "to")
    assert [fault.code for fault in refused.value.faults] in ([code], ["duplicate"])
    assert "Free some space" not in str(refused.value)
    assert names(tmp_path / "to") == []


@pytest.mark.parametrize(
    "line",
    ["{h}  tiny.tar.zst\r\n", "{h} *tiny.tar.zst\n", "{H}  tiny.tar.zst", "\ufeff{h}  tiny.tar.zst\n", "{h}  ./tiny.tar.zst\n"],
)
def test_lists_of_hashes_are_read_as_tools_write_them(tmp_path: Path, good: Members, line: str) -> None:
    archive = publish(tmp_path / "pub", compress(plain_tar(good)))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    (tmp_path / "pub" / "SHA256SUMS").write_bytes(line.format(h=digest, H=digest.upper()).encode())
    assert fetch_release("tiny", source=archive, to=tmp_path / "to") == tmp_path / "to" / "tiny"


@pytest.mark.parametrize("address", ["https://[::1", "https://[x]/tiny.tar.zst", "https://", "file:///tmp/tiny.tar.zst"])
def test_an_address_that_is_none_is_a_bad_call(tmp_path: Path, address: str) -> None:
    with pytest.raises(CallError, match="expected https"):
        fetch_release("tiny", source=address, to=tmp_path / "to")
    assert main(["fetch", "tiny", "--from", address, "--to", str(tmp_path / "to")]) == 2


def test_an_archive_that_is_no_plain_file_is_not_waited_for(tmp_path: Path) -> None:
    for source in (Path("/dev/zero"), tmp_path):
        with pytest.raises(DataError, match="no regular file"):
            fetch_release("tiny", source=source, to=tmp_path / "to")
