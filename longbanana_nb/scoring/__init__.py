"""What it means: verdicts in, scores with their coverage, bounds and intervals out.

Tidy data frames go in and come out; someone with only a table of verdicts can use this package alone.
"""

from longbanana_nb.scoring.policy import Policy
from longbanana_nb.scoring.scores import Scores, case_scores, score_grid
from longbanana_nb.scoring.tables_in import read_verdict_table

__all__ = ["Policy", "Scores", "case_scores", "read_verdict_table", "score_grid"]
