"""What pixels say: decoding, finding an exemplar, colour, lettering, layout, palette. A leaf: it knows no run, no release."""

from longbanana_nb.vision.decoding import Picture, decode
from longbanana_nb.vision.layout import Box

__all__ = ["Box", "Picture", "decode"]
