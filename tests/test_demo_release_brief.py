"""The demo's prompt grammar: what is rendered is read back exactly, and anything else is refused with its words."""

import pytest

from longbanana_nb.demo.brief import Brief, Order, Region, Relation, Thing, UnparsablePrompt, parse, render
from longbanana_nb.errors import CallError

EVERYTHING = Brief(
    title="a shelf",
    things=(
        Thing("teapot", colour="red"),
        Thing("teapot", text="NORA"),
        Thing("vase", beside="cactus"),
        Thing("lantern", day="DAY 3"),
        Thing("shirt", colour="yellow", count=3),
        Thing("boot", count=None),
        Thing("umbrella", colour_of=Thing("bell", text="ZED4")),
    ),
    relations=(Relation(0, "left_of", 1), Relation(2, "on", 3), Relation(5, "overlaps", 6)),
    regions=(Region(4, "top left"), Region(3, "left")),
    orders=(Order("x", (0, 1, 6)), Order("y", (2, 4))),
    backdrop="palette card",
    nothing_else=True,
    write_nothing_else=True,
    carries_on=True,
)


def test_a_brief_with_every_sentence_is_read_back_exactly() -> None:
    assert parse(render(EVERYTHING)) == EVERYTHING


def test_handles_say_only_what_tells_things_apart() -> None:
    prompt = render(EVERYTHING)
    assert 'Place the red teapot to the left of the teapot lettered "NORA".' in prompt
    assert "Place the vase on the lantern." in prompt
    assert "Put the shirts in the top left." in prompt


def test_a_prompt_written_by_hand_is_read() -> None:
    brief = parse("Compose one square picture: a nook. Show three red boots.\n Show the bell.  Make the backdrop teal.")
    assert brief == Brief("a nook", (Thing("boot", "red", count=3), Thing("bell")), backdrop="teal")


def test_every_sentence_outside_the_grammar_is_named_at_once() -> None:
    prompt = "Compose one square picture: x. Show the teapot. Paint it well. Place the bell on the teapot. Show the spaceship."
    with pytest.raises(UnparsablePrompt) as caught:
        parse(prompt)
    assert len(caught.value.faults) == 3
    for words in ("Paint it well", "«the bell» names 0 things", "«spaceship» is not a kind"):
        assert words in str(caught.value)


def test_an_ambiguous_handle_is_refused() -> None:
    prompt = "Compose one square picture: x. Show the red bell. Show the blue bell. Put the bell in the top."
    with pytest.raises(UnparsablePrompt, match="names 2 things"):
        parse(prompt)


def test_two_things_that_cannot_be_told_apart_are_not_rendered() -> None:
    with pytest.raises(CallError, match="the red bell"):
        render(Brief("x", (Thing("bell", "red"), Thing("bell", "red"))))


@pytest.mark.parametrize(
    "prompt", ["", "A teapot, please", "Compose one square picture: x. Show the teapots.", "Show one teapot."]
)
def test_what_is_not_a_prompt_is_refused(prompt: str) -> None:
    with pytest.raises(UnparsablePrompt):
        parse(prompt)
