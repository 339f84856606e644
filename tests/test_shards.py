"""An experiment in shards: each pair in one of them, what they know of themselves, and the whole put together again."""

import json
import shutil

import pytest
import yaml
from conftest import run_command

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.files import sha256_file
from longbanana_nb.runs import all_shards, leftovers, load_experiment, merge_runs, open_run, parse_shard, verdict_grid

CASES = ["scc_01", "rgc_01", "tsr_01"]


def written(folder, manifest, run):
    """An experiment file of five systems, floors included, three cases and two judges."""
    experiment = {
        "schema": "lb.experiment.v1",
        "run": run,
        "release": str(manifest),
        "cases": CASES,
        "systems": ["presets/systems/sketch-medium-fp-direct.yaml", "presets/systems/sketch-weak-fp-direct.yaml"],
        "judges": ["presets/judges/truth.yaml"],
        "floors": {"blank": "judge", "single-reference": "judge", "collage": "off", "words": "judge"},
        "limits": {"max_usd": 8},
        "analysis": {"compare": [["fp-direct-medium", "fp-direct-weak"]]},
    }
    file = folder / f"{run}.yaml"
    file.write_text(yaml.safe_dump(experiment), "utf-8")
    return file


@pytest.fixture(scope="module")
def made(demo_home, tmp_path_factory):
    """The same experiment as a whole, and in two shards; in a folder with their files."""
    folder = tmp_path_factory.mktemp("in shards")
    manifest = next((demo_home / "data" / "releases").glob("*/manifest.json"))
    for verb in ("generate", "judge"):
        run_command(verb, written(folder, manifest, "whole"), cwd=folder, home=demo_home, check=0)
        for part in ("1/2", "2/2"):
            run_command(verb, written(folder, manifest, "cut"), "--shard", part, cwd=folder, home=demo_home, check=0)
    return folder


def shards(folder):
    return [folder / f"cut-shard-{n}-of-2" for n in (1, 2)]


def pictures(run):
    return {path.relative_to(run): sha256_file(path) for path in run.glob("candidates/*/*/s*/image.*")}


def test_shards_are_disjoint_and_merged_they_are_the_whole_run(made, demo_home):
    parts = [pictures(run) for run in shards(made)]
    assert all(parts), "a shard without work would show nothing"
    assert not parts[0].keys() & parts[1].keys()
    run_command("merge", made / "cut", *shards(made), cwd=made, home=demo_home, check=0)
    assert pictures(made / "cut") == pictures(made / "whole") == parts[0] | parts[1]
    merged, whole = (open_run(made / name) for name in ("cut", "whole"))
    assert verdict_grid(merged).equals(verdict_grid(whole))
    for name in ("cases.jsonl", "checks.jsonl"):
        assert (merged.path / name).read_bytes() == (whole.path / name).read_bytes()
    texts = [run_command("score", run.path, "--json", cwd=made, home=demo_home, check=0).stdout for run in (merged, whole)]
    assert texts[0] == texts[1]
    assert merged.meta.shard is None
    assert [json.loads(line)["verdicts_before"] for line in (merged.path / "contrasts.jsonl").read_text().splitlines()] == [0, 0]
    run_command("verify", merged.path, cwd=made, home=demo_home, check=0)


def test_a_shard_has_the_whole_plan_and_its_own_denominators(made, demo_home):
    grids = [verdict_grid(open_run(run)) for run in shards(made)]
    whole = verdict_grid(open_run(made / "whole"))
    assert sum(map(len, grids)) == len(whole)
    assert all(set(grid["state"]) == {"valid"} for grid in grids)
    assert {len(open_run(run).cases()) for run in shards(made)} == {len(CASES)}
    assert [leftovers(open_run(run)) for run in shards(made)] == [[], []]


def test_a_shard_says_what_it_is_wherever_its_numbers_stand(made, demo_home):
    from longbanana_nb import workbench

    run = shards(made)[0]
    assert "shard 1/2" in run_command("score", run, cwd=made, home=demo_home).stderr
    tables = workbench.tables(open_run(run))
    assert all("shard 1/2 only" in " ".join(table.notes) for table in tables.values())
    plan = run_command("plan", made / "cut.yaml", "--shard", "1/2", cwd=made, home=demo_home, check=0).stdout
    assert "shard 1/2" in plan
    assert "share of limits.max_usd is $4" in plan
    assert "0 of " in plan


def test_candidates_of_the_other_shard_are_leftovers_and_enter_no_grid(made, tmp_path):
    run = tmp_path / "copy"
    shutil.copytree(shards(made)[0], run)
    foreign = sorted((shards(made)[1] / "candidates").glob("*/*"))[0]
    shutil.copytree(foreign, run / "candidates" / foreign.parent.name / foreign.name)
    assert len(leftovers(open_run(run))) == 1
    assert verdict_grid(open_run(run)).equals(verdict_grid(open_run(shards(made)[0])))


def test_some_shards_and_shards_of_two_counts_are_not_merged(made, tmp_path):
    first, second = shards(made)
    third = tmp_path / "third"
    shutil.copytree(second, third)
    meta = json.loads((third / "run.json").read_text())
    (third / "run.json").write_text(json.dumps(meta | {"shard": {"index": 2, "of": 3}}))
    with pytest.raises(DataError, match=r"shard 2/3"):
        merge_runs(tmp_path / "m", [first, third])
    with pytest.raises(DataError, match=r"also shard 2/2"):
        merge_runs(tmp_path / "m", [first, first])
    assert not (tmp_path / "m").exists()


def test_another_shard_in_the_same_folder_is_refused(made, demo_home):
    file = made / "same.yaml"
    value = yaml.safe_load((made / "cut.yaml").read_text())
    file.write_text(yaml.safe_dump(value | {"run": "cut-shard-1-of-2"}))
    done = run_command("generate", file, cwd=made, home=demo_home)
    assert done.returncode == 1
    assert "shard 1/2" in done.stderr
    done = run_command("judge", shards(made)[0], "--shard", "1/2", cwd=made, home=demo_home)
    assert done.returncode == 2
    assert "knows its own part" in done.stderr


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/1", "1/0", "1", "a/b", "-1/2", "1/2/3", "1.0/2", "¹/2", ""])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(CallError, match="shard"):
        parse_shard(text)


@pytest.mark.parametrize("of", [2, 3, 7])
def test_every_pair_is_in_one_shard_whatever_else_there_is(of):
    pairs = [(f"system-{n}", f"case {m}") for n in range(5) for m in range(40)]
    taken = [[one.index for one in all_shards(of) if one.holds(*pair)] for pair in pairs]
    assert all(len(found) == 1 for found in taken)
    counts = [taken.count([n]) for n in range(1, of + 1)]
    assert min(counts) > 0.5 * len(pairs) / of, "a hash spreads pairs about evenly"


def test_where_a_pair_goes_never_changes():
    assert [one.index for one in all_shards(4) if one.holds("fp-direct", "rgc_01")] == [1]


def test_the_budget_is_shared_out(made):
    whole = load_experiment(made / "cut.yaml")
    assert [whole.part(one).limits.max_usd for one in all_shards(4)] == [2.0] * 4
