"""A case's pictures as generation may use them: bytes exactly as in the release, in contract order, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.contracts import InputImage
from longbanana_nb.generation.images import NotAPictureError, upright

if TYPE_CHECKING:
    from PIL import Image

    from longbanana_nb.release import Case, Reference


def reference_bytes(reference: Reference) -> bytes:
    """A reference's bytes as the release has them.

    Raises:
        DataError: if the file is gone or its bytes are no longer those of the release.
    """
    try:
        data = reference.file.read_bytes()
        found = sha256_bytes(data)
    except OSError as error:
        data, found = b"", error.strerror or str(error)
    if found != reference.sha256:
        fix = "It changed since the release was opened; extract the release again."
        fault = Fault(reference.path, "sha256", found, reference.sha256, fix, id=reference.id)
        raise DataError("A reference is not what the release says.", [fault])
    return data


def reference_picture(reference: Reference) -> Image.Image:
    """A reference decoded and upright.

    Raises:
        DataError: as `reference_bytes`, and if the bytes are no picture.
    """
    try:
        return upright(reference_bytes(reference))
    except NotAPictureError as error:
        fault = Fault(reference.path, error.code, error.found, "a picture", "Run validate-data on the release.", id=reference.id)
        raise DataError("A reference cannot be decoded.", [fault]) from None


def input_image(reference: Reference) -> InputImage:
    """A reference as an image model gets it."""
    return InputImage(reference.role, reference_bytes(reference), reference.sha256)


def never_sent(case: Case, sent: list[str]) -> list[str]:
    """Ids of the case's pictures that no image call got, in contract order."""
    gone = set(sent)
    return [reference.id for reference in case.inputs if reference.id not in gone]
