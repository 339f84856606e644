"""YAML read safely and strictly: no repeated keys, no guessed dates, no expansion without end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from longbanana_nb.errors import CallError, DataError, Fault
from longbanana_nb.files import read_text
from longbanana_nb.runs.keyscan import looks_like_key

MOST_VALUES = 100_000  # an experiment has hundreds; more comes from aliases that expand without end


class _StrictLoader(yaml.SafeLoader):
    """The safe loader, with repeated keys refused and dates left as the text they are."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, yaml.Node] = {}
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node)
            if key in seen:
                text = f"the key {key!r} occurs twice, the first time on line {seen[key].start_mark.line + 1}"
                raise yaml.constructor.ConstructorError(None, None, text, key_node.start_mark)
            seen[key] = key_node
        return super().construct_mapping(node, deep)


_StrictLoader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> Any:
    """Read one YAML document from a UTF-8 file.

    Raises:
        CallError: where the file is missing, is not UTF-8, is not YAML, repeats a key, or expands to more than
            100,000 values; with the line where there is one. Also where it holds what looks like an API key, for what is
            written here is copied into runs; the key is not repeated.
    """
    try:
        text = read_text(path)
    except DataError as error:
        raise CallError("A settings file cannot be read.", error.faults) from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, where: str) -> Any:
    """Parse one YAML document; `where` names it in errors. See `read_yaml`."""
    _require_no_key(text, where)
    try:
        value = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CallError(f"{where}{line}: {error.problem or error}; expected YAML. Correct it there.") from None
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise CallError(f"{where}: {error}; expected YAML. Correct the file.") from None
    except RecursionError:
        raise CallError(f"{where}: nested too deeply; expected a plain file of settings. Flatten it.") from None
    _require_bounded(value, where)
    return value


def _require_no_key(text: str, where: str) -> None:
    faults = [
        Fault(
            f"{where} line {number}", "key", f"what looks like {kind}", "no key in a file", "Keep keys in the environment only."
        )
        for number, line in enumerate(text.split("\n"), start=1)
        if (kind := looks_like_key(line)) is not None
    ]
    if faults:
        raise CallError("A settings file holds a key: withdraw it at its provider if it was real.", faults)


def _require_bounded(value: Any, where: str) -> None:
    waiting, seen = [value], 0
    while waiting:
        seen += 1
        if seen > MOST_VALUES:
            raise CallError(f"{where}: aliases expand to more than {MOST_VALUES:,} values. Write them out.")
        current = waiting.pop()
        if isinstance(current, dict):
            waiting.extend(current.values())
        elif isinstance(current, list):
            waiting.extend(current)
