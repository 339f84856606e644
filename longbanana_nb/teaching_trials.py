"""The examples on which a lesson's answer is tried: small enough to be worked out by hand; no hint tells the right number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from longbanana_nb.teaching import Trial

if TYPE_CHECKING:
    import pandas as pd

NAN = math.nan


def table(cases: Mapping[str, Sequence[float]], polarity: str = "positive") -> pd.DataFrame:
    """Verdicts from {case: labels}; NaN is an answer that could not be read."""
    import pandas as pd

    rows = [
        {"case_id": case_id, "check_id": f"{polarity}_{place}", "polarity": polarity, "label": label}
        for case_id, labels in cases.items()
        for place, label in enumerate(labels)
    ]
    return pd.DataFrame(rows)


def pooling() -> list[Trial]:
    """`my_score(verdicts)`: the mean over cases of the mean over valid checks, 0-100."""
    return [
        Trial(
            (table({"a": [2, 0], "b": [1, 1], "c": [2, 2]}),),
            200 / 3,
            "All cases have two checks here, and still your number is off. Look at the scale: labels end at 2, scores at 100.",
        ),
        Trial(
            (table({"a": [2] * 8, "b": [0, 0]}),),
            50.0,
            "One case has eight checks and one has two. A case should weigh the same however many questions were written for it.",
        ),
        Trial(
            (table({"a": [2, NAN], "b": [0, 0]}),),
            50.0,
            "A check without a valid answer (NaN) is neither earned nor possible: it leaves both sums of its case.",
        ),
        Trial((table({"a": [2, 2], "b": [NAN, NAN]}),), 100.0, "A case without any valid check has no score to average."),
    ]


def unreadable() -> list[Trial]:
    """`my_case(labels)`: score over valid checks, and the bounds with what is missing as 0 and as 2."""
    return [
        Trial(([1, 1],), (50.0, 50.0, 50.0), "Where nothing is missing both bounds equal the score. Return three numbers."),
        Trial(
            ([2, 2, None, 0],),
            (200 / 3, 50.0, 75.0),
            "One of four answers was unreadable. The score leaves it out; the bounds are over all four, with the worst and the "
            "best it could have been.",
        ),
        Trial(([None, None],), (None, 0.0, 100.0), "With no valid answer there is no score (None), and anything is possible."),
    ]


def empty() -> list[Trial]:
    """`by_polarity(verdicts)`: {"positive": score, "negative": score}, each case first."""
    import pandas as pd

    both = pd.concat([table({"a": [2, 0], "b": [2]}), table({"a": [2] * 6, "b": [0]}, "negative")], ignore_index=True)
    one_sided = pd.concat([table({"a": [2], "b": [0]}), table({"b": [2]}, "negative")], ignore_index=True)
    return [
        Trial(
            (both,),
            {"positive": 75.0, "negative": 50.0},
            "Score each case on the checks of one polarity, then average over cases (lesson 1); return both by name.",
        ),
        Trial(
            (one_sided,),
            {"positive": 50.0, "negative": 100.0},
            "A case without negative checks says nothing about them: it is not in that mean, neither as 0 nor as 100.",
        ),
    ]


def survivors() -> list[Trial]:
    """`compare_systems(a, b)`: paired difference over shared cases, and its bounds over all cases."""
    return [
        Trial(
            ([50, 50], [40, 30]),
            (15.0, 15.0, 15.0),
            "Nothing is missing here: difference and both bounds are the mean of a minus b.",
        ),
        Trial(
            ([80, 60, 40], [80, 60, None]),
            (0.0, -20.0, 40 / 3),
            "Compare on the cases both have; then ask, over all cases, what a missing score could be at worst and at best.",
        ),
        Trial(
            ([None, 70], [20, None]),
            (None, -25.0, 75.0),
            "No case is shared: there is no difference (None), and the bounds still hold. Each side may miss cases of its own.",
        ),
    ]


def favour() -> list[Trial]:
    """`corrected_case(judged, people, p)`: H^ + (J - J^), 0-100."""
    return [
        Trial(
            ([2, 0, 1, 1], [2, None, None, 1], 0.5),
            50.0,
            "Judge and people agree wherever both looked: nothing is corrected, and the judge's score over all checks stands.",
        ),
        Trial(
            ([2, 2, 0], [0, 1, 0], 1.0),
            50 / 3,
            "Every check was labelled (p = 1): the answer is what people say, whatever the judge said.",
        ),
        Trial(
            ([2, 2, 0, 1], [0, None, None, 1], 0.5),
            12.5,
            "Two of four were labelled, each drawn with chance p. What the judge got wrong on these stands for others too, so "
            "each labelled check counts 1/p times.",
        ),
    ]


def many() -> list[Trial]:
    """`my_holm(p)`: Holm's adjusted p in the order given."""
    return [
        Trial(([0.03],), [0.03], "A family of one needs no adjustment. Return a list as long as the one given."),
        Trial(
            ([0.01, 0.2],),
            [0.02, 0.2],
            "The smallest p pays for the whole family, the next only for those that are left.",
        ),
        Trial(([0.6, 0.7],), [1.0, 1.0], "A p is never above 1."),
        Trial(
            ([0.01, 0.04, 0.03, 0.005],),
            [0.03, 0.06, 0.06, 0.02],
            "Keep the order in which the p came, and let no adjusted p lie below that of a smaller p.",
        ),
    ]


def goodhart() -> list[Trial]:
    """`honest(judge, other)`: the other's mean score of the candidates that the judge picked."""
    import pandas as pd

    judge = pd.DataFrame({"x": [90.0, 40.0], "y": [50.0, 80.0]}, index=["a", "b"])
    other = pd.DataFrame({"x": [30.0, 70.0], "y": [60.0, 50.0]}, index=["a", "b"])
    shuffled = other.loc[["b", "a"], ["y", "x"]]
    return [
        Trial(
            (judge, judge),
            85.0,
            "Where both instruments agree, the picked candidates score what either says. Return one number, 0 to 100.",
        ),
        Trial(
            (judge, other),
            40.0,
            "Pick by one instrument, report by the other: the one that picked is not asked again, and the other does not pick.",
        ),
        Trial((judge, shuffled), 40.0, "Rows and columns of the second table stand in another order: match them by name."),
    ]


TRIALS: dict[str, Callable[[], list[Trial]]] = {
    "pooling": pooling,
    "unreadable": unreadable,
    "empty": empty,
    "survivors": survivors,
    "favour": favour,
    "many": many,
    "goodhart": goodhart,
}
