"""The notebook on a release of one's own: it writes a valid release, whose checks tell a look-alike from the right thing."""

from conftest import run_command

from longbanana_nb.release import validate_release
from longbanana_nb.runs import open_run
from longbanana_nb.teaching import verdicts_of


def test_a_graph_becomes_a_release_that_tells_a_look_alike_from_the_right_thing(tmp_path):
    run_dir = tmp_path / "reports" / "own"
    for _ in range(2):  # a second time changes nothing
        run_command("notebook", "11_bring_your_own", "-p", "run_dir", run_dir, cwd=tmp_path, home=tmp_path, check=0)
    manifest = tmp_path / "data" / "releases" / "my_products" / "manifest.json"
    found = validate_release(manifest, evaluation=True)
    assert found.ok
    assert found.counts == {"cases": 1, "references": 4, "backgrounds": 0, "checks": 10}
    verdicts = verdicts_of(open_run(run_dir), "tools").pivot_table(index="check_id", columns="system", values="label")
    assert (verdicts["as-asked"] == 2).all()
    failed = verdicts["look-alike"][lambda labels: labels == 0]
    assert list(failed.index) == ["c03", "c04", "c08"]  # its colour, its lettering, and the look-alike that is there
