"""What was answered is on disk before it counts; what a kill leaves behind is set aside, never read, never in the way."""

import os
import random
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import nbformat
import pytest
from runs_fixtures import CASE_IDS, answer, make_release, make_run, save_image, save_outcome

from longbanana_nb.demonstration import NotebookJob, carry_out_job
from longbanana_nb.errors import CallError, DataError
from longbanana_nb.files import sha256_bytes
from longbanana_nb.runs import Journal, open_run, verdict_grid

TESTS = Path(__file__).parent
KILLS = 6  # each needs a fresh process, which takes a second


@pytest.fixture
def run(tmp_path):
    return make_run(tmp_path / "my run", make_release(tmp_path / "release"))


def start(code: str, *arguments: object) -> subprocess.Popen:
    """A Python process of its own that can import the fixtures."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def kill(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_torn_last_line_is_not_read_and_is_set_aside_before_the_next(tmp_path):
    journal = Journal(tmp_path / "j.jsonl")
    journal.append_many([b"one", b"two"])
    with journal.path.open("ab") as stream:
        stream.write(b"thr")
    again = Journal(journal.path)
    assert again.lines() == [b"one", b"two"]
    again.append(b"three")
    assert again.lines() == [b"one", b"two", b"three"]
    assert (tmp_path / "j.jsonl.torn").read_bytes() == b"thr\n"


def test_a_whole_json_line_without_its_newline_does_not_count(tmp_path):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a":1}\n{"a":2}')
    assert Journal(path).lines() == [b'{"a":1}']


def test_lines_survive_a_kill_at_any_instant_and_none_is_torn(tmp_path):
    """Every line the writer reported is there, in order, and the file ends at a line."""
    writer = """
        import sys
        from pathlib import Path
        from longbanana_nb.runs.journal import Journal
        journal = Journal(Path(sys.argv[1]))
        n = len(journal.lines())
        while True:
            journal.append_many([f"{n + k} {'x' * 5000}".encode() for k in range(3)])
            n += 3
            print(n, flush=True)
    """
    path, chance = tmp_path / "j.jsonl", random.Random(5)
    reported = 0
    for _ in range(KILLS):
        process = start(writer, path)
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        rest = process.communicate()[0].split()
        reported = max([reported, *map(int, rest)])
        lines = Journal(path).lines()
        assert len(lines) >= reported
    Journal(path).append(f"{len(lines)} last".encode())
    assert [int(line.split()[0]) for line in Journal(path).lines()] == list(range(len(lines) + 1))


def test_a_second_process_is_told_who_holds_the_run_and_may_go_on_when_it_dies(run):
    holder = start(
        """
        import sys, time
        from longbanana_nb.runs import open_run
        with open_run(sys.argv[1]).owner():
            print("held", flush=True)
            time.sleep(60)
        """,
        run.path,
    )
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(CallError, match=rf"in use by process {holder.pid} on .* since 20"), run.owner():
        pass
    assert len(verdict_grid(run)) == 12  # reading needs no lock
    kill(holder)
    with run.owner(), run.owner():
        save_image(run, "sys-a", "007")
    with open_run(run.path).owner():
        pass


def test_two_objects_in_one_process_do_not_share_the_lock(run):
    with run.owner(), pytest.raises(CallError, match=f"process {os.getpid()}"), open_run(run.path).owner():
        pass


def test_a_candidate_is_whole_or_absent_when_its_process_is_killed(run):
    """Kills while candidates are saved over and over: never a record that names other bytes than those beside it."""
    saver = """
        import sys, itertools
        from runs_fixtures import CASE_IDS, save_image
        from longbanana_nb.runs import open_run
        run = open_run(sys.argv[1])
        with run.owner():
            for n in itertools.count():
                save_image(run, "sys-a", CASE_IDS[n % 4], (n % 256, 3, 4), with_step=n % 2 == 0)
                print("saved", flush=True)
    """
    chance, seen = random.Random(6), 0
    for _ in range(KILLS):
        process = start(saver, run.path)
        for _ in range(4):
            process.stdout.readline()
        time.sleep(chance.uniform(0, 0.03))
        kill(process)
        for slot in (run.candidate("sys-a", case_id) for case_id in CASE_IDS):
            record = slot.record()
            if record is not None:
                seen += 1
                assert sha256_bytes(slot.image.read_bytes()) == record.image.sha256
                assert all(sha256_bytes((slot.folder / step.file).read_bytes()) == step.sha256 for step in record.steps)
    assert seen >= 3 * KILLS  # only the one being saved may be absent
    with run.owner():
        pass
    assert not list(run.path.rglob("*.part"))


def test_what_a_half_made_attempt_left_is_replaced(run):
    slot = run.candidate("sys-a", "007")
    (slot.folder / "steps").mkdir(parents=True)
    (slot.folder / "steps" / "07.png").write_bytes(b"half")
    (slot.folder / "image.webp").write_bytes(b"half")
    slot.calls.write_bytes(b'{"id":1,"event":"opened","at":"x"}\n')
    assert slot.record() is None and slot.image is None
    save_image(run, "sys-a", "007", with_step=True)
    names = sorted(path.relative_to(slot.folder).as_posix() for path in slot.folder.rglob("*") if path.is_file())
    assert names == ["calls.jsonl", "image.png", "record.json", "steps/01.png", "trace.jsonl"]


def test_earlier_records_are_kept_and_attempts_counted(run):
    save_outcome(run, "sys-a", "007", "timeout")
    save_outcome(run, "sys-a", "007", "failed")
    slot = run.candidate("sys-a", "007")
    assert slot.next_attempt() == 3
    save_image(run, "sys-a", "007")
    assert slot.record().attempt == 3
    assert (slot.folder / "record.attempt-1.json").exists() and (slot.folder / "record.attempt-2.json").exists()


@pytest.mark.parametrize("image", [None, b"other"])
def test_a_record_and_bytes_that_do_not_belong_together_are_not_saved(run, image):
    save_image(run, "sys-a", "007")
    slot = run.candidate("sys-a", "NA")
    with pytest.raises(ValueError, match="record"):
        slot.save(run.candidate("sys-a", "007").record(), image)
    assert slot.record() is None


def test_a_broken_record_is_named_and_not_taken_for_a_missing_one(run):
    save_image(run, "sys-a", "007")
    path = run.candidate("sys-a", "007").folder / "record.json"
    path.write_text(path.read_text().replace('"outcome"', '"outcme"'))
    with pytest.raises(DataError, match=r"record.json.*outcme"):
        verdict_grid(run)


def test_a_number_that_json_does_not_have_is_never_written(run):
    red = save_image(run, "sys-a", "007")
    journal = run.judgments("tools", "sys-a", "007")
    journal.append_many([answer(run, "007", "001", 2, red, usage={"x": float("nan")})])
    assert b"NaN" not in journal.path.read_bytes()


needs_mount = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 600 KB in a folder whose name has a space; unmounted afterwards."""
    folder = tmp_path / "small disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine does not let tests mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@needs_mount
def test_a_full_disk_is_said_plainly_and_nothing_answered_is_lost(small_disk, tmp_path):
    run = make_run(small_disk / "run", make_release(tmp_path / "release"))
    red = save_image(run, "sys-a", "007")
    journal, kept = run.judgments("tools", "sys-a", "007"), 0
    big = answer(run, "007", "001", 2, red, rationale="x" * 40_000)
    with pytest.raises(DataError, match=r"No space left on device while writing .*007.jsonl; what was answered before is kept"):
        for _ in range(100):
            journal.append_many([big, big])
            kept += 2
    assert 0 < len(journal.read()) == kept
    assert journal.path.read_bytes().endswith(b"\n")
    with pytest.raises(DataError, match="No space left on device"):
        save_noise(run)
    assert run.candidate("sys-a", "NA").record() is None
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    journal.append_many([big])
    save_noise(run)
    assert len(journal.read()) == kept + 1
    assert run.candidate("sys-a", "NA").record().outcome == "image"


def save_noise(run) -> None:
    """A candidate of about 190 KB, which does not compress."""
    import msgspec

    record = run.candidate("sys-a", "007").record()
    noise = random.Random(1).randbytes(190_000)
    facts = msgspec.structs.replace(record.image, sha256=sha256_bytes(noise), bytes=len(noise))
    run.candidate("sys-a", "NA").save(msgspec.structs.replace(record, case_id="NA", image=facts), noise)


@needs_mount
def test_a_read_only_folder_is_said_plainly_and_can_still_be_read(small_disk, tmp_path):
    run = make_run(small_disk / "run", make_release(tmp_path / "release"))
    red = save_image(run, "sys-a", "007")
    run.judgments("tools", "sys-a", "007").append_many([answer(run, "007", "001", 2, red)])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(DataError, match=r"Read-only file system while writing .*run.lock"), run.owner():
        pass
    with pytest.raises(DataError, match="Read-only file system"):
        run.judgments("tools", "sys-a", "NA").append_many([answer(run, "007", "001", 2, red)])
    assert (verdict_grid(open_run(run.path)).state == "valid").sum() == 1


@needs_mount
def test_a_disk_that_fills_under_a_report_is_said_plainly(small_disk, tmp_path):
    notebook = tmp_path / "00_small.ipynb"
    parameters = nbformat.v4.new_code_cell('run_dir: str = ""', metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[parameters, nbformat.v4.new_code_cell("print('x' * 300_000)")]), notebook)
    (small_disk / "filler").write_bytes(b"x" * 400_000)
    result = carry_out_job(NotebookJob(notebook, small_disk / "run", small_disk / "run" / notebook.name, ()))
    assert result is not None
    assert f"No space left on device while writing {small_disk / 'run' / notebook.name}" in result[1]
    assert "free space and run the same command again" in result[1]
