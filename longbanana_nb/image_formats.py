"""Which image files are read, everywhere: releases, candidates, judges and pages read the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MAX_PIXELS: Final = 100_000_000  # an image over 100 megapixels is a fault
READ: Final = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""Pillow readers (JPEG opens MPO too) that only decode; those that run a program (EPS) or follow other files stay shut."""

EXTENSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif"),
    "MPO": (".jpg", ".jpeg", ".mpo"),
    "PNG": (".png", ".apng"),
    "WEBP": (".webp",),
    "GIF": (".gif",),
    "BMP": (".bmp", ".dib"),
    "TIFF": (".tif", ".tiff"),
    "AVIF": (".avif",),
}
"""Extensions by the format that Pillow reports, the usual one first."""
