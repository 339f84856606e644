"""Protocols: the ways a judge comes to its answers; `tools` looks at pixels, `truth` at the scene the picture was made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import read_json, sha256_bytes
from longbanana_nb.judging import answers
from longbanana_nb.judging.answers import Answer
from longbanana_nb.judging.looks import Look, NoScene
from longbanana_nb.release import parse_probe
from longbanana_nb.release.probes import PROBE_VERSION

LookFactory = Callable[[dict[str, Any], dict[str, Any], dict[str, str]], Look]  # scene, graph, reference id by SHA-256


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture by its id, where its bytes lie, and their hash."""

    id: str
    file: Path
    sha256: str

    def read(self) -> bytes:
        """The bytes; DataError where they are not those of the hash."""
        try:
            data = self.file.read_bytes()
        except OSError as error:
            raise self._fault("unreadable", error.strerror or str(error), "a readable file") from None
        if sha256_bytes(data) != self.sha256:
            raise self._fault("sha256", sha256_bytes(data), self.sha256)
        return data

    def _fault(self, code: str, found: str, expected: str) -> DataError:
        fix = "Restore the file, or make the picture again."
        return DataError("A picture cannot be judged.", [Fault(str(self.file), code, found, expected, fix)])


@dataclass(frozen=True, slots=True)
class Question:
    """One check as a judge of probes needs it: its id and its probe (None: it has none)."""

    check_id: str
    probe: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class CandidateJob:
    """One candidate and the questions open on it; `key` is the engine's own name of it."""

    key: tuple[str, int]  # system, sample
    picture: PictureFile
    questions: tuple[Question, ...]
    scene: Path | None = None


@dataclass(slots=True)
class CaseJob:
    """Some candidates of one case, judged one after another by one worker, so that the case is prepared once."""

    protocol: Protocol
    case_id: str
    references: tuple[PictureFile, ...]
    candidates: tuple[CandidateJob, ...]
    graph: Mapping[str, Any] | None = None
    probes: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)  # of all checks of the case


@dataclass(frozen=True, slots=True)
class CandidateAnswers:
    """Answers in the order of the candidate's questions, or why it could not be looked at."""

    answers: list[Answer]
    failure: str | None = None


class Protocol(ABC):
    """A way to judge. What it depends on beyond the profile is in `versions`, and so in the judge's hash."""

    needs_scene: ClassVar[bool] = False  # whether jobs carry scenes and graphs, and the judge counts as simulated

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Versions of everything that decides an answer: prompt texts, tools, evaluator."""

    @abstractmethod
    def look(self, job: CaseJob, candidate: CandidateJob) -> Look:
        """The look at one candidate.

        Raises:
            NoScene: where nothing is known of the picture.
        """

    def judge_case(self, job: CaseJob) -> list[CandidateAnswers]:
        """Answers by candidate; a picture that cannot be read keeps nobody else from being judged."""
        results = []
        for candidate in job.candidates:
            try:
                results.append(CandidateAnswers(self._answers(job, candidate)))
            except DataError as fault:
                results.append(CandidateAnswers([], str(fault)))
        return results

    def _answers(self, job: CaseJob, candidate: CandidateJob) -> list[Answer]:
        try:
            look = self.look(job, candidate)
        except NoScene as why:
            return [Answer(None, "no_scene", rationale=str(why)) for _ in candidate.questions]
        return [self._answer(look, candidate, question) for question in candidate.questions]

    def _answer(self, look: Look, candidate: CandidateJob, question: Question) -> Answer:
        if question.probe is None:
            return Answer(None, "unanswerable", rationale="The check has no probe.")
        probe = parse_probe(question.probe, f"probe of check {question.check_id!r}")
        return answers.answer(probe, look, ("candidate", candidate.picture.sha256))


class ToolsProtocol(Protocol):
    """Pixels alone: the candidate's, and those of the references the probes' exemplars lie in. It knows no scene and no graph."""

    def versions(self) -> dict[str, str]:
        """Versions of the vision tools and of the evaluator."""
        from longbanana_nb.judging.pixels import versions

        return {"probes": PROBE_VERSION, "answers": answers.VERSION, **versions()}

    def look(self, job: CaseJob, candidate: CandidateJob) -> Look:
        """Look at the candidate's pixels; the case's exemplars are prepared once a process."""
        from longbanana_nb.judging.pixels import PixelLook, exemplars_of

        return PixelLook(candidate.picture.read(), exemplars_of(job.references, job.probes))


@dataclass
class TruthProtocol(Protocol):
    """What the picture was made from: a look at its scene, by a factory handed in from above.

    `factory` is called with the scene, the case's graph, and the ids of the case's references (the background's included) by the
    hash of their bytes; given as "module:name" it travels to worker processes by that name. `version` enters the judge's hash.
    """

    factory: str | LookFactory
    version: str = "1"

    needs_scene: ClassVar[bool] = True

    def versions(self) -> dict[str, str]:
        """Versions of the evaluator and of the factory."""
        name = self.factory if isinstance(self.factory, str) else f"{self.factory.__module__}:{self.factory.__qualname__}"
        return {"probes": PROBE_VERSION, "answers": answers.VERSION, "factory": name, "factory_version": self.version}

    def look(self, job: CaseJob, candidate: CandidateJob) -> Look:
        """Look at the candidate's scene."""
        if candidate.scene is None:
            raise NoScene("The picture has no scene.")
        if job.graph is None:
            raise NoScene("The release has no graph of this case.")
        scene = read_json(candidate.scene)
        if not isinstance(scene, dict) or scene.get("complete") is not True:
            raise NoScene("The picture's scene is not complete.")
        return self._factory()(scene, dict(job.graph), {one.sha256: one.id for one in job.references})

    def _factory(self) -> LookFactory:
        if not isinstance(self.factory, str):
            return self.factory
        module, _, name = self.factory.partition(":")
        factory: LookFactory = getattr(import_module(module), name)
        return factory


def judge_case(job: CaseJob) -> list[CandidateAnswers]:
    """Carry out a job; the importable function that worker processes call."""
    return job.protocol.judge_case(job)
