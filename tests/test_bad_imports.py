"""Folders of images as other programs leave them, and pictures that no reader may run."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from release_fixtures import picture, small_release

from longbanana_nb.cli import main
from longbanana_nb.errors import DataError
from longbanana_nb.generation.images import NotAPictureError, examine
from longbanana_nb.reporting.shown import open_upright
from longbanana_nb.vision.decoding import decode

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 40\n%%EndComments\nshowpage\n"


def test_links_in_a_ring_are_faults_like_any_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "made elsewhere"
    folder.mkdir()
    (folder / "case_a.png").symlink_to("case_b.png")
    (folder / "case_b.png").symlink_to("case_a.png")
    manifest = small_release(tmp_path)
    assert main(["import-candidates", str(tmp_path / "run"), "--system", "mine", str(folder), "--release", str(manifest)]) == 1
    assert capsys.readouterr().err.count("a broken link or special file") == 2


@pytest.mark.parametrize("data", [b"hello there", EPS, b"<svg/>", b"\0\0\0\x18ftypheic" + b"\0" * 99])
def test_what_is_no_picture_is_said_the_same_each_time(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(NotAPictureError) as refused:
        examine(data)
    assert (refused.value.code, "0x7" in refused.value.found) == ("undecodable_image", False)
    with pytest.raises(DataError, match="no known type"):
        decode(data)
    file = tmp_path / "case_a.png"
    file.write_bytes(data)
    with pytest.raises(DataError, match="cannot be shown"):
        open_upright(file)


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "CMYK"])
def test_the_hash_of_pixels_is_that_of_the_upright_whole(mode: str) -> None:
    import hashlib

    image = Image.linear_gradient("L").resize((40, 700)).convert(mode)
    stream = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    image.save(stream, "JPEG" if mode in ("RGB", "L", "CMYK") else "PNG", exif=exif)
    with Image.open(io.BytesIO(stream.getvalue())) as opened:
        whole = opened.transpose(Image.Transpose.ROTATE_270).convert("RGBA")
    facts = examine(stream.getvalue())
    assert (facts.width, facts.height) == (700, 40)
    assert facts.pixel_sha256 == hashlib.sha256(b"700x40\n" + whole.tobytes()).hexdigest()


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="memory is read from /proc")
def test_a_large_picture_costs_about_its_own_memory(tmp_path: Path) -> None:
    file = tmp_path / "large.png"
    file.write_bytes(picture((9, 99, 200), "PNG", (9000, 9000)))
    # not ru_maxrss: a started program inherits that of the process that started it
    code = "import sys; from pathlib import Path; from longbanana_nb.generation.images import examine; "
    code += "examine(Path(sys.argv[1]).read_bytes()); status = Path('/proc/self/status').read_text(); "
    code += "print(status.partition('VmHWM:')[2].split()[0])"
    told = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert int(told.stdout) < 600_000
