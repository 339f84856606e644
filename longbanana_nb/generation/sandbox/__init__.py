"""Programs of others, run apart: what they may see is listed, everything else is not there."""
