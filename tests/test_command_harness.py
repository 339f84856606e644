"""The user's own program: what it is told, what becomes of what it leaves, what is refused before anything runs."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from conftest import run_command
from generation_fixtures import make_case, make_release, picture
from sandbox_fixtures import NO_SANDBOX, none_running, running

from longbanana_nb.errors import CallError, DataError
from longbanana_nb.generation import Models, generate_run, prepare
from longbanana_nb.generation.command import command
from longbanana_nb.runs import SystemSpec, create_run, load_experiment, parse_system, verify_run
from longbanana_nb.runs.keyscan import key_faults

ROOT = Path(__file__).parent.parent
KEY = "not-a-known-shape-of-key-4711"
GOOD = """
import json, sys
from pathlib import Path
from PIL import Image
task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
Image.new("RGB", (64, 48), "red").save(task["out"])
"""
PLACES = [pytest.param("bubblewrap", marks=NO_SANDBOX), "none"]


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "my program"
    place.mkdir()
    return place


def system(folder: Path, code: str = GOOD, *, sandbox: str = "none", name: str = "mine", **harness: object) -> SystemSpec:
    """A `command` system written in `folder`, whose program is `code`."""
    (folder / "draw.py").write_text(code, "utf-8")
    words = {"kind": "command", "argv": ["python", "draw.py", "{task}", "{out}"], "timeout_s": 60, **harness}
    return parse_system({"name": name, "sandbox": sandbox, "harness": words}).written_in(folder)


def ready(spec: SystemSpec) -> str:
    """The system's hash, or CallError where it cannot run."""
    return prepare([spec], [], backends={}, agents={})[0].sha256


def draft_of(spec: SystemSpec, case, **models):
    return command(case, spec, Models(**models), seed=5)


ECHO = """
import json, os, sys
from pathlib import Path
task = json.loads(Path(sys.argv[1]).read_text("utf-8"))
seen = {one["path"]: Path(one["path"]).read_bytes().hex() for one in [*task["references"], task["background"]] if one}
print(json.dumps({"task": task, "argv": sys.argv, "here": os.listdir(), "cwd": os.getcwd(), "seen": seen,
                  "files": sorted(os.listdir(sys.argv[3])), "home": os.listdir(os.environ["HOME"]), "names": sorted(os.environ)}))
"""


@pytest.mark.parametrize("sandbox", PLACES)
def test_the_program_is_told_prompt_and_pictures_in_order_and_nothing_else(folder, tmp_path, sandbox, monkeypatch):
    monkeypatch.setattr("longbanana_nb.generation.sandbox.said.MOST_CHARACTERS", 10**6)
    monkeypatch.setattr("longbanana_nb.generation.command.end_of", lambda output, secrets: output.decode())
    monkeypatch.setattr("longbanana_nb.generation.contracts.shortened", lambda text: text)
    case = make_case(tmp_path / "case", "secret_name_7", 3, prompt='Draw "ü" \U0001f34c.')
    spec = system(folder, ECHO, sandbox=sandbox, argv=["python", "draw.py", "{task}", "{out}", "{refs}"])
    draft = draft_of(spec, case)
    said = next(line["text"] for line in draft.trace if line["name"] == "stdout")
    told = json.loads(said.replace("{out}", ""))
    task = told["task"]
    assert (task["schema"], task["prompt"], task["seed"]) == ("lb.task.v1", 'Draw "ü" \U0001f34c.', 5)
    assert [(one["id"], one["role"]) for one in task["references"]] == [(f"ref_0{n}", "reference") for n in (1, 2, 3)]
    assert (task["background"]["id"], task["background"]["role"]) == ("back", "background")
    assert [bytes.fromhex(told["seen"][one["path"]]) for one in task["references"]] == [
        one.file.read_bytes() for one in case.references
    ]
    assert [Path(one["path"]).name for one in task["references"]] == ["01.png", "02.jpg", "03.png"]
    assert "secret_name_7" not in said
    assert "RGC" not in said
    assert sorted(told["here"]) == ["out", "references", "steps", "task.json"]
    assert told["home"] == []
    assert set(told["names"]) - {"LC_CTYPE", "PWD"} == {"HOME", "LANG", "PATH", "TERM", "TMPDIR"}
    if sandbox == "bubblewrap":
        assert (told["cwd"], task["out"], told["argv"][2]) == ("/work", "/work/out/picture.png", "/work/out/picture.png")


START = "import sys, os, time\nfrom pathlib import Path\nfrom PIL import Image\nout = Path(sys.argv[2])\n"
PICTURE = "Image.new('RGB', (64, 48), 'red').save(out)\n"
OUTCOMES = {
    "a picture": (START + PICTURE, "image", None),
    "a picture, and then a crash": (START + PICTURE + "raise SystemExit(9)", "image", None),
    "a JPEG under the name it was told": (START + "Image.new('RGB', (64, 48)).save(out, 'JPEG')", "image", None),
    "nothing": (START, "no_image", "no_picture_left"),
    "an empty file": (START + "out.touch()", "no_image", "empty_image"),
    "a crash": (START + "raise RuntimeError('out of paint')", "failed", "program_failed"),
    "a signal": (START + "os.kill(os.getpid(), 9)", "failed", "program_failed"),
    "no picture but a text": (START + "out.write_text('<svg/>')", "failed", "undecodable_image"),
    "half a picture": (START + PICTURE + "out.write_bytes(out.read_bytes()[:70])", "failed", "undecodable_image"),
    "a tiny picture": (START + "Image.new('RGB', (8, 8)).save(out)", "failed", "too_small"),
    "a link to a file": (START + "out.symlink_to('/etc/passwd')", "failed", "linked_picture"),
    "a link to a reference": (START + "out.symlink_to('references/01.png')", "failed", "linked_picture"),
    "a pipe": (START + "os.mkfifo(out)", "failed", "not_a_file"),
    "a device by a link": (START + "out.symlink_to('/dev/zero')", "failed", "linked_picture"),
    "a picture in the wrong place": (START + "Image.new('RGB', (64, 48)).save('picture.png')", "no_image", "no_picture_left"),
    "too long": (START + PICTURE + "time.sleep(60)", "timeout", "timeout"),
    "too much output": (START + PICTURE + "while True: print('x' * 65536)", "failed", "limit_passed"),
}


@pytest.mark.parametrize("sandbox", PLACES)
@pytest.mark.parametrize("what", OUTCOMES)
def test_what_it_leaves_decides_the_outcome(folder, tmp_path, what, sandbox):
    code, outcome, reason = OUTCOMES[what]
    draft = draft_of(
        system(folder, code, sandbox=sandbox, timeout_s=2 if what == "too long" else 60), make_case(tmp_path / "case")
    )
    assert (draft.outcome, draft.reason.code if draft.reason else None) == (outcome, reason)
    assert (draft.image is not None) == (outcome == "image")
    assert draft.trace[-1]["name"] == outcome
    assert [line["n"] for line in draft.trace] == list(range(1, len(draft.trace) + 1))


def test_a_crash_keeps_the_end_of_standard_error_without_controls_and_keys(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_PAINT", KEY)
    code = (
        START
        + "print('x' * 9000, file=sys.stderr)\n"
        + "print('\\x1b[31mred', os.environ['MY_PAINT'], file=sys.stderr)\nraise SystemExit(3)"
    )
    draft = draft_of(system(folder, code, env=["MY_PAINT"]), make_case(tmp_path / "case"))
    assert draft.reason.raw.startswith("exit code 3: xxx")
    assert draft.reason.raw.endswith("x\n\\x1b[31mred [redacted]")
    assert len(draft.reason.raw) < 2100


def test_pictures_on_the_way_are_kept_as_steps_also_when_it_fails(folder, tmp_path):
    code = START + "for n in (1, 2, 10): Image.new('RGB', (64, 48), (n, 0, 0)).save(f'steps/{n}.png')\n"
    case = make_case(tmp_path / "case")
    failed = draft_of(system(folder, code + "raise SystemExit(1)"), case)
    assert (failed.outcome, [step.n for step in failed.steps]) == ("failed", [1, 2, 3])
    done = draft_of(system(folder, code + "Image.new('RGB', (64, 48), (10, 0, 0)).save(out)"), case)
    assert (done.outcome, [step.n for step in done.steps]) == ("image", [1, 2, 3])  # the last one is the candidate
    assert done.steps[-1].image == done.image
    assert done.sent == ["back", "ref_01", "ref_02", "ref_03", "ref_04"]


def test_modules_and_data_beside_the_program_are_found_where_it_runs(folder, tmp_path):
    (folder / "helpers.py").write_text("COLOUR = 'teal'")
    (folder / "weights").mkdir()
    (folder / "weights" / "size.txt").write_text("77")
    code = (
        "import sys\nfrom pathlib import Path\nimport helpers\nfrom PIL import Image\n"
        "edge = int(Path(sys.argv[3]).read_text())\nImage.new('RGB', (edge, edge), helpers.COLOUR).save(sys.argv[2])\n"
    )
    argv = ["python", "draw.py", "{task}", "{out}", "{program}/weights/size.txt"]
    for sandbox in ("none", *(["bubblewrap"] if not NO_SANDBOX.args[0] else [])):
        draft = draft_of(
            system(folder, code, sandbox=sandbox, argv=argv, files=["helpers.py", "weights"]),
            make_case(tmp_path / f"case {sandbox}"),
        )
        assert draft.outcome == "image", draft.reason
    if not NO_SANDBOX.args[0]:
        draft = draft_of(system(folder, code, sandbox="bubblewrap", argv=argv, files=["weights"]), make_case(tmp_path / "case"))
        assert "No module named 'helpers'" in draft.reason.raw


@NO_SANDBOX
def test_programs_named_by_whole_path_and_shell_scripts_run(folder, tmp_path):
    (folder / "draw.sh").write_text('#!/bin/sh\ncp "$2"/01.png "$1"\n')
    (folder / "draw.sh").chmod(0o755)
    case = make_case(tmp_path / "case")
    for argv in (
        ["./draw.sh", "{out}", "{refs}"],
        [str(folder / "draw.sh"), "{out}", "{refs}"],
        ["sh", "draw.sh", "{out}", "{refs}"],
    ):
        draft = draft_of(system(folder, sandbox="bubblewrap", argv=argv), case)
        assert (draft.outcome, draft.image) == ("image", case.references[0].file.read_bytes()), (argv, draft.reason)
    python = Path(sys.executable).absolute()
    draft = draft_of(system(folder, sandbox="bubblewrap", argv=[str(python), "draw.py", "{task}"]), case)
    assert draft.outcome == "image", draft.reason


REFUSED = {
    "no place for the picture": ({"argv": ["python", "draw.py"]}, 'neither "{task}" nor "{out}"'),
    "a misspelt word": ({"argv": ["python", "draw.py", "{tsak}", "{out}"]}, r"'\{tsak\}'.*Did you mean '\{task\}'"),
    "a program that is not there": ({"argv": ["no-such-program", "{out}"]}, "no such program is on PATH"),
    "a file beside the system as a program": ({"argv": ["draw.py", "{out}"]}, r"write '\./draw\.py'"),
    "a path that is not there": ({"argv": ["./no.sh", "{out}"]}, "there is no .*no.sh"),
    "a file that is not there": ({"files": ["weights"]}, r"harness.files\[0\] 'weights': there is no"),
    "a path that leads out": ({"files": ["../secret"]}, "leads out of the system's folder"),
    "a variable that is not set": ({"env": ["LB_NOT_SET"]}, "LB_NOT_SET, which is not set"),
    "a value in place of a name": ({"env": [f"MY_KEY={KEY}"]}, "only names belong there"),
    "a key among the arguments": ({"argv": ["python", "draw.py", "{out}", "sk-ant-api03-abcdefghijk"]}, "what looks like a key"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_run_is_refused_before_anything_does(folder, what):
    harness, words = REFUSED[what]
    with pytest.raises(CallError, match=words) as caught:
        ready(system(folder, **harness))
    assert KEY not in str(caught.value)


def test_all_that_is_wrong_is_said_at_once(folder):
    spec = system(folder, argv=["no-such-program", "draw.py"], files=["weights"], env=["LB_NOT_SET"])
    with pytest.raises(CallError, match=r"neither .*LB_NOT_SET.*no such program.*weights"):
        ready(spec)


@NO_SANDBOX
def test_keys_do_not_enter_the_sandbox(folder, monkeypatch):
    monkeypatch.setenv("MY_API_KEY", KEY)
    with pytest.raises(CallError, match="MY_API_KEY, a key; keys never enter the sandbox"):
        ready(system(folder, sandbox="bubblewrap", env=["MY_API_KEY"]))
    assert ready(system(folder, sandbox="none", env=["MY_API_KEY"]))


def test_words_in_braces_without_quotes_are_explained(tmp_path):
    file = tmp_path / "experiment.yaml"
    file.write_text(
        "schema: lb.experiment.v1\nrun: run\nrelease: demo_v1\n"
        "systems: [{name: mine, harness: {kind: command, argv: [python, draw.py, {task}]}}]\n"
    )
    with pytest.raises(CallError, match=r'\{task\} without quotes, which YAML reads as a mapping.*Write "\{task\}"'):
        load_experiment(file)


def test_a_shim_that_chooses_among_programs_is_named(folder, tmp_path, monkeypatch):
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "chooser").write_text("#!/bin/sh\nexec python3\n")
    (tmp_path / "shims" / "chooser").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'shims'}:{os.environ['PATH']}")
    with pytest.raises(CallError, match="only chooses among others"):
        ready(system(folder, argv=["chooser", "draw.py", "{out}"]))


def test_the_hash_follows_the_programs_contents_and_not_its_place(folder, tmp_path, monkeypatch):
    first = ready(system(folder))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert ready(system(elsewhere)) == first
    assert ready(system(folder, GOOD + "# changed\n")) != first
    monkeypatch.setenv("PAINT", "one")
    valued = ready(system(folder, env=["PAINT"]))
    monkeypatch.setenv("PAINT", "two")
    assert ready(system(folder, env=["PAINT"])) == valued != first


def test_the_sandbox_is_the_default_and_only_programs_have_one():
    words = {"kind": "command", "argv": ["draw", "{out}"]}
    assert parse_system({"name": "mine", "harness": words}).sandbox == "bubblewrap"
    assert parse_system({"name": "blank", "harness": {"kind": "blank"}}).sandbox is None
    with pytest.raises(CallError, match="runs no program of others"):
        parse_system({"name": "blank", "harness": {"kind": "blank"}, "sandbox": "none"})
    with pytest.raises(CallError, match="bubblewrap"):
        parse_system({"name": "mine", "harness": words, "sandbox": "bubblewrp"})


@NO_SANDBOX
def test_a_system_that_would_show_the_release_or_the_run_is_refused(folder, tmp_path):
    release = make_release(folder / "release", ("007",))
    run = create_run(tmp_path / "run", release)
    with pytest.raises(
        DataError, match=r"would show .*my program, and with it .*release, which a program under test must not see"
    ):
        generate_run(run, release, [system(folder, sandbox="bubblewrap", files=["."])], backends={}, agents={})
    assert [record.system for record in run.records()] == []


def test_values_named_in_env_are_nowhere_in_the_run(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("PAINT_SECRET", KEY)
    code = GOOD + "import os; print(os.environ['PAINT_SECRET']); print(os.environ['PAINT_SECRET'], file=sys.stderr)\n"
    release = make_release(tmp_path / "release", ("007", "NA"))
    run = create_run(tmp_path / "run", release)
    generate_run(run, release, [system(folder, code, env=["PAINT_SECRET"])], backends={}, agents={})
    record = run.candidate("mine", "007").record()
    assert (record.outcome, record.sandbox, record.simulated, record.references.never_sent) == ("image", "none", False, [])
    assert [file for file in run.path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()] == []
    assert (key_faults(run.path), verify_run(run)) == ([], [])


def experiment(folder: Path, systems: list[dict[str, object]], release: Path) -> Path:
    file = folder / "experiment.yaml"
    value = {"schema": "lb.experiment.v1", "run": "../run", "release": str(release), "systems": systems}
    file.write_text(yaml.safe_dump({**value, "floors": {"single-reference": "off"}}), "utf-8")
    return file


def command_system(name: str, **fields: object) -> dict[str, object]:
    return {"name": name, "harness": {"kind": "command", "argv": ["python", "draw.py", "{task}", "{out}"]}, **fields}


def test_without_a_working_sandbox_plan_and_generate_refuse_and_none_is_marked(folder, tmp_path, monkeypatch):
    (folder / "draw.py").write_text(GOOD, "utf-8")
    release = make_release(tmp_path / "release", ("007",))
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    file = experiment(folder, [command_system("mine"), command_system("open", sandbox="none")], release.manifest)
    planned = run_command("plan", file, cwd=tmp_path, home=tmp_path / "home")
    assert re.search(r"mine +CANNOT RUN: .*bubblewrap \(bwrap\) is not installed.*With `sandbox: none`", planned.stdout)
    refused = run_command("generate", file, cwd=tmp_path, home=tmp_path / "home", check=2)
    assert "bwrap" in refused.stderr
    assert not (tmp_path / "run" / "candidates").exists()
    file = experiment(folder, [command_system("open", sandbox="none")], release.manifest)
    done = run_command("generate", file, cwd=tmp_path, home=tmp_path / "home", check=0)
    assert "open runs without a sandbox" in planned.stdout
    assert "open runs without a sandbox" in done.stdout
    record = json.loads((tmp_path / "run" / "candidates" / "open" / "007" / "s0" / "record.json").read_text())
    assert (record["outcome"], record["sandbox"]) == ("image", "none")


SLOW = GOOD.replace("Image.new", "import time; time.sleep(1.5); Image.new", 1)


@pytest.mark.parametrize("sandbox", PLACES)
def test_kill_9_leaves_no_program_and_the_same_command_goes_on(folder, tmp_path, sandbox):
    marker = f"draw-{tmp_path.name}.py"
    (folder / marker).write_text(SLOW, "utf-8")
    release = make_release(tmp_path / "release", ("1", "2", "3"))
    harness = {"kind": "command", "argv": ["python", marker, "{task}", "{out}"]}
    file = experiment(folder, [{"name": "mine", "sandbox": sandbox, "harness": harness}], release.manifest)
    arguments = [sys.executable, "-m", "longbanana_nb", "generate", str(file)]
    environment = {**os.environ, "LONGBANANA_HOME": str(tmp_path / "home")}
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as workbench:
        ends = time.monotonic() + 60
        while not running(marker) and time.monotonic() < ends:
            time.sleep(0.05)
        assert running(marker)
        workbench.send_signal(signal.SIGKILL)
    assert none_running(marker)
    run_command("generate", file, cwd=tmp_path, home=tmp_path / "home", check=0)
    records = sorted((tmp_path / "run" / "candidates" / "mine").glob("*/s0/record.json"))
    assert [json.loads(one.read_text())["outcome"] for one in records] == ["image"] * 3
    assert none_running(marker)


def test_a_second_ctrl_c_ends_running_programs_at_once(folder, tmp_path):
    marker = f"draw-{tmp_path.name}.py"
    (folder / marker).write_text(GOOD.replace("Image.new", "import time; time.sleep(200); Image.new", 1), "utf-8")
    release = make_release(tmp_path / "release", ("1", "2", "3"))
    harness = {"kind": "command", "argv": ["python", marker, "{task}", "{out}"]}
    file = experiment(folder, [{"name": "mine", "sandbox": "none", "harness": harness}], release.manifest)
    arguments = [sys.executable, "-m", "longbanana_nb", "generate", str(file)]
    environment = {**os.environ, "LONGBANANA_HOME": str(tmp_path / "home")}
    with subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as workbench:
        ends = time.monotonic() + 60
        while not running(marker) and time.monotonic() < ends:
            time.sleep(0.05)
        workbench.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert running(marker)  # the first one lets what is begun finish
        workbench.send_signal(signal.SIGINT)
        workbench.communicate(timeout=20)
    assert none_running(marker)


@NO_SANDBOX
def test_the_example_of_the_page_is_the_shipped_one_and_runs(tmp_path):
    page = (ROOT / "docs" / "own-program.md").read_text("utf-8")
    program, file = (ROOT / "docs" / "examples" / name for name in ("own_program.py", "own-program.yaml"))
    assert f"```python\n{program.read_text('utf-8')}```" in page
    assert f"```yaml\n{file.read_text('utf-8')}```" in page
    lines = [line for line in program.read_text("utf-8").splitlines() if line and not line.startswith(('"""', "import", "from"))]
    assert len(lines) <= 10
    folder = tmp_path / "docs" / "examples"
    folder.mkdir(parents=True)
    for one in (program, file):
        (folder / one.name).write_bytes(one.read_bytes())
    release = make_release(tmp_path / "release", ("1", "2"), count=32)
    spec = load_experiment(folder / file.name).systems[0]
    run = create_run(tmp_path / "run", release)
    generate_run(run, release, [spec], backends={}, agents={})
    record = run.candidate("my-program", "1").record()
    assert (record.outcome, record.sandbox, record.image.width) == ("image", "bubblewrap", 1024)


def test_a_reference_that_changed_since_the_release_was_opened_is_named(folder, tmp_path):
    case = make_case(tmp_path / "case")
    case.references[1].file.write_bytes(picture("white"))
    with pytest.raises(DataError, match="ref_02"):
        draft_of(system(folder), case)
