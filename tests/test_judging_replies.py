"""Replies are read strictly: a structured verdict is a label, everything else is invalid for the right reason."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_judge_fixtures import OPTIONS, check, said

from longbanana_nb.judging.quoting import RAW_BYTES, kept_raw, kept_value, visible
from longbanana_nb.judging.replies import VERDICT_FIELDS, read_choice, read_verdict, read_verdicts
from longbanana_nb.release.contract import Option


def read(text, stop="end", options=OPTIONS):
    found = read_verdict(said(text, stop), options)
    return found.label if found.invalid is None else found.invalid


FENCE = '```json\n{"choice":"Pass"}\n```'


@pytest.mark.parametrize(
    "text",
    [
        '{"verdict":"Pass"}',
        FENCE,
        '```\n{"verdict": "Pass"}\n```',
        'Sure:\n```JSON\n{"verdict":"Pass"}\n```\nHope this helps',
        FENCE.replace("\n", "\r\n"),
        "\ufeff" + FENCE,
        '\ufeff {"verdict":"Pass"}\r\n',
        'I looked at it. {"verdict":"Pass"} That is all.',
        '{"rationale":"it says ```Fail``` {here}","verdict":"Pass"}',
        '{"score":"2"}',
        '{"score":2}',
        '{"score":2.0}',
        '{"score":"2.0"}',
        '{"label":"pass"}',
        '{"verdict":" PASS\\n"}',
        '{"verdict":"Pass","label":2}',
    ],
)
def test_a_well_formed_pass_is_two(text):
    assert read(text) == 2


@pytest.mark.parametrize(("word", "label"), [("Fail", 0), ("UNCERTAIN", 1), ("pass", 2), (0, 0), (1, 1), ("0", 0), (1.0, 1)])
def test_each_label_is_read(word, label):
    assert read(json.dumps({"verdict": word})) == label


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "parse_error"),
        ("I think so?", "parse_error"),
        ("The image looks fine.", "parse_error"),
        ("Not a Pass", "parse_error"),
        ("Verdict: Pass", "parse_error"),
        ("Uncertain, leaning Pass", "parse_error"),
        ('{"score":', "parse_error"),
        ("{'verdict': 'Pass'}", "parse_error"),
        ('"{\\"verdict\\":\\"Pass\\"}"', "parse_error"),
        ('[{"verdict":"Pass"}]', "parse_error"),
        ('{"verdict":"Pass"}}', "parse_error"),
        ('```json\n{"verdict":"Pass"}', "parse_error"),
        ('```json\nso {"verdict":"Pass"}\n```', "parse_error"),
        ('```\nx\n```\n```json\n{"verdict":"Pass"}\n```', "parse_error"),
        ('{"a":' * 100_000, "parse_error"),
        ('{"reason":"cannot evaluate"}', "missing_field"),
        ("{}", "missing_field"),
        ('{"answer":{"verdict":"Pass"}}', "missing_field"),
        ('{"Verdict":"Pass"}', "missing_field"),
        ('{"score":null}', "bad_value"),
        ('{"score":true}', "bad_value"),
        ('{"score":1.5}', "bad_value"),
        ('{"score":"1.5"}', "bad_value"),
        ('{"score":"2 - Pass"}', "bad_value"),
        ('{"verdict":"Pass."}', "bad_value"),
        ('{"verdict":"not Pass"}', "bad_value"),
        ('{"verdict":["Pass"]}', "bad_value"),
        ('{"verdict":"Ｐass"}', "bad_value"),
        ('{"verdict":"٢"}', "bad_value"),
        ('{"verdict":""}', "bad_value"),
        ('{"score":3}', "out_of_range"),
        ('{"score":-1}', "out_of_range"),
        ('{"score":"-1"}', "out_of_range"),
        ('{"score":100}', "out_of_range"),
        ('{"score":98989}', "out_of_range"),
        ('{"score":' + "9" * 6000 + "}", "out_of_range"),
        ('{"score":1e999}', "out_of_range"),
        ('{"score":NaN}', "out_of_range"),
        ('{"score":Infinity}', "out_of_range"),
        ('{"score":"NaN"}', "out_of_range"),
        ('{"verdict":"Pass","verdict":"Fail"}', "ambiguous"),
        ('{"verdict":"Pass","verdict":"Pass"}', "ambiguous"),
        ('{"verdict":"Pass","a":{"b":1,"b":2}}', "ambiguous"),
        ('{"verdict":"Pass","score":0}', "ambiguous"),
        ('{"verdict":"Pass"}\n{"verdict":"Fail"}', "ambiguous"),
        ('```json\n{"verdict":"Pass"}\n```\n```json\n{"verdict":"Fail"}\n```', "ambiguous"),
        ('{"verdict":"Fail"} or {verdict: Pass}', "ambiguous"),
    ],
)
def test_everything_else_is_invalid_for_its_reason(text, reason):
    assert read(text) == reason
    assert read(text) == reason  # and the same again


@pytest.mark.parametrize("stop", ["truncated", "refused", "filtered"])
@pytest.mark.parametrize("text", ["", '{"choice":"Pa', '{"verdict":"Pass"}'])
def test_a_reply_that_was_not_ended_by_the_model_is_no_answer_however_complete_it_looks(stop, text):
    assert read(text, stop) == stop


def test_a_wish_for_a_tool_where_there_is_none_is_no_answer():
    assert read('{"verdict":"Pass"}', "tool") == "parse_error"


def test_the_options_own_names_count_exactly_as_they_are_written():
    options = (Option(0, "Nein", ""), Option(1, "Unklar", ""), Option(2, "Ja", ""))
    assert [read(json.dumps({"verdict": word}), options=options) for word in ("Ja", "Nein", "Unklar")] == [2, 0, 1]
    assert [read(json.dumps({"verdict": word}), options=options) for word in ("ja", "J", "Ja ")] == ["bad_value"] * 3


def test_a_name_that_means_two_values_is_ambiguous():
    crossed = (Option(0, "Pass", "no fault is passed over"), Option(1, "Uncertain", ""), Option(2, "Fail", ""))
    assert read('{"verdict":"Pass"}', options=crossed) == "ambiguous"
    assert read('{"verdict":"PASS"}', options=crossed) == 2  # only the exact name is the option's


MANY = [("q1", check("a")), ("q2", check("b")), ("q3", check("c"))]


def labels(answers):
    found = read_verdicts(said(json.dumps({"answers": answers})), MANY)
    return [one.label if one.invalid is None else one.invalid for one in found]


def test_of_several_answers_a_missing_or_broken_one_costs_only_its_own_check():
    good = {"id": "q1", "verdict": "Pass"}
    assert labels([good, {"id": "q3", "verdict": "Fail"}]) == [2, "missing_field", 0]
    assert labels([good, {"id": "q2", "verdict": "maybe"}, {"id": "q3"}]) == [2, "bad_value", "missing_field"]
    assert labels([good, {"id": "q2", "verdict": 0}, {"id": "q2", "verdict": 2}, "q3"]) == [2, "ambiguous", "missing_field"]
    assert labels([{"id": "q4", "verdict": 0}, {"id": 1, "verdict": 0}]) == ["missing_field"] * 3


def test_a_reply_to_several_that_is_no_list_is_invalid_for_all():
    assert [one.invalid for one in read_verdicts(said('{"q1":"Pass"}'), MANY)] == ["missing_field"] * 3
    assert [one.invalid for one in read_verdicts(said('{"answers":{"q1":"Pass"}}'), MANY)] == ["bad_value"] * 3
    assert [one.invalid for one in read_verdicts(said("", "truncated"), MANY)] == ["truncated"] * 3


def test_a_choice_is_one_of_the_words_exactly():
    assert read_choice(said('{"critic":"A b"}'), "critic", ("A b",)) == ("A b", None)
    assert read_choice(said('{"critic":"a b"}'), "critic", ("A b",)) == (None, "bad_value")
    assert read_choice(said("{}"), "critic", ("A b",)) == (None, "missing_field")


def holds_a_verdict(text):
    """Whether some part of a text is a JSON object with a verdict field: a slow, independent search."""
    for start in (n for n, letter in enumerate(text) if letter == "{"):
        for end in (n for n, letter in enumerate(text) if letter == "}" and n > start):
            try:
                found = json.loads(text[start : end + 1])
            except ValueError:
                continue
            if isinstance(found, dict) and set(found) & set(VERDICT_FIELDS):
                return True
    return False


PIECES = st.sampled_from(
    ["Pass", "Fail", '"verdict"', '"score"', ":", "{", "}", "[", "]", ",", "2", "0", "```", "json", "\n", " ", '"', "NaN", "\\"]
)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=14).map("".join)))
def test_random_text_gives_a_label_only_if_it_holds_a_well_formed_verdict(text):
    found = read_verdict(said(text), OPTIONS)
    assert (found.label is None) != (found.invalid is None)
    if found.label is not None:
        assert holds_a_verdict(text)


def test_a_rationale_cannot_steer_a_terminal_or_a_page():
    text = json.dumps({"rationale": "\x1b[2J\u202eevil\x00\u2028 <script>alert(1)</script>\nok\ud800", "verdict": "Pass"})
    found = read_verdict(said(text))
    assert found.label == 2
    assert found.rationale == "\\x1b[2J\\u202eevil\\x00\\u2028 <script>alert(1)</script>\nok\\ud800"
    found.rationale.encode("utf-8")


def test_what_is_kept_of_a_reply_holds_no_key_and_at_most_four_kilobytes(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "topsecret-value-0123456789")
    kept = kept_raw("topsecret-value-0123456789 sk-ant-abcdefghijklmnop " + "ü" * 5000)
    assert "topsecret" not in kept
    assert "sk-ant-" not in kept
    assert RAW_BYTES - 1 <= len(kept.encode("utf-8")) <= RAW_BYTES
    assert "sk-ant-" not in read_verdict(said('{"reason":"sk-ant-abcdefghijklmnop","verdict":2}')).rationale


def test_what_is_kept_of_arguments_is_bounded_plain_json():
    hostile = {"a": "\x1b]0;x\x07", "b": [float("nan")] * 100, "c": 10**400, "d": {"e": {"f": {"g": {"h": 1}}}}}
    kept = kept_value(hostile)
    assert kept["a"] == "\\x1b]0;x\\x07"
    assert kept["b"] == ["nan"] * 20
    assert kept["d"]["e"]["f"]["g"] == "[nested deeper]"
    json.dumps(kept, allow_nan=False)
    assert visible("Grüße 漢字 \t\n") == "Grüße 漢字 \t\n"
