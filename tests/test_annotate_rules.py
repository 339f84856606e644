"""What the words of a check say of its dimension, polarity and probe; sentences that nobody wrote for these rules included."""

import pytest
from release_fixtures import check, small_release

from longbanana_nb.judging.annotate.compiling import probe_from_words
from longbanana_nb.judging.annotate.rules import guess_dimension, guess_polarity
from longbanana_nb.release import load_release

CONTENT, RELATIONAL, GLOBAL = "Content Fidelity", "Relational Binding", "Global Constraint Satisfaction"


@pytest.fixture
def read(tmp_path):
    """One check as the workbench reads it, from its question and what Pass means."""

    def make(question, pass_means=None):
        changes = {"question": question, "guide": "Look.", "option_desc": {"2": pass_means} if pass_means else {}}
        manifest = small_release(tmp_path, checks=[check("case_a", "c1", **changes)], units=(), probes=())
        return load_release(manifest).evaluation().checks["case_a"][0]

    return make


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Is the cat sitting on the windowsill?", RELATIONAL),
        ("Does the dog stand between the two chairs?", RELATIONAL),
        ('Does the sign above the door read "OPEN"?', RELATIONAL),
        ("Does the jacket have the same pattern as the curtain?", RELATIONAL),
        ("Is the teapot pouring tea into the cup?", RELATIONAL),
        ("Is the overall lighting warm sunset light as in the mood board?", GLOBAL),
        ("Do the six products form a 2x3 grid?", GLOBAL),
        ("Is the total number of bottles in the picture seven?", GLOBAL),
        ("Is the logo placed in the lower left corner of the image?", GLOBAL),
        ("Is the background a foggy harbour?", GLOBAL),
        ("Is the vase the same vase as in the bound reference?", CONTENT),
        ("The broken mug must not be shown.", CONTENT),
        ("Is the child's backpack green?", CONTENT),
        ('Is a bear lettered "UMBRA" visible in the picture?', CONTENT),
    ],
)
def test_a_dimension_that_the_words_say(read, question, expected):
    guess = guess_dimension(read(question))
    assert (guess.value, guess.is_sure) == (expected, True)


def test_words_that_point_nowhere_or_two_ways_are_not_sure(read):
    assert not guess_dimension(read("Has the apple been bitten?")).is_sure
    assert not guess_dimension(read("Is the palette of the scarf kept and is it held by the woman?")).is_sure


@pytest.mark.parametrize(
    ("question", "pass_means", "expected"),
    [
        ("Are there no umbrellas anywhere in the image?", "no umbrella is present", "negative"),
        ("Does the image avoid showing the competitor's logo?", "the logo is not shown", "negative"),
        ("Does the poster not show the old logo?", "the old logo is absent", "negative"),
        ("Are unrelated characters excluded from the scene?", "no unrelated character appears", "negative"),
        ("Is the blue bicycle leaning against the wall?", "it leans", "positive"),
        ("Does the picture contain exactly three lemons?", "three lemons", "positive"),
        ("Is the nobleman's notebook closed?", "it is closed", "positive"),
    ],
)
def test_polarity(read, question, pass_means, expected):
    guess = guess_polarity(read(question, pass_means))
    assert (guess.value, guess.is_sure) == (expected, True)


def test_a_question_and_a_pass_that_disagree_are_not_sure(read):
    assert not guess_polarity(read("Is the logo visible?", "the logo is absent")).is_sure
    assert not guess_polarity(read("Is the picture free of logos?", "a logo can be seen")).is_sure


def test_probes_come_only_from_words_that_need_no_exemplar(read):
    whole = [0.0, 0.0, 1.0, 1.0]
    assert probe_from_words(read('Is the lettering "SALE" absent from the picture?'), "negative") == {
        "not": {"text": {"in": whole, "contains": "SALE"}}
    }
    assert probe_from_words(read("Is the backdrop teal?"), "positive") == {"palette": {"colour": "teal", "share": 0.6}}
    assert probe_from_words(read('Is the picture free of a shirt lettered "LYRIC"?'), "negative") is None
    assert probe_from_words(read("Is the backdrop beautiful?"), "positive") is None
