"""The sketch draws what it is asked from what it is given, says where each piece came from, and refuses what it cannot read."""

from __future__ import annotations

import functools

import pytest
from demo_sketch_fixtures import Photo, card, photo

from longbanana_nb.demo.brief import Brief, Order, Region, Relation, Thing, render
from longbanana_nb.demo.sketch import SketchBackend, sketch_backend
from longbanana_nb.errors import CallError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.contracts import ImageRequest, InputImage, ModelChoice


@functools.cache
def pictures() -> dict[str, Photo]:
    return {
        "bell": photo(("bell", "red", "NORA"), ("cactus", "green", None)),
        "wrong bell": photo(("bell", "blue", "KATE"), ("pear", "yellow", None), seed=2),
        "trays 2": photo(("yo-yo", "blue", None), ("yo-yo", "blue", None), mark="TRAY", backdrop="grey"),
        "tray 1": photo(("yo-yo", "blue", None), mark="TRAY", backdrop="mist", seed=3),
        "crown": photo(("crown", "purple", None), backdrop="sand", seed=4),
        "card": card("teal"),
    }


def brief(**more: object) -> Brief:
    things = (Thing("bell", text="NORA"), Thing("yo-yo", count=None), Thing("crown", colour="purple"))
    return Brief("a shelf", things, relations=(Relation(0, "left_of", 2),), backdrop="palette card", **more)


def ask(backend: SketchBackend, prompt: str, names: list[str], *, seed: int = 1, carried: bytes | None = None):
    images = [InputImage.of("carried", carried)] if carried else []
    images += [InputImage.of("reference", pictures()[name].data) for name in names]
    return backend.draw(ImageRequest(prompt, tuple(images), seed, 768))


def sources(result) -> list[str]:
    names = {sha256_bytes(one.data): name for name, one in pictures().items()}
    return sorted(names[piece["source_sha256"]] for piece in result.scene["objects"])


def flawless(monkeypatch: pytest.MonkeyPatch) -> SketchBackend:
    """A sketch whose dice never strike: what remains is what it sees and does on purpose."""
    monkeypatch.setattr("longbanana_nb.demo.sketch_errors.Dice.strikes", lambda self, error, subject: False)
    return SketchBackend("strong")


def test_each_asked_thing_is_cut_from_the_picture_that_shows_it(monkeypatch):
    result = ask(flawless(monkeypatch), render(brief()), list(pictures()))
    assert result.outcome == "image"
    assert sources(result) == ["bell", "crown", "tray 1", "trays 2", "trays 2"]
    assert result.scene["backdrop"] == {"colour": "teal"}
    assert all(piece["visible"] > 0.8 for piece in result.scene["objects"])


def test_what_is_asked_to_stand_left_stands_left(monkeypatch):
    result = ask(flawless(monkeypatch), render(brief()), list(pictures()))
    boxes = {piece["source_sha256"]: piece["box"] for piece in result.scene["objects"]}
    bell, crown = (boxes[sha256_bytes(pictures()[name].data)] for name in ("bell", "crown"))
    assert bell[2] <= crown[0]


def test_the_picture_so_far_is_kept_and_the_count_goes_on(monkeypatch):
    backend = flawless(monkeypatch)
    first = ask(backend, render(brief()), ["bell", "trays 2"])
    assert sources(first) == ["bell", "trays 2", "trays 2"]
    second = ask(backend, render(brief(carries_on=True)), ["tray 1", "crown", "card"], carried=first.image)
    assert sources(second) == ["bell", "crown", "tray 1", "trays 2", "trays 2"]
    assert second.scene["backdrop"] == {"colour": "teal"}


def test_an_unknown_picture_so_far_is_looked_at_and_its_things_stay(monkeypatch):
    first = ask(flawless(monkeypatch), render(brief()), ["bell", "crown"])
    second = ask(SketchBackend("strong"), render(brief(carries_on=True)), ["tray 1"], carried=first.image)
    digest = sha256_bytes(first.image)
    assert [piece["source_sha256"] for piece in second.scene["objects"]].count(digest) == 2


def test_the_same_request_gives_the_same_bytes_and_another_seed_other_luck():
    prompt = render(brief())
    first, again = (ask(SketchBackend("weak"), prompt, ["bell", "crown", "trays 2"], seed=5) for _ in range(2))
    assert first.image == again.image
    scenes = [ask(SketchBackend("weak"), prompt, ["bell", "crown", "trays 2"], seed=seed).scene["objects"] for seed in range(8)]
    assert len({str(scene) for scene in scenes}) > 1


def test_a_sentence_outside_the_grammar_fails_with_its_text():
    result = ask(SketchBackend(), "Please paint something nice.", ["bell"])
    assert (result.outcome, result.reason.code) == ("failed", "unparsable_prompt")
    assert "Please paint something nice" in result.reason.raw


def test_more_images_than_fit_are_refused_not_dropped():
    result = ask(SketchBackend(), render(brief()), ["bell"] * 11)
    assert (result.outcome, result.reason.code, result.image) == ("failed", "too_many_references", None)


def test_a_model_id_with_a_typing_error_names_the_nearest():
    with pytest.raises(CallError, match="sketch-medium"):
        sketch_backend(ModelChoice("embedded", "sketch-medum"))


def test_places_of_regions_and_orders_are_kept(monkeypatch):
    wanted = Brief(
        "a table",
        (Thing("bell", colour="red"), Thing("crown"), Thing("cactus")),
        regions=(Region(1, "bottom right"),),
        orders=(Order("y", (0, 2, 1)),),
    )
    result = ask(flawless(monkeypatch), render(wanted), ["bell", "crown"])
    by_kind = {tuple(piece["source_box"]): piece["box"] for piece in result.scene["objects"]}
    boxes = list(by_kind.values())
    crown = boxes[1]
    assert crown[0] > 0.5 and crown[1] > 0.5
    assert len(boxes) == 3
