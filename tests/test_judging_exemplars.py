"""What the exemplars of a case are taken to look like."""

import cv2
import numpy as np

from longbanana_nb.judging.exemplars import Exemplar, painted_part
from longbanana_nb.vision.cutout import Cutout


def test_backdrop_seen_through_a_gap_of_an_exemplar_is_not_its_colour():
    photo = np.full((180, 180, 3), (214, 60, 66), dtype=np.uint8)
    cv2.rectangle(photo, (40, 40), (139, 139), (40, 90, 220), 14)
    inside = np.zeros((180, 180), dtype=bool)
    inside[33:147, 33:147] = True  # a silhouette that takes in the gap, which is larger than the frame around it
    cutout = Cutout(photo, inside, np.zeros_like(inside), (33, 33, 147, 147), 1.0)
    assert Exemplar(cutout).colour == "blue"
    assert not painted_part(Exemplar(cutout))[60:120, 60:120].any()


def test_an_exemplar_in_the_colour_of_its_backdrop_keeps_its_colour():
    photo = np.full((180, 180, 3), (214, 60, 66), dtype=np.uint8)
    solid = np.zeros((180, 180), dtype=bool)
    solid[40:140, 40:140] = True
    cutout = Cutout(photo, solid, np.zeros_like(solid), (40, 40, 140, 140), 1.0)
    assert Exemplar(cutout).colour == "red"
