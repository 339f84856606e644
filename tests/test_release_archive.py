"""Archives: what is good arrives whole; what is hostile or damaged is refused and leaves nothing."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from release_fixtures import small_release

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.release import fetch_release, load_release
from longbanana_nb.release.archive import Limits

Members = list[tuple[tarfile.TarInfo, bytes]]


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def plain_tar(members: Members) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            info.size = len(data) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def member(name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info, data


def members_of(folder: Path) -> Members:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [member(path.relative_to(folder.parent).as_posix(), path.read_bytes()) for path in files]


def publish(folder: Path, packed: bytes, name: str = "tiny") -> Path:
    folder.mkdir(exist_ok=True)
    archive = folder / f"{name}.tar.zst"
    archive.write_bytes(packed)
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  other.tar.zst\n{hashlib.sha256(packed).hexdigest()}  {archive.name}\n")
    return archive


def compress(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


@pytest.fixture
def good(tmp_path: Path) -> Members:
    return members_of(small_release(tmp_path / "made").parent)


def refused(tmp_path: Path, packed: bytes, words: str, limits: Limits | None = None) -> None:
    archive = publish(tmp_path / "published", packed)
    with pytest.raises(DataError, match=words):
        fetch_release("tiny", to=tmp_path / "to", source=archive, limits=limits)
    assert names(tmp_path / "to") == []
    assert sorted(names(tmp_path / "published")) == ["SHA256SUMS", "tiny.tar.zst"]


def test_a_good_archive_arrives_whole_and_is_loaded(tmp_path: Path, good: Members) -> None:
    archive = publish(tmp_path / "published", compress(plain_tar(good)))
    folder = fetch_release("tiny", to=tmp_path / "to", source=archive)
    assert folder == tmp_path / "to" / "tiny"
    assert names(tmp_path / "to") == ["tiny"]
    assert list(load_release(folder / "manifest.json").cases) == ["case_a", "case_b"]


def test_what_stands_there_is_said_and_kept(tmp_path: Path, good: Members) -> None:
    archive = publish(tmp_path / "published", compress(plain_tar(good)))
    folder = fetch_release("tiny", to=tmp_path / "to", source=archive)
    manifest = folder / "manifest.json"
    said: list[str] = []
    before = manifest.stat().st_mtime_ns
    assert fetch_release("tiny", to=tmp_path / "to", source=archive, say=said.append) == folder
    assert "already" in said[0]
    (manifest.parent / "LICENSE.txt").write_text("changed")
    with pytest.raises(DataError, match="left as it is"):
        fetch_release("tiny", to=tmp_path / "to", source=archive)
    assert (manifest.stat().st_mtime_ns, (manifest.parent / "LICENSE.txt").read_text()) == (before, "changed")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../evil.txt", r"'\.\.'"),
        ("tiny/../../evil.txt", r"'\.\.'"),
        ("/etc/evil", "absolute"),
        ("tiny/img\\a.png", "backslash"),
        ("C:/evil.txt", "drive letter"),
        ("other/a.txt", "only paths under tiny/"),
        ("tiny2/a.txt", "only paths under tiny/"),
        ("tiny/./a.txt", "empty part"),
        ("tiny", "as a file"),
        ("tiny/LICENSE.txt", "beside 'tiny/LICENSE.txt'"),
        ("tiny/license.TXT", "beside 'tiny/LICENSE.txt'"),
        ("tiny/Public/extra.txt", "beside 'tiny/public'"),
        ("tiny/a\nb", "control character"),
    ],
)
def test_members_with_bad_names_are_refused(tmp_path: Path, good: Members, name: str, words: str) -> None:
    refused(tmp_path, compress(plain_tar([*good, member(name)])), words)
    assert not (tmp_path / "evil.txt").exists()


def test_unicode_equal_names_are_duplicates(tmp_path: Path, good: Members) -> None:
    pair = [member("tiny/caf\u00e9.txt"), member("tiny/cafe\u0301.txt")]
    refused(tmp_path, compress(plain_tar([*good, *pair])), "differ by more than case or form")


@pytest.mark.parametrize(
    ("kind", "link", "words"),
    [
        (tarfile.SYMTYPE, "/etc", "a link"),
        (tarfile.LNKTYPE, "tiny/LICENSE.txt", "a link"),
        (tarfile.CHRTYPE, "", "special file"),
        (tarfile.FIFOTYPE, "", "special file"),
        (tarfile.GNUTYPE_SPARSE, "", "refused"),
    ],
)
def test_only_files_and_folders_are_unpacked(tmp_path: Path, good: Members, kind: bytes, link: str, words: str) -> None:
    refused(tmp_path, compress(plain_tar([*good, member("tiny/x", b"", kind, link)])), words)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda plain: compress(plain)[:-9], "ends in the middle"),
        (lambda plain: compress(plain[: -len(plain) % 512 - 10240]), "end-of-archive|unexpected end|cut"),
        (lambda plain: compress(plain[: len(plain.rstrip(b"\0")) + 511 & ~511]), "no end-of-archive mark"),
        (lambda plain: compress(plain[: (len(plain.rstrip(b"\0")) + 511 & ~511) + 512]), "half an end-of-archive mark"),
        (lambda plain: compress(plain) + b"garbage here", "damaged archive"),
        (lambda plain: compress(plain + b"hidden"), "after the end"),
        (lambda plain: plain, "damaged archive"),
        (lambda plain: b"", "damaged archive"),
        (lambda plain: compress(b""), "damaged archive"),
        (lambda plain: compress(b"\0" * 10240), "no member"),
        (lambda plain: compress(plain[:100] + b"\xff" * 30 + plain[130:]), "damaged"),
    ],
)
def test_damaged_archives_are_refused(tmp_path: Path, good: Members, spoil: Callable[[bytes], bytes], words: str) -> None:
    refused(tmp_path, spoil(plain_tar(good)), words)


def test_a_damaged_header_in_the_middle_is_no_early_end(tmp_path: Path, good: Members) -> None:
    plain = bytearray(plain_tar(good))
    second = 512 + -(-len(good[0][1]) // 512) * 512
    assert plain[second : second + 5] == b"tiny/"
    plain[second + 1] ^= 1
    refused(tmp_path, compress(bytes(plain)), "damaged header")


def test_limits_count_what_comes_and_not_what_headers_claim(tmp_path: Path, good: Members) -> None:
    refused(tmp_path, compress(plain_tar(good)), "more than 3 members", Limits(members=3))
    refused(tmp_path, compress(plain_tar(good)), "more than 500 bytes", Limits(bytes=500))
    bomb = compress(plain_tar([*good, member("tiny/zeros", bytes(40_000_000))]))
    assert len(bomb) < 60_000
    refused(tmp_path, bomb, "more than 10000000 bytes", Limits(members=10, bytes=10_000_000))


def test_a_window_that_wants_too_much_memory_is_refused(tmp_path: Path, good: Members) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(1, window_log=28)
    wide = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    refused(tmp_path, wide.compress(plain_tar(good)) + wide.flush(), "damaged archive")


def test_several_frames_make_one_archive(tmp_path: Path, good: Members) -> None:
    plain = plain_tar(good)
    archive = publish(tmp_path / "published", compress(plain[:3000]) + compress(plain[3000:]))
    assert fetch_release("tiny", to=tmp_path / "to", source=archive).is_dir()


def test_nothing_is_unpacked_before_the_hash_holds(tmp_path: Path, good: Members) -> None:
    archive = publish(tmp_path / "published", compress(plain_tar(good)))
    sums = archive.with_name("SHA256SUMS")
    stated = sums.read_text()
    for text, words in (
        (stated.replace("tiny.tar.zst", "tiny.tar"), "no line for tiny.tar.zst"),
        (f"{'1' * 64}  tiny.tar.zst\n", "as SHA256SUMS says"),
        (stated + f"{'1' * 64}  tiny.tar.zst\n", "2 different hashes"),
    ):
        sums.write_text(text)
        with pytest.raises(DataError, match=words):
            fetch_release("tiny", to=tmp_path / "to", source=archive)
    sums.unlink()
    with pytest.raises(DataError, match="SHA256SUMS beside the archive"):
        fetch_release("tiny", to=tmp_path / "to", source=archive)
    assert not (tmp_path / "to").exists() or names(tmp_path / "to") == []


def test_an_invalid_release_is_not_kept(tmp_path: Path) -> None:
    manifest = small_release(tmp_path / "made")
    (manifest.parent / "LICENSE.txt").write_text("changed")
    refused(tmp_path, compress(plain_tar(members_of(manifest.parent))), "holds no valid release")


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "x" * 65])
def test_release_names_that_are_no_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CallError, match="release name"):
        fetch_release(name, to=tmp_path, source=tmp_path / "x.tar.zst")


def test_a_killed_fetch_is_cleaned_up_by_the_next(tmp_path: Path, good: Members) -> None:
    noise = [member(f"tiny/extra/{n}.bin", os.urandom(200_000)) for n in range(150)]
    archive = publish(tmp_path / "published", compress(plain_tar([*noise, *good])))
    call = f"fetch_release('tiny', to={str(tmp_path / 'to')!r}, source={str(archive)!r})"
    script = f"from longbanana_nb.release import fetch_release; {call}"
    process = subprocess.Popen([sys.executable, "-c", script])
    while not list((tmp_path / "to").glob(".tiny.fetch/tree-*/tiny/extra/*")) and process.poll() is None:
        time.sleep(0.005)
    with pytest.raises(DataError, match="another fetch"):
        fetch_release("tiny", to=tmp_path / "to", source=archive)
    process.kill()
    assert process.wait() != 0
    assert names(tmp_path / "to") == [".tiny.fetch"]
    fetch_release("tiny", to=tmp_path / "to", source=archive)
    assert names(tmp_path / "to") == ["tiny"]


def test_an_interruption_leaves_nothing(tmp_path: Path, good: Members) -> None:
    archive = publish(tmp_path / "published", compress(plain_tar(good)))

    def interrupt(line: str) -> None:
        assert names(tmp_path / "to") == [".tiny.fetch"], line
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch_release("tiny", to=tmp_path / "to", source=archive, say=interrupt)
    assert names(tmp_path / "to") == []


def test_a_target_that_is_no_folder_is_said_plainly(tmp_path: Path, good: Members) -> None:
    archive = publish(tmp_path / "published", compress(plain_tar(good)))
    (tmp_path / "to").write_text("a file")
    with pytest.raises(DataError, match="Choose another folder"):
        fetch_release("tiny", to=tmp_path / "to", source=archive)
    assert (tmp_path / "to").read_text() == "a file"


def test_a_full_disk_is_said_plainly_and_leaves_nothing(tmp_path: Path, good: Members) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", str(small)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("a size-limited mount needs privileges")
    try:
        archive = publish(tmp_path / "published", compress(plain_tar([*good, member("tiny/zeros", bytes(400_000))])))
        with pytest.raises(DataError, match="No space left"):
            fetch_release("tiny", to=small, source=archive)
        assert names(small) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)
