"""What pixels say: decoding, cut-outs, finding an exemplar, colour, lettering, layout, palette. A leaf: it knows no run and no release."""

from longbanana_nb.vision.decode import Picture, decode
from longbanana_nb.vision.layout import Box

__all__ = ["Box", "Picture", "decode"]
