"""Reading lettering: whole pictures by detection and recognition, single labels by recognition alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np

from longbanana_nb.vision.arrays import Pixels
from longbanana_nb.vision.layout import Box

VERSION = "lettering-1"
LONGEST_SIDE = 896
LEAST_CONFIDENCE = 0.5


@dataclass(frozen=True, slots=True)
class Reading:
    """One piece of lettering: text in upper case, letters and digits only; confidence 0 to 1; box in fractions of the picture."""

    text: str
    confidence: float
    box: Box


@cache
def engine() -> Any:
    """The OCR engine (PP-OCR weights of the `rapidocr` package), on one thread; made once a process, about a second."""
    import logging

    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    threads = {"EngineConfig.onnxruntime.intra_op_num_threads": 1, "EngineConfig.onnxruntime.inter_op_num_threads": 1}
    return RapidOCR(params={"Global.log_level": "error", **threads})


@cache
def engine_version() -> str:
    """Version of the package that carries engine and weights."""
    from importlib.metadata import version

    return f"rapidocr-{version('rapidocr')}"


def read_picture(pixels: Pixels) -> list[Reading]:
    """All lettering of a picture, in reading order as the engine gives it; the longer side is made LONGEST_SIDE at most."""
    scale = min(1.0, LONGEST_SIDE / max(pixels.shape[:2]))
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
    padded = _not_too_long(small)
    found = engine()(cv2.cvtColor(padded, cv2.COLOR_RGB2BGR), use_det=True, use_cls=False, use_rec=True)
    if found.boxes is None or found.txts is None:
        return []
    h, w = small.shape[:2]
    readings = []
    for corners, text, confidence in zip(found.boxes, found.txts, found.scores, strict=True):
        xs, ys = np.asarray(corners)[:, 0] / w, np.asarray(corners)[:, 1] / h
        box = (float(xs.min()), float(ys.min()), float(min(1.0, xs.max())), float(min(1.0, ys.max())))
        if (clean := letters(text)) and confidence >= LEAST_CONFIDENCE:
            readings.append(Reading(clean, float(confidence), box))
    return readings


def read_labels(patches: Sequence[Pixels]) -> list[tuple[str, float]]:
    """Text and confidence of upright label patches, each one line; ("", 0.0) where nothing is read."""
    return [_read_line(patch) for patch in patches]


def _read_line(patch: Pixels) -> tuple[str, float]:
    h, w = patch.shape[:2]
    if h < 4 or w < 4 or not 0.5 < w / h < 12:
        return "", 0.0
    found = engine()(cv2.cvtColor(patch, cv2.COLOR_RGB2BGR), use_det=False, use_cls=False, use_rec=True)
    return (letters(found.txts[0]), float(found.scores[0])) if found.txts else ("", 0.0)


def letters(text: str) -> str:
    """Upper case, letters and digits only."""
    return "".join(letter for letter in text.upper() if letter.isalnum())


def _not_too_long(pixels: Pixels) -> Pixels:
    """Pad a strip to 3:1 at most: the engine enlarges the short side, and long strips would exhaust memory."""
    h, w = pixels.shape[:2]
    down, right = max(0, -(-w // 3) - h), max(0, -(-h // 3) - w)
    if not down and not right:
        return pixels
    padded: Pixels = cv2.copyMakeBorder(pixels, 0, down, 0, right, cv2.BORDER_REPLICATE)
    return padded
