"""The array types of this package: pictures, masks and fields of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[Any]
"""RGB, height x width x 3, uint8."""
Mask = npt.NDArray[np.bool_]
"""Height x width, true where something is."""
Field = npt.NDArray[Any]
"""Floating-point numbers, float32 unless said otherwise."""
