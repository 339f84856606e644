"""Keys in odd places: as part of a path or an address, in settings, names and printed errors; the value is never repeated."""

import json

import pytest
from conftest import run_command
from runs_fixtures import make_release, make_run, write_yaml

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.reporting.report import refuse_keys
from longbanana_nb.runs import find_keys, key_faults, load_experiment, looks_like_key, redact, verify_run

KEY = "sk-ant-api03-OTHERSECREToth"
SHORT = "sk-ant-TESTSECRET"


@pytest.mark.parametrize("text", [f"/home/ann/{KEY}/run", f"?x={KEY}", f"KEY={SHORT}", f"%3D{SHORT}", f"a+{KEY}", f"x-{SHORT}"])
def test_a_key_is_found_whatever_stands_before_it(text):
    assert looks_like_key(text, environment={}) == "an Anthropic key"
    assert "SECRET" not in redact(text)


@pytest.mark.parametrize("text", ["GOOGLE=AIza" + "b" * 35, "a/hf_" + "a" * 34, "Bearer abcdefghij0123456789xy"])
def test_other_keys_are_found_behind_signs(text):
    assert looks_like_key(text, environment={})


@pytest.mark.parametrize("text", ["risk-assessment-of-the-long-banana", "the bearer authentication/authorization-header"])
def test_prose_is_no_key(text):
    assert looks_like_key(text, environment={}) is None


def test_report_and_verify_find_the_same_keys_in_every_kind_of_file_and_in_names(tmp_path):
    run = make_run(tmp_path / "r", make_release(tmp_path / "release"))
    (run.path / "state.bin").write_bytes(b"\0" + SHORT.encode())
    (run.path / f"{KEY}.txt").write_text("nothing")
    faults = key_faults(run.path)
    assert len(faults) == 2
    assert "SECRET" not in "".join(map(str, faults))
    assert [fault for fault in verify_run(run) if fault.code == "key"] == faults
    with pytest.raises(DataError, match=r"state\.bin") as error:
        refuse_keys(run.path)
    assert "SECRET" not in str(error.value)
    assert find_keys([run.path / "run.json"], run.path) == []


@pytest.mark.parametrize(
    "system",
    [
        f"{{name: {KEY.lower()}, harness: {{kind: blank}}}}",
        f"{{name: a, harness: {{kind: fp-direct}}, backend: {{provider: sketch, id: x, params: {{api_key: {KEY}}}}}}}",
    ],
)
def test_an_experiment_that_holds_a_key_is_refused_by_line_without_repeating_it(tmp_path, system):
    file = write_yaml(tmp_path / "e.yaml", f"schema: lb.experiment.v1\nrun: r\nrelease: demo_v1\nsystems:\n- {system}\n")
    with pytest.raises(CallError, match=r"e\.yaml line 5: found what looks like an Anthropic key") as error:
        load_experiment(file)
    assert "SECRET" not in str(error.value).upper()


def test_a_key_typed_as_a_parameter_or_a_path_is_neither_written_nor_printed(tmp_path):
    asked = (("notebook", "04_aggregate", "-p", "run_dir", KEY), ("score", tmp_path / KEY), ("report", f"nowhere/{SHORT}"))
    for arguments in asked:
        done = run_command(*arguments, cwd=tmp_path, home=tmp_path)
        assert done.returncode in (1, 2)
        assert "SECRET" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_one_damaged_record_is_one_fault(tmp_path):
    from runs_fixtures import answer, save_image

    run = make_run(tmp_path / "r", make_release(tmp_path / "release"))
    sha256 = save_image(run, "sys-a", "007")
    answers = [answer(run, "007", check.check_id, 2, sha256) for check in run.checks() if check.case_id == "007"]
    run.judgments("tools", "sys-a", "007").append_many(answers)
    assert verify_run(run) == []
    record = run.candidate("sys-a", "007").folder / "record.json"
    record.write_text(json.dumps({"schema": "lb.rec"}))
    assert [fault.where for fault in verify_run(run)] == ["candidates/sys-a/007/s0/record.json"]
