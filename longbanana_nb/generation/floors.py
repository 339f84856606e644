"""Floors: what no understanding earns. They are exactly what they say, so they are not called simulated.

`blank`, `single-reference`, `collage` and `words` show how much of a score comes from negative checks, from showing inputs back,
and from writing instead of drawing. Each floor gives a complete scene, because it knows where every pixel came from.
"""

from __future__ import annotations

import io
from functools import cache
from typing import TYPE_CHECKING

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.contracts import Draft, Models, Reason, Scene
from longbanana_nb.generation.images import examine
from longbanana_nb.generation.inventory import reference_bytes, reference_picture
from longbanana_nb.generation.lettering import written
from longbanana_nb.generation.scenes import WHOLE, new_scene, pasted

if TYPE_CHECKING:
    from PIL import Image

    from longbanana_nb.release import Case
    from longbanana_nb.runs import SystemSpec

FLOORS = ("blank", "single-reference", "collage", "words")
EDGE = 1024  # pixels of `blank` and `words`
GREY = (128, 128, 128)
COLUMNS = 6
CELL = 200  # pixels; six columns make 1200


def blank(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """A mid-grey square of 1024 px: the same bytes for every case."""
    data = _grey_png(EDGE, EDGE)
    return _draft(data, new_scene(EDGE, EDGE, "grey"), ())


def single_reference(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """The first reference, its bytes untouched; a background is not a reference."""
    if not case.references:
        return Draft("no_image", Reason("no_references", "single-reference", "the case has no reference"))
    first = case.references[0]
    data = reference_bytes(first)
    facts = examine(data, least_edge=1)
    scene = new_scene(facts.width, facts.height, None)
    scene["objects"].append(pasted(first.sha256, WHOLE))
    return _draft(data, scene, (first.id,))


def collage(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """All references in contract order in a grid of six columns, each whole and unstretched in a cell of 200 px; JPEG."""
    from PIL import Image

    if not case.references:
        return Draft("no_image", Reason("no_references", "collage", "the case has no reference"))
    rows = -(-len(case.references) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * CELL, rows * CELL), GREY)
    scene = new_scene(sheet.width, sheet.height, "grey")
    for place, reference in enumerate(case.references):
        corner = (place % COLUMNS * CELL, place // COLUMNS * CELL)
        scene["objects"].append(pasted(reference.sha256, _paste(sheet, reference_picture(reference), corner)))
    out = io.BytesIO()
    sheet.save(out, "JPEG", quality=75, optimize=True)
    return _draft(out.getvalue(), scene, tuple(reference.id for reference in case.references))


def words(case: Case, spec: SystemSpec, models: Models, seed: int) -> Draft:
    """The prompt's words, less a fixed stop list, written on grey; the picture grows downwards if they do not fit."""
    picture, lettering = written(case.prompt, EDGE, GREY)
    scene = new_scene(picture.width, picture.height, "grey")
    scene["words"] = lettering
    out = io.BytesIO()
    picture.convert("L").save(out, "PNG")  # letters and ground are grey: one channel says all
    return _draft(out.getvalue(), scene, ())


def _draft(data: bytes, scene: Scene, used: tuple[str, ...]) -> Draft:
    """A draft without steps; the references it shows count as sent, for they reached the picture."""
    digest = sha256_bytes(data)
    form = examine(data, least_edge=1).format
    scene = {**scene, "image_sha256": digest}
    return Draft("image", image=data, format=form, sent=list(used), scene=scene)


def _paste(sheet: Image.Image, picture: Image.Image, corner: tuple[int, int]) -> tuple[float, float, float, float]:
    """Fit `picture` into the cell at `corner`, centred on its own background of grey where transparent; its box as fractions."""
    from PIL import Image

    scale = min(CELL / picture.width, CELL / picture.height)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    small = picture if picture.mode == "RGB" else picture.convert("RGBA")
    small = small.resize(size, Image.Resampling.LANCZOS, reducing_gap=2.0)
    left, top = corner[0] + (CELL - size[0]) // 2, corner[1] + (CELL - size[1]) // 2
    sheet.paste(small.convert("RGB"), (left, top), small.getchannel("A") if small.mode == "RGBA" else None)
    return (left / sheet.width, top / sheet.height, (left + size[0]) / sheet.width, (top + size[1]) / sheet.height)


@cache
def _grey_png(width: int, height: int) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), GREY).save(out, "PNG")
    return out.getvalue()
