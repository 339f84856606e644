"""The prompt grammar: how each obligation of a brief is said in English, and how it is read back."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from longbanana_nb.demo.brief import (
    BACKGROUND_PICTURE,
    NUMBERS,
    ORDER_WORDS,
    PALETTE_CARD,
    REGIONS,
    RELATION_WORDS,
    Brief,
    Order,
    Region,
    Relation,
    Thing,
    UnparsablePrompt,
)
from longbanana_nb.demo.colours import COLOURS
from longbanana_nb.demo.kinds import plural, singular
from longbanana_nb.errors import CallError, Fault

CARRY = "The first image is the picture so far; keep what it shows"
TALLY = 'pictures marked "TRAY" show together'
NOUN = r"[a-z][a-z-]*(?: [a-z][a-z-]*)?"
TEXT = r'"(?P<text>[A-Z0-9]{1,12})"'
PHRASE = re.compile(
    rf"(?:the )?(?:(?P<number>{'|'.join(NUMBERS[2:])}) )?(?:(?P<colour>{'|'.join(COLOURS)}) )?(?P<noun>{NOUN}?)"
    rf'(?: lettered {TEXT})?(?: pictured beside the (?P<beside>{NOUN}?))?(?: as it was on "(?P<day>DAY [0-9]+)")?'
    r"(?: in the colour of (?P<source>the .+))?"
)
RELATION = re.compile(rf"Place (?P<a>.+?) (?P<words>{'|'.join(RELATION_WORDS.values())}) (?P<b>the .+)")
REGION = re.compile(rf"Put (?P<thing>.+) in the (?P<words>{'|'.join(sorted(REGIONS, key=len, reverse=True))})")
ORDER = re.compile(rf"(?P<start>{'|'.join(ORDER_WORDS.values())}), keep this order: (?P<things>.+)")
BACKDROP = re.compile(
    rf"(?:Make the backdrop (?P<colour>{'|'.join(COLOURS)})|Take the backdrop colour from the (?P<card>{PALETTE_CARD})"
    rf"|Take the backdrop from the (?P<picture>{BACKGROUND_PICTURE}))"
)
TALLIED = re.compile(rf"as many (?P<phrase>.+) as the {TALLY}")
TITLE = re.compile(r"Compose one square picture: (?P<title>[^.]+)")


def phrase(thing: Thing) -> str:
    """A thing's full description without its article and without a tally: `three yellow mugs`, `teapot lettered "NORA"`."""
    many = thing.count != 1
    words = [NUMBERS[thing.count]] if thing.count is not None and thing.count > 1 else []
    words += [thing.colour] if thing.colour else []
    words.append(plural(thing.kind) if many else thing.kind)
    words += [f'lettered "{thing.text}"'] if thing.text else []
    words += [f"pictured beside the {thing.beside}"] if thing.beside else []
    words += [f'as it was on "{thing.day}"'] if thing.day else []
    words += [f"in the colour of the {phrase(thing.colour_of)}"] if thing.colour_of else []
    return " ".join(words)


def handle(things: tuple[Thing, ...], place: int) -> str:
    """The shortest description that names one thing among all: its kind, else with colour, lettering, or everything.

    Raises:
        CallError: if even everything said of it fits another thing too.
    """
    thing = things[place]
    bare = Thing(thing.kind, count=None if thing.count != 1 else 1)
    said = replace(thing, count=bare.count)
    for short in (bare, replace(bare, colour=thing.colour), replace(bare, text=thing.text), said):
        if matching(things, short) == [place]:
            return f"the {phrase(short)}"
    raise CallError(f"Two things of one prompt are both «the {phrase(said)}»; say something that tells them apart.")


def matching(things: tuple[Thing, ...], named: Thing) -> list[int]:
    """The places of the things that fit a handle: same kind, and every attribute the handle gives."""
    keys = ("colour", "text", "beside", "day", "colour_of")
    return [
        place
        for place, thing in enumerate(things)
        if thing.kind == named.kind
        and (thing.count != 1) == (named.count != 1)
        and all(getattr(named, key) in (None, getattr(thing, key)) for key in keys)
    ]


def render(brief: Brief) -> str:
    """See `brief.render`."""
    names = [handle(brief.things, place) for place in range(len(brief.things))]
    lines = [CARRY] if brief.carries_on else []
    lines.append(f"Compose one square picture: {brief.title}")
    lines += [_show(thing) for thing in brief.things]
    lines += [f"Place {names[r.a]} {RELATION_WORDS[r.relation]} {names[r.b]}" for r in brief.relations]
    lines += [f"Put {names[r.thing]} in the {r.words}" for r in brief.regions]
    lines += [f"{ORDER_WORDS[o.along]}, keep this order: {', '.join(names[t] for t in o.things)}" for o in brief.orders]
    lines += [_backdrop(brief.backdrop)] if brief.backdrop else []
    lines += ["Show nothing else"] if brief.nothing_else else []
    lines += ["Write nothing else"] if brief.write_nothing_else else []
    return " ".join(f"{line}." for line in lines)


def _show(thing: Thing) -> str:
    if thing.is_tallied:
        return f"Show as many {phrase(thing)} as the {TALLY}"
    return f"Show {'' if thing.count != 1 else 'the '}{phrase(thing)}"


def _backdrop(backdrop: str) -> str:
    if backdrop == PALETTE_CARD:
        return f"Take the backdrop colour from the {PALETTE_CARD}"
    if backdrop == BACKGROUND_PICTURE:
        return f"Take the backdrop from the {BACKGROUND_PICTURE}"
    return f"Make the backdrop {backdrop}"


def parse(prompt: str) -> Brief:
    """See `brief.parse`."""
    return _Reader(prompt).read()


def read_phrase(text: str) -> Thing:
    """A thing from its description; a plural without a number is read as a tally.

    Raises:
        ValueError: saying what is not understood.
    """
    found = PHRASE.fullmatch(text)
    if not found:
        raise ValueError(f"«{text}» is not a description of an object")
    one, many = singular(found["noun"])
    if one is None:
        raise ValueError(f"«{found['noun']}» is not a kind of object known here")
    count = NUMBERS.index(found["number"]) if found["number"] else (None if many else 1)
    if (count == 1) == many:
        raise ValueError(f"«{text}»: the number and the noun do not agree")
    beside = found["beside"]
    if beside and singular(beside)[0] != beside:
        raise ValueError(f"«{beside}» is not a kind of object known here")
    source = read_phrase(found["source"]) if found["source"] else None
    return Thing(one, found["colour"], found["text"], beside, found["day"], count, source)


class _Reader:
    """Reads one prompt: first what it shows, then every sentence that names those things."""

    def __init__(self, prompt: str) -> None:
        self.sentences = [s.strip() for s in re.split(r"\.(?=\s|$)", " ".join(prompt.split())) if s.strip()]
        self.faults: list[Fault] = []
        self.brief = Brief(title="")
        self.things: list[Thing] = []

    def read(self) -> Brief:
        later = [s for s in self.sentences if not self._opening(s)]
        self.brief = replace(self.brief, things=tuple(self.things))
        readers: list[tuple[re.Pattern[str], Callable[[re.Match[str]], Brief]]] = [
            (RELATION, self._relation),
            (REGION, self._region),
            (ORDER, self._order),
            (BACKDROP, self._backdrop),
        ]
        for sentence in later:
            for pattern, act in readers:
                if found := pattern.fullmatch(sentence):
                    self._try(sentence, lambda act=act, found=found: act(found))  # type: ignore[misc]
                    break
            else:
                self._fault(sentence, "a sentence outside the grammar")
        if not self.brief.title:
            self._fault("the whole prompt", "no «Compose one square picture: ...»")
        if self.faults:
            raise UnparsablePrompt("The prompt cannot be read.", self.faults)
        return self.brief

    def _opening(self, sentence: str) -> bool:
        flags = {CARRY: "carries_on", "Show nothing else": "nothing_else", "Write nothing else": "write_nothing_else"}
        if name := flags.get(sentence):
            self.brief = replace(self.brief, **{name: True})  # type: ignore[arg-type]
        elif title := TITLE.fullmatch(sentence):
            self.brief = replace(self.brief, title=title["title"])
        elif sentence.startswith("Show "):
            self._try(sentence, lambda: self._thing(sentence.removeprefix("Show ")))
        else:
            return False
        return True

    def _thing(self, text: str) -> Brief:
        tallied = TALLIED.fullmatch(text)
        thing = read_phrase(tallied["phrase"] if tallied else text)
        if (thing.count is None) != (tallied is not None):
            raise ValueError("several things need a number, or the tally of the pictures marked TRAY")
        self.things.append(thing)
        return self.brief

    def _place(self, text: str) -> int:
        places = matching(self.brief.things, read_phrase(text))
        if len(places) != 1:
            raise ValueError(f"«{text}» names {len(places)} things of this prompt, not one")
        return places[0]

    def _relation(self, found: re.Match[str]) -> Brief:
        relation = next(name for name, words in RELATION_WORDS.items() if words == found["words"])
        new = Relation(self._place(found["a"]), relation, self._place(found["b"]))
        return replace(self.brief, relations=(*self.brief.relations, new))

    def _region(self, found: re.Match[str]) -> Brief:
        return replace(self.brief, regions=(*self.brief.regions, Region(self._place(found["thing"]), found["words"])))

    def _order(self, found: re.Match[str]) -> Brief:
        along = next(axis for axis, words in ORDER_WORDS.items() if words == found["start"])
        places = tuple(self._place(text) for text in found["things"].split(", "))
        return replace(self.brief, orders=(*self.brief.orders, Order(along, places)))

    def _backdrop(self, found: re.Match[str]) -> Brief:
        return replace(self.brief, backdrop=found["colour"] or found["card"] or found["picture"])

    def _try(self, sentence: str, act: Callable[[], Brief]) -> None:
        try:
            self.brief = act()
        except ValueError as error:
            self._fault(sentence, str(error))

    def _fault(self, sentence: str, found: str) -> None:
        expected = "a sentence of the prompt grammar (docs/demo.md)"
        self.faults.append(Fault(f"prompt «{sentence}»", "unparsable_prompt", found, expected, "Say it as the grammar does."))
