"""Units and probes for a release that states none: derived by rule and by a text model, reviewed by people."""

from longbanana_nb.judging.annotate.annotating import Annotated, TextModel, annotate_release
from longbanana_nb.judging.annotate.measuring import Measured, measure_rules

__all__ = ["Annotated", "Measured", "TextModel", "annotate_release", "measure_rules"]
