"""Experiments are read strictly: every fault at once, each with the place and what to do."""

from pathlib import Path

import pytest
from runs_fixtures import make_release, write_yaml

from longbanana_nb.errors import CallError
from longbanana_nb.paths import presets_folder
from longbanana_nb.runs import CaseSample, load_experiment, parse_judge, parse_system, select_cases, selection_notes

GOOD = """
    schema: lb.experiment.v1
    run: ../out/mine
    release: ../data/manifest.json
    systems:
      - mine.yaml
      - {name: other, harness: {kind: fp-direct}, backend: {provider: sketch, id: sketch-weak}}
    judges: [presets/judges/tools.yaml]
    """
EXPANDING = "a: &a [1,1,1,1,1,1,1,1,1,1]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 10)}]\n" for old, new in zip("abcdef", "bcdefg", strict=True)
)
MINE = """
    name: mine
    harness: {kind: native, timeout_s: 60}
    workflow: minimal
    agent_model: {provider: embedded, id: planner-1}
    backend: {provider: sketch, id: sketch-medium}
    """


@pytest.fixture
def folder(tmp_path):
    write_yaml(tmp_path / "my experiments" / "mine.yaml", MINE)
    return tmp_path / "my experiments"


def faults_of(path) -> str:
    with pytest.raises(CallError) as raised:
        load_experiment(path)
    return str(raised.value)


def test_paths_are_relative_to_the_file_and_not_to_the_current_folder(folder, tmp_path, monkeypatch):
    file = write_yaml(folder / "e.yaml", GOOD)
    monkeypatch.chdir("/")
    experiment = load_experiment(file)
    assert experiment.run == tmp_path / "out" / "mine"
    assert experiment.release == tmp_path / "data" / "manifest.json"
    assert [spec.name for spec in experiment.systems] == ["mine", "other"]
    assert experiment.judges[0].protocol == "tools"


def test_the_demo_preset_names_four_systems_four_floors_and_two_judges():
    experiment = load_experiment("presets/experiments/demo.yaml")
    assert experiment.release == "demo_v1"
    assert [spec.name for spec in experiment.all_systems()] == [
        "fp-direct-weak", "fp-direct-medium", "fp-direct-strong", "native-medium",
        "blank", "single-reference", "collage", "words",
    ]  # fmt: skip
    assert [spec.name for spec in experiment.judges] == ["tools", "truth"]
    assert experiment.run == presets_folder().parent.parent / "reports" / "demo"


def test_floors_without_word_are_the_empty_picture_and_one_reference(folder):
    experiment = load_experiment(write_yaml(folder / "e.yaml", GOOD))
    assert [spec.name for spec in experiment.floor_systems()] == ["blank", "single-reference"]


def test_an_unquoted_off_is_off_for_floors(folder):
    file = write_yaml(folder / "e.yaml", GOOD + "floors: {blank: off, collage: judge}\n")
    assert [spec.name for spec in load_experiment(file).floor_systems()] == ["single-reference", "collage"]


def test_an_unquoted_off_elsewhere_is_explained():
    with pytest.raises(CallError, match="put the word in quotes"):
        parse_judge({"name": "j", "protocol": "direct", "model": {"provider": "a", "id": "b"}, "packet": {"crops": False}})


def test_every_fault_is_named_at_once_with_the_nearest_valid_word(folder):
    text = faults_of(
        write_yaml(
            folder / "e.yaml",
            """
            schema: lb.experiment.v1
            run: out
            release: m.json
            sytems: []
            cases: [007, no, "007", "007"]
            systems:
              - {name: a, harness: {kind: fp-drect, timout_s: 3}, backend: {provider: s, id: 7}}
              - gone.yaml
              - {name: B B, harness: {kind: blank}}
            floors: {worsd: judge}
            limits: {max_usd: .nan}
            """,
        )
    )
    for part in (
        "unknown key 'sytems'", "Did you mean 'systems'?", "cases[0]: found 7 (int)", "cases[1]: found False (bool)",
        "cases[3]: found '007' again", "Did you mean 'fp-direct'?", "Did you mean 'timeout_s'?", "backend.id: found 7 (int)",
        "systems[1]: found no file", "'B B'", "Did you mean 'words'?", "limits.max_usd: found nan",
    ):  # fmt: skip
        assert part in text, part


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ({"harness": {"kind": "native"}, "backend": {"provider": "s", "id": "x"}}, "without workflow"),
        ({"harness": {"kind": "fp-direct"}}, "without backend"),
        ({"harness": {"kind": "blank"}, "backend": {"provider": "s", "id": "x"}}, "blank system with backend"),
        ({"harness": {"kind": "pd-direct"}, "backend": {"provider": "s", "id": "x"}}, r"Add privileges: \[graph\]"),
        ({"harness": {"kind": "imported"}, "privileges": ["graph"]}, "only pd-direct uses"),
        ({"harness": {"kind": "command"}}, "without argv"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(system, said):
    with pytest.raises(CallError, match=said):
        parse_system({"name": "x", **system})


def test_the_variable_stands_for_the_whole_release_and_nothing_else_is_substituted(folder, monkeypatch):
    file = write_yaml(folder / "e.yaml", GOOD.replace("../data/manifest.json", "${DATASET_MANIFEST}"))
    monkeypatch.setenv("DATASET_MANIFEST", "/data/open_v1/manifest.json")
    assert load_experiment(file).release == Path("/data/open_v1/manifest.json")
    monkeypatch.setenv("DATASET_MANIFEST", "open_v1/manifest.json")
    assert "expected an absolute path" in faults_of(file)
    monkeypatch.delenv("DATASET_MANIFEST")
    assert "the variable unset" in faults_of(file)
    assert "is substituted" in faults_of(write_yaml(folder / "f.yaml", GOOD.replace("../out", "${HOME}/out")))


@pytest.mark.parametrize(
    ("compare", "says"),
    [
        ("[[workflw=rpr, workflow=minimal]]", "workflow"),
        ("[[workflow=rpr, harness=native]]", "one factor"),
        ("[[mine, workflow=rpr]]", "one factor"),
        ("[[mine, other], [other, mine]]", "each contrast once"),
    ],
)
def test_contrasts_that_compare_nothing_are_refused_before_anything_is_made(folder, compare, says):
    file = write_yaml(folder / "e.yaml", GOOD + f"analysis: {{compare: {compare}}}\n")
    with pytest.raises(CallError, match=says):
        load_experiment(file)


def test_two_values_of_a_factor_are_a_contrast(folder):
    file = write_yaml(folder / "e.yaml", GOOD + "analysis: {compare: [[workflow=rpr, workflow=minimal]]}\n")
    assert load_experiment(file).analysis.compare == (("workflow=rpr", "workflow=minimal"),)


def test_names_given_twice_and_contrasts_of_nobody_are_refused(folder):
    file = write_yaml(folder / "e.yaml", GOOD.replace("name: other", "name: mine") + "analysis: {compare: [[mine, blnk]]}\n")
    text = faults_of(file)
    assert "'mine' more than once" in text and "Did you mean 'blank'?" in text


def test_a_system_may_not_take_the_name_of_a_floor_that_is_judged(folder):
    assert "'blank' more than once" in faults_of(write_yaml(folder / "e.yaml", GOOD.replace("name: other", "name: blank")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run: a\nrun: b\n", "line 2: the key 'run' occurs twice"),
        ("run: [1\n", "line 2"),
        (EXPANDING, "aliases"),
        ("!!python/object/apply:os.system [true]\n", "could not determine a constructor"),
        ("- just\n- a list\n", "expected a valid dictionary"),
        ("", "found None"),
    ],
)  # fmt: skip
def test_what_is_no_experiment_gets_one_clear_error(tmp_path, text, said):
    file = tmp_path / "e.yaml"
    file.write_text(text)
    assert said in faults_of(file)


def test_a_missing_file_and_bytes_that_are_no_text_are_named(tmp_path):
    assert "gone.yaml" in faults_of(tmp_path / "gone.yaml")
    (tmp_path / "latin.yaml").write_bytes("run: Köln".encode("latin-1"))
    assert "not UTF-8" in faults_of(tmp_path / "latin.yaml")


def test_cases_are_chosen_in_the_order_of_the_release(tmp_path):
    cases = make_release(tmp_path / "release").cases
    assert select_cases(cases, "all") == ["007", "NA", "1e5", "Fisch, ü.1"]
    assert select_cases(cases, ("1e5", "007")) == ["007", "1e5"]
    one_each = select_cases(cases, CaseSample(per_category=1, seed=7))
    assert [cases[case_id].category for case_id in one_each] == ["SCC", "RGC"]
    assert one_each == select_cases(cases, CaseSample(per_category=1, seed=7))
    assert len(select_cases(cases, CaseSample(per_category=5))) == 4
    with pytest.raises(CallError, match="Did you mean '007'"):
        select_cases(cases, ("0077", "zzzz"))


def test_a_shipped_experiment_writes_where_the_installation_writes(tmp_path, monkeypatch):
    monkeypatch.setenv("LONGBANANA_HOME", str(tmp_path / "home"))
    assert load_experiment("presets/experiments/demo.yaml").run == tmp_path / "home" / "reports" / "demo"


def test_categories_that_a_sample_empties_are_named(tmp_path):
    cases = make_release(tmp_path / "release").cases
    assert selection_notes(cases, CaseSample(per_category=2)) == []
    assert selection_notes(cases, "all") == []
    (note,) = selection_notes(cases, CaseSample(per_category=3))
    assert "asks for 3 a category" in note
    assert note.endswith("all are taken: SCC 2, RGC 2.")
