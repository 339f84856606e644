"""What a program in the sandbox sees of this machine: the system's own folders, a few made files, and what its cell lists."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from longbanana_nb.errors import CallError
from longbanana_nb.generation.sandbox.contracts import GATE, HOME, WORK, Cell

INIT = "/run/cell_init.py"
TMP_MB = 512  # of /tmp, in memory
SHM_MB = 256
SYSTEM = ("/usr",)
ROOTS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr on most systems
OPTIONAL = (  # of /etc and elsewhere: nothing of them names people, hosts, or keys
    "/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/fonts", "/etc/localtime",
    "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust",
    "/etc/ca-certificates", "/nix/store",
)  # fmt: skip
MADE = {
    "/etc/passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n",
    "/etc/group": "root:x:0:\nagent:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}
APART = (
    "--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    "--disable-userns", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--uid", "1000", "--gid", "1000",
    "--hostname", "cell",
)  # fmt: skip


def bare_python() -> Path:
    """The Python that runs the first program of a cell: the one under this environment, past its links."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def python_files() -> Iterator[Path]:
    """What that Python needs: itself, its standard library, its shared library."""
    python = bare_python()
    yield python
    yield Path(sysconfig.get_path("stdlib")).resolve()
    library = sysconfig.get_config_var("LDLIBRARY") or ""
    shared = python.parent.parent / "lib" / library
    if ".so" in library and shared.exists():
        yield from sorted(shared.parent.glob("libpython*"))


def mounted(cell: Cell) -> dict[str, Path]:
    """Path inside -> folder or file of the host, for all that is shown read-only."""
    shown = {
        place: Path(place) for place in (*SYSTEM, *ROOTS, *OPTIONAL) if Path(place).exists() and not Path(place).is_symlink()
    }
    shown |= {str(file): file for file in python_files() if not file.is_relative_to("/usr")}
    shown |= {INIT: Path(__file__).with_name("cell_init.py")}
    return {**shown, **cell.read_only}


def refuse_what_shows(shown: Mapping[str, Path], hidden: Iterable[Path]) -> None:
    """CallError where a folder that must not be seen lies in one that is shown, or the other way round."""
    for secret in {path.resolve() for path in hidden}:
        for place in shown.values():
            real = place.resolve()
            if secret.is_relative_to(real) or real.is_relative_to(secret):
                raise CallError(
                    f"The sandbox would show {real}, and with it {secret}, which a program under test must not see. "
                    "Move one of them: put releases, runs and programs into folders that do not hold each other."
                )


def arguments(cell: Cell, made: Mapping[str, int]) -> list[str]:
    """The options of bubblewrap, for `--args`; `made` maps the paths of `MADE` to open files with their text."""
    refuse_what_shows(mounted(cell), cell.hidden)
    options = [*APART, "--tmpfs", "/", "--dev", "/dev"]
    options += ["--proc", "/proc", "--remount-ro", "/proc"]  # root, even without capabilities, may write the kernel's settings
    options += ["--size", str(SHM_MB << 20), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"]  # noqa: S108  # a path inside
    options += ["--size", str(min(TMP_MB, cell.disk_mb) << 20), "--tmpfs", "/tmp", "--symlink", "../tmp", "/var/tmp"]  # noqa: S108
    for place in ROOTS:
        if Path(place).is_symlink():
            options += ["--symlink", str(Path(place).readlink()), place]
    for place, fd in made.items():
        options += ["--ro-bind-data", str(fd), place]
    options += ["--bind", str(cell.workspace.resolve()), WORK, "--bind", str(cell.home.resolve()), HOME]
    if cell.gate is not None:
        options += ["--ro-bind", str(cell.gate.resolve()), GATE]  # a socket can be connected to all the same
    shown = mounted(cell)
    for place in sorted(shown, key=lambda place: place.count("/")):  # what lies deeper is laid over what holds it
        options += ["--ro-bind", str(shown[place].resolve()), place]
    options += ["--remount-ro", "/", "--chdir", WORK]
    for name, value in cell.env.items():
        options += ["--setenv", name, value]
    return options
