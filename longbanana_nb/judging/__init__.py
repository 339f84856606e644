"""LongBanana-Eval: protocols, looks, the probe evaluator and the judging engine."""

from longbanana_nb.judging.answers import Answer, answer
from longbanana_nb.judging.looks import Lettering, Look, NoScene, Sighting, Unanswerable
from longbanana_nb.judging.protocols import CandidateJob, CaseJob, PictureFile, Protocol, Question, ToolsProtocol, TruthProtocol

__all__ = [
    "Answer",
    "CandidateJob",
    "CaseJob",
    "Lettering",
    "Look",
    "NoScene",
    "PictureFile",
    "Protocol",
    "Question",
    "Sighting",
    "ToolsProtocol",
    "TruthProtocol",
    "Unanswerable",
    "answer",
]
