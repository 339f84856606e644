"""Unpacking a release archive (.tar.zst) that nobody trusts: plain files and folders under one name, within limits."""

from __future__ import annotations

import io
import os
import tarfile
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import zstandard

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.release.findings import shown
from longbanana_nb.release.tree import path_fault

MAX_MEMBERS = 100_000
MAX_BYTES = 64 * 2**30
MAX_WINDOW_BYTES = 2**27  # what `zstd --long=27` writes; a larger window is a claim on the reader's memory
MAX_PATH_BYTES, MAX_NAME_BYTES = 1024, 255  # more than some system that people unpack on can hold
_FEED_BYTES = 2048  # little at a time: even a bomb then expands to 64 MB at most before it is counted
_COPY_BYTES = 1 << 20
_MAX_EXTENDED_HEADER = 1 << 20
_EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an archive may hold; counted while it is read, whatever its headers claim."""

    members: int = MAX_MEMBERS
    bytes: int = MAX_BYTES


def extract_archive(archive: Path, target: Path, release: str, limits: Limits | None = None) -> Path:
    """Unpack `archive` into the existing empty folder `target`; gives `target/release`.

    Only regular files and folders named `release/...` are made; owners, modes and times of the archive are not taken over.

    Raises:
        DataError: for anything else in it, a damaged or unfinished archive, trailing bytes, or a full disk. What was
            written until then lies in `target`, for the caller to remove.
    """
    unpacking = _Unpacking(archive, target, release, limits or Limits())
    try:
        with archive.open("rb") as stream:
            unpacking.run(stream)
    except (tarfile.TarError, zstandard.ZstdError, EOFError, UnicodeError, RecursionError, ValueError) as error:
        raise unpacking.refuse("archive", f"a damaged archive ({error or type(error).__name__})", "a whole .tar.zst") from None
    except OSError as error:
        fix = "Free some space or choose another folder, then run it again."
        raise unpacking.refuse("disk", f"{error.strerror or error}", "every member written", fix) from None
    return target / release


class _Unpacking:
    """One archive on its way to disk: what was seen, and what was counted."""

    def __init__(self, archive: Path, target: Path, release: str, limits: Limits) -> None:
        self.archive, self.target, self.release, self.limits = archive, target, release, limits
        self.names = _Names()
        self.members = self.written = 0

    def refuse(self, code: str, found: str, expected: str, fix: str = "Do not use this archive.") -> DataError:
        return DataError("The archive is refused.", [Fault(str(self.archive), code, found, expected, fix)])

    def run(self, stream: IO[bytes]) -> None:
        headers = 1024 * self.limits.members + (1 << 20)
        plain = _ZstdReader(stream, self.limits.bytes + headers, self)
        with tarfile.open(fileobj=plain, mode="r|", tarinfo=_Member, encoding="utf-8", errors="strict") as tar:
            kept: Any = tar
            while (member := tar.next()) is not None:
                self.members += 1
                if self.members > self.limits.members:
                    raise self.refuse("members", f"more than {self.limits.members} members", f"at most {self.limits.members}")
                self._take(tar, member)
                kept.members = []  # nothing is looked up again, and a long list costs memory
            self._end(tar)
        if not self.members:
            raise self.refuse("archive", "no member", f"files under {self.release}/")

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        name = member.name
        if reason := path_fault(name):
            raise self.refuse("path", f"member {shown(name)} ({reason})", f"plain paths under {self.release}/")
        name.encode("utf-8")
        if name != self.release and not name.startswith(f"{self.release}/"):
            raise self.refuse("path", f"member {shown(name)}", f"only paths under {self.release}/")
        plain_file = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
        if not plain_file and not member.isdir():
            kind = "link" if member.issym() or member.islnk() else "special file"
            raise self.refuse("link" if kind == "link" else "special", f"{shown(name)}, a {kind}", "plain files and folders only")
        if plain_file and name == self.release:
            raise self.refuse("path", f"{shown(name)} as a file", "a folder of that name")
        if len(os.fsencode(name)) > MAX_PATH_BYTES or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in name.split("/")):
            expected = f"at most {MAX_PATH_BYTES} bytes a path, {MAX_NAME_BYTES} a name"
            raise self.refuse("path", f"member {shown(name)} ({len(os.fsencode(name))} bytes)", expected)
        if clash := self.names.add(name, is_file=plain_file):
            raise self.refuse("duplicate", f"{shown(name)} beside {shown(clash)}", "names that differ by more than case or form")
        path = self.target / name
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._write(tar, member, path)

    def _write(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
        source = tar.extractfile(member)
        if source is None:
            raise self.refuse("archive", f"{shown(member.name)} without content", "a regular file")
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o666)
        copied = 0
        with os.fdopen(handle, "wb") as out:
            while block := source.read(_COPY_BYTES):
                copied += len(block)
                self.written += len(block)
                if self.written > self.limits.bytes:
                    raise self.too_large()
                out.write(block)
        if copied != member.size:
            raise self.refuse("archive", f"{shown(member.name)} cut after {copied} bytes", f"{member.size} bytes")

    def too_large(self) -> DataError:
        return self.refuse("too_large", f"more than {self.limits.bytes} bytes unpacked", f"at most {self.limits.bytes}")

    def _end(self, tar: tarfile.TarFile) -> None:
        """After the last member come two zero blocks, and then zeros only; tarfile itself accepts less."""
        stream: Any = tar.fileobj
        if not getattr(tar, "saw_end", False):
            raise self.refuse("archive", "no end-of-archive mark", "a whole archive", "Download it again.")
        length = 0
        while block := stream.read(_COPY_BYTES):
            length += len(block)
            if block.count(0) != len(block):
                raise self.refuse("trailing", "bytes after the end of the archive", "nothing but its padding")
        if length < tarfile.BLOCKSIZE:
            raise self.refuse("archive", "half an end-of-archive mark", "two zero blocks", "Download it again.")


class _Member(tarfile.TarInfo):
    """A header that is never skipped: where tarfile would quietly stop at a damaged one, the damage is raised."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Member:
        member = super().frombuf(buf, encoding, errors)
        if member.size < 0 or (member.type in _EXTENDED and member.size > _MAX_EXTENDED_HEADER):
            raise ValueError(f"a header of {member.size} bytes")
        return member

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> _Member:
        try:
            return super().fromtarfile(tarfile)
        except _END:
            tarfile.saw_end = True  # type: ignore[attr-defined]  # read in _end
            raise
        except _EMPTY:
            raise
        except _HEADER as error:
            raise ValueError(f"a damaged header: {error}") from None


_END: type[Exception] = tarfile.EOFHeaderError  # type: ignore[attr-defined]
_EMPTY: type[Exception] = tarfile.EmptyHeaderError  # type: ignore[attr-defined]
_HEADER: type[Exception] = tarfile.HeaderError


@dataclass(slots=True)
class _Names:
    """Names met so far, in a form where those that some file system would take for one are equal."""

    exact: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)  # folders that members lie in
    members: dict[str, bool] = field(default_factory=dict)  # name -> is a file

    def add(self, name: str, *, is_file: bool) -> str | None:
        """Note a member; gives the earlier name it collides with, or None.

        Folders above it count, unless they are spelt the same and are folders.
        """
        parts = name.split("/")
        for length in range(1, len(parts) + 1):
            path = "/".join(parts[:length])
            earlier = self.exact.setdefault(_folded(path), path)
            if earlier != path or (length < len(parts) and self.members.get(path)):
                return earlier
        if name in self.members or (is_file and name in self.folders):
            return name
        self.members[name] = is_file
        self.folders.update("/".join(parts[:length]) for length in range(1, len(parts)))
        return None


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class _ZstdReader(io.RawIOBase):
    """Decompressed bytes of a .zst stream of one or more frames; unfinished frames and foreign bytes are faults."""

    def __init__(self, stream: IO[bytes], limit: int, unpacking: _Unpacking) -> None:
        super().__init__()
        self._stream, self._limit, self._unpacking = stream, limit, unpacking
        self._decompressor = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        self._frame: Any = None
        self._ready, self._at, self._produced = b"", 0, 0

    def read(self, size: int = -1) -> bytes:
        """At least one byte, unless the stream is at its end; at most `size`."""
        while self._at >= len(self._ready):
            if not self._more():
                return b""
        piece = self._ready[self._at : self._at + size] if size >= 0 else self._ready[self._at :]
        self._at += len(piece)
        return piece

    def _more(self) -> bool:
        fed = self._stream.read(_FEED_BYTES)
        if not fed:
            if self._frame is not None:
                raise EOFError("the compressed data ends in the middle")
            return False
        pieces = []
        while fed:
            self._frame = self._frame or self._decompressor.decompressobj()
            pieces.append(self._frame.decompress(fed))
            fed = b""
            if self._frame.eof:
                fed, self._frame = self._frame.unused_data, None
        self._ready, self._at = b"".join(pieces), 0
        self._produced += len(self._ready)
        if self._produced > self._limit:
            raise self._unpacking.too_large()
        return True
