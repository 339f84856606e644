"""The user's own program as a `command` system names it: its words, its files, its environment, and what is refused of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from longbanana_nb.errors import CallError
from longbanana_nb.files import canonical_json, sha256_bytes, sha256_file
from longbanana_nb.generation.interpreters import SEEN_ANYWAY, found_program, needed_by
from longbanana_nb.generation.sandbox.contracts import HOME, WORK, Places
from longbanana_nb.names import nearest
from longbanana_nb.runs.keyscan import looks_like_key

if TYPE_CHECKING:
    from longbanana_nb.runs import SystemSpec

FOLDER = "/program"  # the folder of the system's file, as the program sees what it may see of it
ELSEWHERE = "/outside"  # before paths of this machine that would lie in the program's own workspace or home
TASK, REFERENCES, OUT, STEPS = f"{WORK}/task.json", f"{WORK}/references", f"{WORK}/out/picture.png", f"{WORK}/steps"
PLACEHOLDERS = {"{task}": TASK, "{refs}": REFERENCES, "{out}": OUT, "{steps}": STEPS, "{program}": FOLDER}
BASE_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMES_A_KEY = re.compile(r"(?i)(?:^|_)(?:api_?key|key|token|secret|password|credentials)(?:$|_)")


@dataclass(frozen=True, slots=True)
class Program:
    """What a cell needs of the user's program. `words` still hold placeholders; `shown` maps places inside to files here."""

    words: tuple[str, ...]
    shown: Mapping[str, Path]
    environment: Mapping[str, str]  # without PATH, HOME and TMPDIR, which depend on the case
    folders: tuple[str, ...]  # for PATH, before the system's own
    secrets: tuple[str, ...]  # values of variables named in the system: never written anywhere
    sha256: str  # of the contents of its files

    def argv_in(self, places: Places) -> tuple[str, ...]:
        """The arguments of one run, with the paths that the program will see."""
        filled = []
        for word in self.words:
            for name, place in PLACEHOLDERS.items():
                word = word.replace(name, places.of(place))
            filled.append(places.of(word))
        return tuple(filled)

    def environment_in(self, places: Places, is_apart: bool) -> dict[str, str]:
        """The whole environment of one run."""
        home = places.of(HOME)
        path = os.pathsep.join([*map(places.of, self.folders), *BASE_PATH])
        return {"PATH": path, "HOME": home, "TMPDIR": "/tmp" if is_apart else home, **self.environment}  # noqa: S108


def program_of(spec: SystemSpec) -> Program:
    """Find everything a `command` system names.

    Raises:
        CallError: naming all that is wrong: a program or file that is not there, an unknown placeholder, a variable that is not
            set, a key that would enter the sandbox, no word that tells the program where to leave its picture.
    """
    faults = [*_word_faults(spec), *_variable_faults(spec)]
    files = _Files(spec)
    words = [files.first(spec.harness.argv[0]), *(files.word(word) for word in spec.harness.argv[1:])]
    for number, name in enumerate(spec.harness.files):
        files.listed(name, f"harness.files[{number}]")
    faults += files.faults
    if faults:
        raise CallError(f"system {spec.name!r}: {' '.join(faults)}")
    named = {name: os.environ[name] for name in spec.harness.env}
    bins = tuple(f"{place}/bin" for place, path in files.needed.items() if (path / "bin").is_dir())
    usual = {"LANG": "C.UTF-8", "TERM": "dumb"}
    shown = {**files.needed, **files.shown}
    return Program(tuple(words), shown, {**usual, **named}, bins, tuple(named.values()), _hash_of(files.shown))


class _Files:
    """Turns what a system names into places inside, and keeps what must be shown for them."""

    def __init__(self, spec: SystemSpec) -> None:
        self.name = spec.name
        self.folder = spec.folder
        self.shown: dict[str, Path] = {}
        self.needed: dict[str, Path] = {}
        self.faults: list[str] = []

    def first(self, word: str) -> str:
        """The program: a name on PATH, or a path from the system's folder."""
        if "/" in word:
            place = self._path(word, "harness.argv[0]")
            if place is not None and not place.startswith(f"{FOLDER}/"):
                self._need(self.shown.pop(place))
            return place or word
        try:
            program = found_program(word, self.name)
        except CallError as error:
            is_beside = self.folder is not None and (self.folder / word).is_file()
            hint = f" For the file beside the system's write './{word}'." if is_beside else ""
            self.faults.append(str(error).partition(": ")[2] + hint)
            return word
        self._need(program)
        return _seen(program)

    def _need(self, program: Path) -> None:
        self.needed |= {_seen(path): path for path in needed_by(program)}

    def word(self, word: str) -> str:
        """An argument; one that names a file of the system's folder, or a path of this machine, is that file."""
        if any(name in word for name in PLACEHOLDERS):
            return word
        if word.startswith("/"):
            is_file = Path(word).exists() and not word.startswith(
                ("/dev/", "/proc/", "/sys/", *(f"{one}/" for one in SEEN_ANYWAY))
            )
            return (self._path(word, "harness.argv") if is_file else None) or word
        is_file = self.folder is not None and bool(word) and not word.startswith("-") and (self.folder / word).is_file()
        return (self._path(word, "harness.argv") if is_file else None) or word

    def listed(self, name: str, where: str) -> None:
        """Another file or folder that the program may read."""
        self._path(name, where)

    def _path(self, name: str, where: str) -> str | None:
        path = Path(name)
        if not path.is_absolute():
            if self.folder is None:
                self.faults.append(
                    f"{where} {name!r} is relative, and the system was not read from a file. Write the whole path."
                )
                return None
            if ".." in path.parts:
                self.faults.append(f"{where} {name!r} leads out of the system's folder. Put it there, or write the whole path.")
                return None
            path = self.folder / path
        if not path.exists():
            self.faults.append(f"{where} {name!r}: there is no {path}. Correct it; paths are relative to the file of the system.")
            return None
        place = _seen(path) if Path(name).is_absolute() else f"{FOLDER}/{PurePosixPath(Path(name).as_posix())}".removesuffix("/.")
        self.shown[place] = path
        return place


def _seen(path: Path) -> str:
    """The place at which a path of this machine is seen: the same, unless it would lie in the program's own folders."""
    return f"{ELSEWHERE}{path}" if path.is_relative_to(WORK) or path.is_relative_to(HOME) else str(path)


def _word_faults(spec: SystemSpec) -> list[str]:
    faults = []
    for word in spec.harness.argv:
        if looks_like_key(word):
            faults.append(
                "harness.argv holds what looks like a key, which a run would keep. Put it into a variable, and its name into env."
            )
            continue
        faults += [
            f"harness.argv has {name!r}; there are {', '.join(PLACEHOLDERS)}. Did you mean {near!r}?"
            for name in re.findall(r"\{[a-z_]+\}", word)
            if name not in PLACEHOLDERS and (near := nearest(name, PLACEHOLDERS))
        ]
    if not any(name in word for word in spec.harness.argv[1:] for name in ("{task}", "{out}")):
        faults.append(
            'harness.argv has neither "{task}" nor "{out}", so the program cannot know where to leave its picture. Add one.'
        )
    return faults


def _variable_faults(spec: SystemSpec) -> list[str]:
    faults = []
    for name in spec.harness.env:
        if not _VARIABLE.fullmatch(name):
            faults.append("harness.env holds something that is no name of a variable; only names belong there, never values.")
        elif name not in os.environ:
            faults.append(f"harness.env names {name}, which is not set. Set it, or take it out.")
        elif spec.sandbox != "none" and (_NAMES_A_KEY.search(name) or looks_like_key(os.environ[name])):
            faults.append(
                f"harness.env names {name}, a key; keys never enter the sandbox, and there is no network in it to use them. "
                "Take it out, or write `sandbox: none`."
            )
    return faults


def _hash_of(shown: Mapping[str, Path]) -> str:
    """Hash of the contents of files and folders by their places; what a folder links to outside of it is not followed."""
    found = []
    for place, path in sorted(shown.items()):
        inner = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        found += [[place, one.relative_to(path).as_posix(), _file_hash(one, *_state(one))] for one in inner if not _is_cache(one)]
    return sha256_bytes(canonical_json(found))


def _is_cache(path: Path) -> bool:
    return "__pycache__" in path.parts


def _state(path: Path) -> tuple[int, int]:
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


@lru_cache(maxsize=4096)
def _file_hash(path: Path, size: int, changed_ns: int) -> str:
    """The hash of a file, found once while it stays as it is; weights of a model are large."""
    return sha256_file(path)
