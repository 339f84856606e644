"""LongBanana workbench: generate, judge, score and explain long-context multi-reference image synthesis.

The names below are functions; each works the same in a script, in a notebook cell and under papermill. Importing this
package loads no other library: a name is resolved when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

__all__ = [
    "agree",
    "audit",
    "canary",
    "claims",
    "corrected",
    "explore",
    "figures",
    "funnel",
    "generate",
    "import_candidates",
    "judge",
    "judge_steps",
    "label",
    "label_plan",
    "load_release",
    "main_judge",
    "open_run",
    "plan",
    "pool",
    "report",
    "run_of",
    "save_scores",
    "score",
    "tables",
    "verify",
]

EXAMINING = ("agree", "audit", "canary", "claims", "corrected", "explore", "funnel", "judge_steps", "label", "label_plan", "pool")

if TYPE_CHECKING:
    from longbanana_nb.examining import (
        agree,
        audit,
        canary,
        claims,
        corrected,
        explore,
        funnel,
        judge_steps,
        label,
        label_plan,
        pool,
    )
    from longbanana_nb.workbench import (
        figures,
        generate,
        import_candidates,
        judge,
        load_release,
        main_judge,
        open_run,
        plan,
        report,
        run_of,
        save_scores,
        score,
        tables,
        verify,
    )


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "examining" if name in EXAMINING else "workbench"
        return getattr(import_module(f"longbanana_nb.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
