"""The sketch's eye recognises what the demo release shows: kinds, colours, lettering, marks and cards."""

from __future__ import annotations

import functools

from longbanana_nb.demo.casework import MadeCase, make_case
from longbanana_nb.demo.eye import Eye, Percept, Seen


@functools.cache
def looked_at() -> list[tuple[MadeCase, dict[str, Percept]]]:
    cases = [make_case(category, 1, seed=7) for category in ("LAB", "TSR", "AGG")]
    eye = Eye()
    return [(case, {name: eye.look(jpeg) for name, jpeg in case.pictures.items()}) for case in cases]


def pairs() -> list[tuple[dict, Seen | None]]:
    """Everything shown, with the thing seen nearest to its middle (None if nothing lies within half its size)."""
    return [
        (shown, nearest(shown["box"], percepts[reference["id"]].seen))
        for case, percepts in looked_at()
        for reference in case.graph["references"]
        for shown in reference["shows"]
    ]


def nearest(box: list[float], seen: tuple[Seen, ...]) -> Seen | None:
    def apart(one: Seen) -> float:
        return max(abs(one.box[n] + one.box[n + 2] - box[n] - box[n + 2]) / 2 / (box[n + 2] - box[n]) for n in (0, 1))

    return min((one for one in seen if apart(one) < 0.5), key=apart, default=None)


def test_98_in_100_kinds_and_99_in_100_of_their_colours_are_right():
    found = pairs()
    right = [(shown, seen) for shown, seen in found if seen is not None and seen.kind == shown["kind"]]
    assert len(found) > 90
    assert len(right) >= 0.98 * len(found)
    assert sum(seen.colour == shown["colour"] for shown, seen in right) >= 0.99 * len(right)


def test_9_in_10_letterings_are_read_and_none_is_made_up():
    found = [(shown["text"], seen.text) for shown, seen in pairs() if seen is not None]
    lettered = [(told, read) for told, read in found if told]
    assert len(lettered) > 10
    assert sum(told == read for told, read in lettered) >= 0.9 * len(lettered)
    assert all(read is None for told, read in found if told is None)


def test_every_mark_is_read():
    for case, percepts in looked_at():
        for reference in case.graph["references"]:
            assert (reference["mark"],) == (percepts[reference["id"]].marks or (None,))


def test_a_thing_is_freed_once_and_only_when_wanted():
    seen = next(one for _, percepts in looked_at() for percept in percepts.values() for one in percept.seen)
    assert seen.cut.rgba is seen.cut.rgba
    assert seen.cut.rgba.shape == (*seen.cut.crop.shape[:2], 4)
