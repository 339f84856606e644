"""What happened: experiments, identity, the run folder, journals, the verdict grid, the pool, reuse, merge and verify."""

from longbanana_nb.runs.experiment import DEMO_RELEASE, Analysis, CaseSample, Experiment, Floors, Limits, load_experiment
from longbanana_nb.runs.grid import current_record, leftovers, verdict_grid
from longbanana_nb.runs.identity import judge_sha256, judgment_key, system_sha256
from longbanana_nb.runs.interrupts import Stop, graceful_stop
from longbanana_nb.runs.journal import Journal
from longbanana_nb.runs.judge_spec import JudgeSpec, parse_judge
from longbanana_nb.runs.judgments import INVALID_REASONS, Evidence, EvidenceImage, ImageSent, Judgment, JudgmentJournal
from longbanana_nb.runs.keyscan import find_keys, key_faults, looks_like_key, redact
from longbanana_nb.runs.ledger import Budget, Ledger, Spent, spent_in
from longbanana_nb.runs.merge import merge_runs
from longbanana_nb.runs.meta import Entry, RunMeta
from longbanana_nb.runs.pool import each, usual_workers
from longbanana_nb.runs.progress import progress_bar
from longbanana_nb.runs.records import (
    OUTCOMES,
    CallCounts,
    ImageFacts,
    ModelUsed,
    Reason,
    Record,
    ReferencesUsed,
    Step,
    Tokens,
    WorkflowFacts,
)
from longbanana_nb.runs.results import writing_results
from longbanana_nb.runs.reuse import ReusableCandidates, adopt_answer, adopt_candidate, adopt_scenes, reusable_answers
from longbanana_nb.runs.run import Run, create_run, open_run
from longbanana_nb.runs.selection import select_cases, selection_notes
from longbanana_nb.runs.shard import Shard, all_shards, parse_shard
from longbanana_nb.runs.slots import CandidateSlot
from longbanana_nb.runs.system_spec import (
    FLOORS,
    HARNESS_KINDS,
    BackendSpec,
    HarnessSpec,
    ModelSpec,
    SystemSpec,
    floor_system,
    parse_system,
)
from longbanana_nb.runs.threads import each_waiting
from longbanana_nb.runs.verify import verify_run
from longbanana_nb.runs.worker import Failure

__all__ = [
    "DEMO_RELEASE",
    "FLOORS",
    "HARNESS_KINDS",
    "INVALID_REASONS",
    "OUTCOMES",
    "Analysis",
    "BackendSpec",
    "Budget",
    "CallCounts",
    "CandidateSlot",
    "CaseSample",
    "Entry",
    "Evidence",
    "EvidenceImage",
    "Experiment",
    "Failure",
    "Floors",
    "HarnessSpec",
    "ImageFacts",
    "ImageSent",
    "Journal",
    "JudgeSpec",
    "Judgment",
    "JudgmentJournal",
    "Ledger",
    "Limits",
    "ModelSpec",
    "ModelUsed",
    "Reason",
    "Record",
    "ReferencesUsed",
    "ReusableCandidates",
    "Run",
    "RunMeta",
    "Shard",
    "Spent",
    "Step",
    "Stop",
    "SystemSpec",
    "Tokens",
    "WorkflowFacts",
    "adopt_answer",
    "adopt_candidate",
    "adopt_scenes",
    "all_shards",
    "create_run",
    "current_record",
    "each",
    "each_waiting",
    "find_keys",
    "floor_system",
    "graceful_stop",
    "judge_sha256",
    "judgment_key",
    "key_faults",
    "leftovers",
    "load_experiment",
    "looks_like_key",
    "merge_runs",
    "open_run",
    "parse_judge",
    "parse_shard",
    "parse_system",
    "progress_bar",
    "redact",
    "reusable_answers",
    "select_cases",
    "selection_notes",
    "spent_in",
    "system_sha256",
    "usual_workers",
    "verdict_grid",
    "verify_run",
    "writing_results",
]
