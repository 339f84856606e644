"""LongBanana-Eval: protocols, looks, the probe evaluator and the judging engine."""

from longbanana_nb.judging.answers import Answer, answer
from longbanana_nb.judging.engine import judge_run
from longbanana_nb.judging.looks import Lettering, Look, NoScene, Sighting, Unanswerable
from longbanana_nb.judging.protocols import CandidateJob, CaseJob, PictureFile, Protocol, Question, ToolsProtocol, TruthProtocol
from longbanana_nb.judging.summary import Summary

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
    "Summary",
    "ToolsProtocol",
    "TruthProtocol",
    "Unanswerable",
    "answer",
    "judge_run",
]
