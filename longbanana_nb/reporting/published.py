"""Published numbers as they were printed: read, held against themselves, and shown in panels of their own."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.paths import data_folder
from longbanana_nb.reporting.numbers import NOTHING
from longbanana_nb.reporting.table import Cell, Column, Row, RowGroup, Table
from longbanana_nb.runs.shapes import StrictShape, parse_shape
from longbanana_nb.runs.strict_yaml import read_yaml
from longbanana_nb.taxonomy import CATEGORIES

Printed = Annotated[str, Field(pattern=r"^\d+(\.\d+)?$")]
"""A number with the digits that were printed; `40.0` is not `40`."""


class PublishedSystem(StrictShape):
    """One row of the generation tables: average 0-100, P@70 in per cent, and the category scores that are known."""

    name: str
    way: str
    backend: str
    average: Printed | None = None
    p70: Printed | None = None
    parts: dict[str, Printed] = Field(default_factory=dict)
    where: str
    unknown: str = ""


class PublishedDifference(StrictShape):
    """A difference of two systems as it was printed."""

    a: str
    b: str
    metric: Literal["average", "p70"]
    printed: Printed


class PublishedJudging(StrictShape):
    """A statistic of judges against people."""

    statistic: str
    agentic: Printed
    direct: Printed | None = None
    unknown: str = ""


class PublishedNumber(StrictShape):
    """A single number."""

    statistic: str
    printed: Printed
    where: str = "summary"


class Published(StrictShape):
    """The file `data/paper/published.yaml` (`lb.published.v1`)."""

    schema_: Literal["lb.published.v1"] = Field(alias="schema")
    sources: dict[str, str]
    unknown: list[str]
    cases: int
    systems: list[PublishedSystem]
    differences: list[PublishedDifference]
    judges: list[PublishedJudging]
    humans: list[PublishedNumber]
    dataset: list[PublishedNumber]


def read_published(path: Path | None = None) -> Published:
    """The published numbers, consistent with themselves.

    Raises:
        CallError: a file that is none. DataError: naming every number that cannot be right.
    """
    file = path or data_folder() / "paper" / "published.yaml"
    found = parse_shape(Published, read_yaml(file), str(file))
    faults = published_faults(found, str(file))
    if faults:
        raise DataError("The published numbers contradict themselves.", faults)
    return found


@cache
def shipped_published() -> Published:
    """The published numbers that are shipped."""
    return read_published()


def published_faults(numbers: Published, where: str) -> list[Fault]:
    """What cannot be right in the published numbers as printed.

    Each P@70 must be a whole number of cases in per cent, rounded; each average must be possible from the categories that are
    known (equal numbers of cases each, the others between 0 and 100); printed differences must be those of printed numbers,
    within their rounding; doubled labels must be the stated share of all labels.
    """
    systems = {system.name: system for system in numbers.systems}
    faults = []
    for system in numbers.systems:
        place = f"{where} {system.name}"
        if system.p70 is not None and not is_share(system.p70, numbers.cases):
            faults.append(_fault(place, f"P@70 {system.p70}", f"a whole number of {numbers.cases} cases in per cent"))
        if system.average is not None and not is_possible(system.average, list(system.parts.values())):
            faults.append(_fault(place, f"average {system.average} with {system.parts}", "an average that these parts allow"))
    for one in numbers.differences:
        a, b = (getattr(systems[name], one.metric) for name in (one.a, one.b))
        if a is None or b is None or abs(Decimal(a) - Decimal(b) - Decimal(one.printed)) > Decimal("0.1"):
            faults.append(_fault(f"{where} {one.a} - {one.b}", f"{one.metric} {one.printed}", f"{a} - {b}, within rounding"))
    human = {one.statistic: Decimal(one.printed) for one in numbers.humans}
    twice = human["labels"] * human["share given twice, %"] / 100
    if twice != human["labels given twice"]:
        faults.append(_fault(f"{where} humans", f"{human['labels given twice']} labels given twice", str(twice)))
    return faults


def is_share(printed: str, cases: int) -> bool:
    """Whether some whole number of cases, in per cent and rounded as printed, reads so."""
    places = -int(Decimal(printed).as_tuple().exponent)
    count = round(float(printed) * cases / 100)
    return any(f"{100 * near / cases:.{places}f}" == printed for near in (count - 1, count, count + 1) if 0 <= near <= cases)


def is_possible(average: str, parts: list[str]) -> bool:
    """Whether nine categories of equal size can have this average, when some of them are known; all as rounded to a tenth."""
    known, slack = sum(Decimal(part) for part in parts), Decimal("0.05")
    total, free = 9 * Decimal(average), len(CATEGORIES) - len(parts)
    return known - slack * len(parts) <= total + 9 * slack and total - 9 * slack <= known + slack * len(parts) + 100 * free


def published_systems_table(numbers: Published | None = None) -> Table:
    """The published generation numbers, with what is known of categories; what is not known stays empty."""
    published = numbers or shipped_published()
    known = [code for code in CATEGORIES if any(code in system.parts for system in published.systems)]

    def row(system: PublishedSystem) -> Row:
        printed = [system.parts.get(code) for code in known] + [system.average, system.p70]
        cells = [Cell(system.name), Cell(system.way), Cell(system.backend), *(_printed(text) for text in printed)]
        return Row((*cells, Cell(system.unknown) if system.unknown else NOTHING), ranked=False)

    columns = (
        *(Column(label, align="left") for label in ("System", "Harness, workflow", "Backend")),
        *(Column(code, "Published, 0 to 100") for code in known),
        Column("Average", "Published, 0 to 100"),
        Column("P@70%", "Published, 0 to 100"),
        Column("What is known besides", align="left"),
    )
    groups = (RowGroup("As printed", tuple(row(system) for system in published.systems)),)
    return Table("published", "Published systems on open_v1, as printed", columns, groups, _notes(published))


def published_judging_table(numbers: Published | None = None) -> Table:
    """The published agreement of judges with people, and of people with each other."""
    published = numbers or shipped_published()
    judges = tuple(
        Row((Cell(one.statistic), _printed(one.agentic), _printed(one.direct), Cell(one.unknown) if one.unknown else NOTHING))
        for one in published.judges
    )
    people = tuple(Row((Cell(one.statistic), _printed(one.printed), NOTHING, NOTHING)) for one in published.humans)
    columns = (
        Column("Statistic", align="left"),
        Column("Agentic judge, or people", "Published"),
        Column("Direct judge", "Published"),
        Column("Not known", align="left"),
    )
    groups = (RowGroup("Judges against people", judges), RowGroup("People against each other", people))
    return Table("published-judging", "Published agreement on open_v1, as printed", columns, groups, _notes(published)[:1])


def _notes(published: Published) -> tuple[str, ...]:
    return (
        f"Source: {published.sources['summary']}.",
        f"Not known: {'; '.join(published.unknown)}.",
        "Another judge, other weights and other systems than in a run of yours: the published P@70% weighs checks by difficulty "
        "and lies far from an equally weighted one. No difference to numbers of a run is computed.",
    )


def _printed(text: str | None) -> Cell:
    return Cell(text, number=True) if text is not None else NOTHING


def _fault(where: str, found: str, expected: str) -> Fault:
    return Fault(where, "published", found, expected, "Hold it against the source.")
