"""The explorer's state: facets, counts, pages and filters agree with one another."""

import pandas as pd
import pytest

from longbanana_nb.errors import CallError
from longbanana_nb.reporting.explorer import FACETS, ExplorerState

HOSTILE = "</script><script>alert(1)</script>\"'\u202e\x1b[31m"


@pytest.fixture
def answers():
    rows = 30
    frame = pd.DataFrame({name: ["same"] * rows for name in (*FACETS, "case_id", "check_id")})
    frame["system"] = ["a", "b", HOSTILE] * 10
    frame["verdict"] = ["Fail"] * 10 + ["Pass"] * 20
    frame["question"] = [f"Is the Banana {n} (red)?" for n in range(29)] + [HOSTILE]
    return frame


def test_a_facet_narrows_the_others_and_not_itself(answers):
    state = ExplorerState(answers).choose("verdict", "Fail")
    assert state.counts("verdict") == {"Pass": 20, "Fail": 10}
    assert sum(state.counts("system").values()) == 10
    assert set(state.frame()["verdict"]) == {"Fail"}


def test_a_filter_comes_back_as_it_was(answers):
    state = ExplorerState(answers, {"system": [HOSTILE, "a"]}, "banana")
    again = ExplorerState.from_filter(answers, state.filter())
    assert again.filter() == state.filter()
    pd.testing.assert_frame_equal(again.frame(), state.frame())


def test_pages_hold_each_row_once(answers):
    state = ExplorerState(answers)
    assert [len(state.page(n)) for n in range(4)] == [12, 12, 6, 0]
    assert [i for n in range(3) for i in state.page(n).index] == list(range(30))


def test_the_text_is_no_pattern(answers):
    assert len(ExplorerState(answers, text="(RED)?").frame()) == 29


def test_what_is_shown_is_escaped(answers):
    assert "<script" not in ExplorerState(answers, text="alert")._repr_html_()


@pytest.mark.parametrize("text", ["", "[]", '{"colour": ["red"]}', '{"verdict": "Fail"}', '{"text": 1}'])
def test_a_broken_filter_is_refused(answers, text):
    with pytest.raises(CallError):
        ExplorerState.from_filter(answers, text)


def test_a_run_opens_with_what_the_truth_says(demo_home):
    import longbanana_nb as lb

    state = lb.explore(
        demo_home / "reports" / "demo", filter='{"verdict": ["Fail"], "against_truth": ["agrees"], "judge": ["tools"]}'
    )
    frame = state.frame()
    assert len(frame) > 0
    assert set(frame["label"]) == {0}
    assert set(frame["truth"]) == {0}
