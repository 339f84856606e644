"""Reading lettering: whole pictures by detection and recognition, single labels by recognition alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from longbanana_nb.vision.arrays import Pixels
from longbanana_nb.vision.layout import Box

VERSION = "lettering-4"
LONGEST_SIDE = 1280  # of the picture that letters are recognised in
DETECTION_SIDE = 576  # of the picture that lines of lettering are looked for in
LINE = (3, 48, 160)  # channels, height and least width of a line as it is recognised
LEAST_CONFIDENCE = 0.5
LEAST_CONTRAST = 16  # levels between the darkest and the lightest value, under which a picture has no lettering
CAPITALS_LINE = 48
PLATE_WIDTH, PLATE_FILLED = 0.6, 0.6  # a part of a line so wide, of its width, and so solid is a plate with lettering on it
LEGIBLE_PX = 8.0
"""Height of a capital, in pixels of the picture, under which lettering counts as too small to read."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One piece of lettering.

    Attributes:
        text: upper case, letters and digits only.
        confidence: 0 to 1.
        box: fractions of the picture.
        capitals_px: height of its tall letters in pixels of the picture.
    """

    text: str
    confidence: float
    box: Box
    capitals_px: float


@cache
def engine() -> Any:
    """The OCR engine (PP-OCR weights of the `rapidocr` package), on one thread; made once a process, about a second."""
    import logging

    from rapidocr import RapidOCR

    logging.getLogger("RapidOCR").setLevel(logging.ERROR)
    threads = {"EngineConfig.onnxruntime.intra_op_num_threads": 1, "EngineConfig.onnxruntime.inter_op_num_threads": 1}
    detection = {"Det.limit_type": "max", "Det.limit_side_len": DETECTION_SIDE}
    recognition = {"Rec.rec_img_shape": list(LINE), "Rec.rec_batch_num": 1}  # one by one: a batch is padded to its longest
    return RapidOCR(params={"Global.log_level": "error", **threads, **detection, **recognition})


@cache
def engine_version() -> str:
    """Version of the package that carries engine and weights."""
    from importlib.metadata import version

    return f"rapidocr-{version('rapidocr')}"


def read_picture(pixels: Pixels) -> list[Reading]:
    """All lettering of a picture that is large enough to read, in reading order as the engine gives it."""
    if int(pixels.max()) - int(pixels.min()) < LEAST_CONTRAST:
        return []
    scale = min(1.0, LONGEST_SIDE / max(pixels.shape[:2]))
    size = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    small = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
    padded = cv2.cvtColor(_not_too_long(small), cv2.COLOR_RGB2BGR)
    h, w = small.shape[:2]
    readings = []
    for corners in _lines(padded):
        tall = capital_height(small, corners) / scale
        if tall < LEGIBLE_PX:
            continue
        clean, confidence = _recognised(_upright(padded, corners))
        if not clean or confidence < LEAST_CONFIDENCE:
            continue
        xs, ys = corners[:, 0] / w, corners[:, 1] / h
        box = (float(xs.min()), float(ys.min()), float(min(1.0, xs.max())), float(min(1.0, ys.max())))
        readings.append(Reading(clean, float(confidence), box, tall))
    return readings


def _lines(pixels: Pixels) -> list[npt.NDArray[np.float32]]:
    """The four corners of each line of lettering in a BGR picture, clockwise from the top left."""
    found = engine()(pixels, use_det=True, use_cls=False, use_rec=False)
    return [] if found.boxes is None else [np.asarray(corners, dtype=np.float32) for corners in found.boxes]


def _upright(pixels: Pixels, corners: npt.NDArray[np.float32]) -> Pixels:
    """A line cut out along its corners; a column of letters is laid down."""
    from rapidocr.utils.process_img import get_rotate_crop_image

    cut: Pixels = get_rotate_crop_image(pixels, corners.copy())
    return cut


def _recognised(line: Pixels) -> tuple[str, float]:
    """Text and confidence of one line in BGR; ("", 0.0) where nothing is read."""
    found = engine()(line, use_det=False, use_cls=False, use_rec=True)
    return (letters(found.txts[0]), float(found.scores[0])) if found.txts else ("", 0.0)


def capital_height(pixels: Pixels, corners: npt.NDArray[Any]) -> float:
    """Height in pixels of the tall letters of a line within four corners (clockwise from the top left).

    The line is set upright and split into ink and ground; of its upright strokes and letters the median height counts. Where
    nothing stands apart from the rim, it is two thirds of the height of the line.
    """
    wide = float(np.linalg.norm(corners[1] - corners[0]) + np.linalg.norm(corners[2] - corners[3])) / 2
    high = float(np.linalg.norm(corners[3] - corners[0]) + np.linalg.norm(corners[2] - corners[1])) / 2
    zoom = CAPITALS_LINE / max(high, 1.0)
    size = (max(4, round(wide * zoom)), CAPITALS_LINE)
    upright = np.array([[0, 0], [size[0], 0], [0, size[1]]], dtype=np.float32)
    matrix = cv2.getAffineTransform(corners[[0, 1, 3]].astype(np.float32), upright)
    line = cv2.cvtColor(cv2.warpAffine(pixels, matrix, size, borderMode=cv2.BORDER_REPLICATE), cv2.COLOR_RGB2GRAY)
    heights = _letter_heights(line)
    return (float(np.median(heights)) if len(heights) else CAPITALS_LINE / 1.5) / zoom


def _letter_heights(line: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Heights of what stands apart from the rim of a grey line; where that is a plate with lettering on it, of the lettering."""
    _, light = cv2.threshold(line, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    ink = light if (light > 0).mean() < 0.5 else 255 - light
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink)
    apart = stats[1:][(stats[1:, cv2.CC_STAT_TOP] > 0) & (stats[1:, cv2.CC_STAT_TOP] + stats[1:, cv2.CC_STAT_HEIGHT] < len(line))]
    for x, y, w, h, area in apart.tolist():
        if w > PLATE_WIDTH * line.shape[1] and area > PLATE_FILLED * w * h:
            on_plate = _letter_heights(line[y : y + h, x : x + w])
            if len(on_plate):
                return on_plate
    heights: npt.NDArray[Any] = apart[:, cv2.CC_STAT_HEIGHT]
    return heights[heights > 0.3 * len(line)]


def read_labels(patches: Sequence[Pixels]) -> list[tuple[str, float]]:
    """Text and confidence of upright label patches, each one line; ("", 0.0) where nothing is read."""
    return [_read_line(patch) for patch in patches]


def _read_line(patch: Pixels) -> tuple[str, float]:
    h, w = patch.shape[:2]
    if h < 4 or w < 4 or not 0.5 < w / h < 12:
        return "", 0.0
    return _recognised(cv2.cvtColor(patch, cv2.COLOR_RGB2BGR))


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
