"""Answer options become 0, 1 and 2 by an explicit value, key or name, or by a mapping a person stated; never by position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from longbanana_nb.release.contract import Option
from longbanana_nb.release.findings import Findings, Place, shown
from longbanana_nb.release.taxonomy import LABEL_NAMES

Value = Literal[0, 1, 2]
Words = Mapping[str, Value]  # a person's mapping of other words, lower case
_BY_NAME: Mapping[str, Value] = {name.lower(): cast("Value", value) for value, name in LABEL_NAMES.items()}
_VALUE_KEYS = ("value", "score", "key", "label", "name", "option")
_TEXT_KEYS = ("description", "desc", "option_desc", "text", "meaning")


class _UnclearError(ValueError):
    """Options that state no value, or two that disagree; the message is what was found."""


def read_options(record: dict[str, Any], words: Words, place: Place, findings: Findings) -> tuple[tuple[Option, ...], str] | None:
    """The options of a check in order of value, and a note that describes no single one; or None and a fault."""
    try:
        options = _entries(record.get("options"), words)
        note = _describe(options, record.get("option_desc"), words)
        values = sorted(value for value, _, _ in options)
        if len(set(values)) < len(values):
            raise _UnclearError(f"options of which two mean the same value: {values}")
        if not {0, 2} <= set(values):
            raise _UnclearError(f"options with the values {values}, without a Fail (0) or a Pass (2)")
    except _UnclearError as error:
        expected = "options that say 0, 1, 2 or Fail, Uncertain, Pass, as value, key or name (their position means nothing)"
        fix = "State them so, or state what the words mean in options.json of the release's annotations folder."
        findings.fault(place, "options", str(error), expected, fix)
        return None
    return tuple(Option(value, name, text) for value, name, text in sorted(options)), note


def value_of(word: Any, words: Words) -> Value | None:
    """The value a number or word states, or None. True and False are no numbers here."""
    if isinstance(word, bool):
        return None
    if isinstance(word, (int, float)):
        return cast("Value", int(word)) if word in (0, 1, 2) else None
    if not isinstance(word, str):
        return None
    plain = word.strip().lower()
    if plain in ("0", "1", "2"):
        return cast("Value", int(plain))
    return _BY_NAME.get(plain, words.get(plain))


def _entries(options: Any, words: Words) -> list[tuple[Value, str, str]]:
    if isinstance(options, dict):
        return [_keyed(key, value, words) for key, value in options.items()]
    if isinstance(options, list):
        return [_entry(option, words) for option in options]
    raise _UnclearError(f"options: {shown(options)}")


def _entry(option: Any, words: Words) -> tuple[Value, str, str]:
    if not isinstance(option, dict):
        return _agree([option], words), _name([option]), ""
    stated = [option[key] for key in _VALUE_KEYS if option.get(key) is not None]
    text = next((option[key] for key in _TEXT_KEYS if isinstance(option.get(key), str)), "")
    if not stated and isinstance(option.get("text"), str):
        stated, text = [option["text"]], ""
    if not stated and len(option) == 1:
        return _keyed(*next(iter(option.items())), words)
    return _agree(stated, words, option), _name(stated), text


def _keyed(key: str, value: Any, words: Words) -> tuple[Value, str, str]:
    if isinstance(value, dict):
        stated = [key, *(value[name] for name in _VALUE_KEYS if value.get(name) is not None)]
        text = next((value[name] for name in _TEXT_KEYS if isinstance(value.get(name), str)), "")
        return _agree(stated, words), _name(stated), text
    if value_of(value, words) is not None or not isinstance(value, str):
        return _agree([key, value], words), _name([key, value]), ""
    return _agree([key], words), _name([key]), value


def _agree(stated: list[Any], words: Words, whole: Any = None) -> Value:
    """The one value that these statements give; statements that mean nothing are passed over, two values are a fault."""
    values = {value for word in stated if (value := value_of(word, words)) is not None}
    if len(values) == 1:
        return values.pop()
    told = " and ".join(shown(word) for word in stated) or shown(whole)
    raise _UnclearError(f"an option {told}, which states {'two different values' if values else 'no value'}")


def _name(stated: list[Any]) -> str:
    """The word the release uses: the first text that is not a number, else the first value's own name."""
    for word in stated:
        if isinstance(word, str) and word.strip() not in ("0", "1", "2", ""):
            return word.strip()
    numbers = [value_of(word, {}) for word in stated]
    return next((LABEL_NAMES[number] for number in numbers if number is not None), "")


def _describe(options: list[tuple[Value, str, str]], described: Any, words: Words) -> str:
    """Give each option its description; return the text that belongs to none."""
    if described is None or isinstance(described, str):
        return described or ""
    if isinstance(described, list) and all(isinstance(text, str) for text in described):
        pairs = _parallel(options, described, words)
    elif isinstance(described, list):
        pairs = [(value, text) for value, _, text in (_entry(part, words) for part in described)]
    elif isinstance(described, dict):
        own = {name.lower(): value for value, name, _ in options}
        pairs = []
        for key, text in described.items():
            value = value_of(key, {**words, **own})
            if value is None:
                raise _UnclearError(f"option_desc for {shown(key)}, which is no option")
            pairs.append((value, _plain(text, value, words)))
    else:
        raise _UnclearError(f"option_desc: {shown(described)}")
    texts = dict(pairs)
    for number, (value, name, text) in enumerate(options):
        options[number] = (value, name, texts.pop(value, text))
    if texts:
        raise _UnclearError(f"option_desc for the value {min(texts)}, which no option has")
    return ""


def _parallel(options: list[tuple[Value, str, str]], described: list[str], words: Words) -> list[tuple[Value, str]]:
    """A list of texts describes a list of options of the same length, one each; a text that names another value is a fault."""
    if len(described) != len(options):
        raise _UnclearError(f"{len(described)} descriptions for {len(options)} options")
    return [(value, _plain(text, value, words)) for (value, _, _), text in zip(options, described, strict=True)]


def _plain(text: Any, value: Value, words: Words) -> str:
    stated = value_of(text, words)
    if stated is not None and stated != value:
        raise _UnclearError(f"the option of value {value} described as {shown(text)}")
    return text if isinstance(text, str) else str(text)
