"""Pictures as they are sent, each made ready once for all its checks; what an earlier process made is known without its bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.judging.looks import Box
from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.judging.transcodes import Transcoded, made

CACHE_BYTES = 256 * 1024 * 1024

Key = tuple[str, tuple[str, int], Box | None]
"""The source's SHA-256, name and version of the transcode, and the box that is cut out."""


class SentPictures:
    """Pictures by what they are made from. Their bytes are kept within a bound, the longest unused go first; all else stays.

    Safe in threads.
    """

    def __init__(self, most_bytes: int = CACHE_BYTES) -> None:
        self._most, self._bytes = most_bytes, 0
        self._known: dict[Key, Transcoded] = {}
        self._with_data: OrderedDict[Key, None] = OrderedDict()
        self._origins: dict[str, tuple[PictureFile, Key]] = {}  # by the SHA-256 of what is sent
        self._lock = threading.Lock()
        self._making = [threading.Lock() for _ in range(16)]

    def get(
        self, picture: PictureFile, transcode: tuple[str, int], box: Box | None = None, *, with_data: bool = True
    ) -> Transcoded:
        """The picture, or a box of it, by a transcode; made once however many ask at the same time.

        Args:
            with_data: whether its bytes have to be there; without, what was learned of it is enough and no file is opened.

        Raises:
            DataError: where the picture's bytes changed or cannot be decoded.
        """
        key = (picture.sha256, transcode, box)
        if (known := self._look_up(picture, key, with_data)) is not None:
            return known
        with self._making[hash(key) % len(self._making)]:
            if (known := self._look_up(picture, key, with_data)) is None:
                known = made(picture, transcode, box)
                self._keep(picture, key, known)
            return known

    def at_hand(self, picture: PictureFile, transcode: tuple[str, int], *, with_data: bool) -> bool:
        """Whether `get` would open no file."""
        return self._look_up(picture, (picture.sha256, transcode, None), with_data) is not None

    def learn(self, source_sha256: str, transcode: tuple[str, int], known: Transcoded) -> None:
        """Take over what an earlier process made of a whole picture, without its bytes; what is known already stays."""
        with self._lock:
            self._known.setdefault((source_sha256, transcode, None), known)

    def let_go(self, sha256: str) -> None:
        """Keep the bytes of this hash no longer: they lie with a provider."""
        with self._lock:
            _, key = self._origins.get(sha256, (None, None))
            if key is not None and key in self._with_data:
                self._strip(key)

    def origin(self, sha256: str) -> tuple[Key, Transcoded] | None:
        """What the bytes of this hash were made from, and all that is known of them; None where they were not got here."""
        with self._lock:
            _, key = self._origins.get(sha256, (None, None))
            return None if key is None else (key, self._known[key])

    def data_of(self, sha256: str) -> bytes:
        """The bytes of a picture that was got here before, made anew where they are not kept.

        Raises:
            DataError: where its file changed, or other bytes come of it than the first time.
        """
        picture, (_, transcode, box) = self._origins[sha256]
        again = self.get(picture, transcode, box)
        if again.sha256 != sha256 or again.data is None:
            found = Fault(str(picture.file), "sha256", again.sha256, sha256, "Judge once more: it is then sent as it comes now.")
            raise DataError("A picture that was sent before comes out otherwise now.", [found])
        return again.data

    def _look_up(self, picture: PictureFile, key: Key, with_data: bool) -> Transcoded | None:
        with self._lock:
            known = self._known.get(key)
            if known is None or (with_data and known.data is None):
                return None
            if known.data is not None:
                self._with_data.move_to_end(key)
            self._origins[known.sha256] = (picture, key)
            return known

    def _keep(self, picture: PictureFile, key: Key, known: Transcoded) -> None:
        with self._lock:
            self._known[key] = known
            self._origins[known.sha256] = (picture, key)
            self._with_data[key] = None
            self._bytes += known.size
            while self._bytes > self._most and len(self._with_data) > 1:
                self._strip(next(iter(self._with_data)))

    def _strip(self, key: Key) -> None:
        del self._with_data[key]
        self._bytes -= self._known[key].size
        self._known[key] = replace(self._known[key], data=None)


CACHE = SentPictures()
