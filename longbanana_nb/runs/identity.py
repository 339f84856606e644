"""Identity by content: the hash of a system, of a judge, and the key of one judgment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longbanana_nb.files import canonical_json, sha256_bytes
from longbanana_nb.runs.judge_spec import JudgeSpec
from longbanana_nb.runs.system_spec import SystemSpec

UNHASHED_OF_SYSTEM = frozenset({"name", "samples"})
UNHASHED_OF_JUDGE = frozenset({"name", "samples", "reask", "sending"})


def system_sha256(spec: SystemSpec, versions: Mapping[str, str]) -> str:
    """Hash a system in its resolved form, without `name` and `samples`.

    Args:
        spec: the system, defaults resolved.
        versions: what else decides its candidates, by name: workflow texts (their hash), tool and package versions.
    """
    return _sha256(resolved_system(spec), versions)


def judge_sha256(spec: JudgeSpec, versions: Mapping[str, str]) -> str:
    """Hash a judge profile but for `name`, `samples`, `reask`, `sending`; `versions` holds prompt hashes and tool versions."""
    return _sha256(resolved_judge(spec), versions)


def resolved_system(spec: SystemSpec) -> dict[str, Any]:
    """What of a system is hashed, as plain values: not who pays (`key_env`), but where it is asked (`base_url`)."""
    return _hashed_of(spec, UNHASHED_OF_SYSTEM, ("agent_model", "backend"))


def resolved_judge(spec: JudgeSpec) -> dict[str, Any]:
    """What of a judge is hashed, as plain values: not who pays (`key_env`), but where it is asked (`base_url`)."""
    return _hashed_of(spec, UNHASHED_OF_JUDGE, ("model",))


def _hashed_of(spec: SystemSpec | JudgeSpec, unhashed: frozenset[str], models: tuple[str, ...]) -> dict[str, Any]:
    hashed = {key: _canonical(value) for key, value in spec.model_dump(mode="json").items() if key not in unhashed}
    for name in models:
        if isinstance(hashed[name], dict):
            hashed[name].pop("key_env", None)
    return hashed


def judgment_key(
    release_revision: str,
    check_sha256: str,
    candidate_sha256: str,
    reference_sha256s: Sequence[str],
    judge_sha256: str,
    sample: int,
) -> str:
    """The key under which an answer may be used again: everything a judge's answer depends on.

    Args:
        reference_sha256s: source bytes of the images shown beside the candidate, in the order shown.
        sample: the judge's sample, from 0.
    """
    parts = [release_revision, check_sha256, candidate_sha256, list(reference_sha256s), judge_sha256, sample]
    return sha256_bytes(canonical_json(parts))


def differing_fields(old: Any, new: Any, prefix: str = "") -> list[str]:
    """Dotted names of the fields in which two resolved specs differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        return [
            text for key in keys for text in differing_fields(old.get(key), new.get(key), f"{prefix}.{key}" if prefix else key)
        ]
    return [] if _canonical(old) == _canonical(new) else [f"{prefix}: {old!r} then, {new!r} now"]


def _sha256(resolved: dict[str, Any], versions: Mapping[str, str]) -> str:
    return sha256_bytes(canonical_json({"spec": resolved, "versions": dict(versions)}))


def _canonical(value: Any) -> Any:
    """One form for equal numbers: 2.0 is 2, so that how a file spells a number does not change an identity."""
    if isinstance(value, dict):
        return {key: _canonical(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(inner) for inner in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
