"""Evidence packets: the pictures a model is shown for some checks, in order, each labelled by role and id and by nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from longbanana_nb.judging import transcodes
from longbanana_nb.judging.looks import Box
from longbanana_nb.judging.model_protocols import ModelJob, Unaskable
from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.judging.quoting import as_data, quoted
from longbanana_nb.judging.sent_pictures import CACHE
from longbanana_nb.providers.contracts import Picture, Text
from longbanana_nb.runs import ImageSent

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.release import Check

VERSION = "packet-1"
CANDIDATE = "candidate"
TEXT_BYTES = 64_000  # of a request, kept free for texts


@dataclass(frozen=True, slots=True)
class LabelledImage:
    """A picture as it is shown: its role (candidate, background, reference), its id, and the label that stands before it.

    `size` is that of its bytes; the picture itself has none where they lie with the provider already.
    """

    role: str
    id: str
    label: str
    picture: Picture
    sent: ImageSent
    size: int

    def parts(self) -> tuple[Text, Picture]:
        """Label and picture, as they go into a message."""
        return Text(self.label), self.picture


@dataclass(frozen=True, slots=True)
class EvidencePacket:
    """Pictures in the order they are shown."""

    images: tuple[LabelledImage, ...]

    @property
    def sent(self) -> tuple[ImageSent, ...]:
        """What is recorded of the pictures."""
        return tuple(image.sent for image in self.images)

    def parts(self) -> list[Text | Picture]:
        """Labels and pictures, as they go into a message."""
        return [part for image in self.images for part in image.parts()]


def packet(job: ModelJob, reference_ids: Iterable[str], crops: Sequence[tuple[str | None, Box]] = ()) -> EvidencePacket:
    """The candidate and some references in the order given (or references first, as the profile says), then crops by box.

    The last picture of what other questions share, and the last of all, are marked for providers that cache on request.

    Raises:
        Unaskable: `unanswerable` for a reference the case does not have, `too_large` where the model's limits do not hold it.
        DataError: where a picture cannot be read.
    """
    shown = [labelled(job, id_) for id_ in reference_ids]
    candidate = labelled(job, None)
    is_first = job.profile.packet is None or job.profile.packet.order == "candidate-first"
    shared = [candidate] if is_first else shown
    images = [*shared, *(shown if is_first else [candidate]), *(labelled(job, id_, box) for id_, box in crops)]
    ends = {len(shared) - 1, len(images) - 1}
    marked = [_marked(image) if n in ends else image for n, image in enumerate(images)]
    require_fits(job, marked)
    return EvidencePacket(tuple(marked))


def bound_references(job: ModelJob) -> tuple[str, ...]:
    """Ids of what the job's checks bind, each once: in a check's own order, of several checks in the order of the case."""
    if len(job.checks) == 1:
        return tuple(dict.fromkeys(job.checks[0].reference_ids))
    bound = {id_ for check in job.checks for id_ in check.reference_ids}
    return tuple([id_ for id_ in job.references if id_ in bound] + sorted(bound - set(job.references)))


def shown_references(job: ModelJob) -> tuple[str, ...]:
    """Ids of the references that the profile shows."""
    is_shown = job.profile.packet is None or job.profile.packet.references == "bound"
    return bound_references(job) if is_shown else ()


def labelled(job: ModelJob, id_: str | None, box: Box | None = None) -> LabelledImage:
    """One picture of the job, or a box of it, under its label; `id_` is a reference's, None is the candidate."""
    role, file = picture_of(job, id_)
    name = transcodes.transcode_of(job.profile)
    made = CACHE.get(file, name, box, with_data=not is_uploaded(job))
    steps = [f"{name[0]}@{name[1]}", *made.done]
    label = "CANDIDATE" if id_ is None else f"{role.upper()} {quoted(id_)}"
    if box is not None:
        steps.insert(1, f"box {as_data(list(box))}")
        label = f"CROP {as_data(list(box))} OF {label}"
    picture = Picture(made.sha256, made.mime, made.width, made.height, data=made.data)
    shown_id = CANDIDATE if id_ is None else id_
    sent = ImageSent(role, shown_id, file.sha256, made.sha256, ", ".join(steps))
    return LabelledImage(role, shown_id, label, picture, sent, made.size)


def is_uploaded(job: ModelJob) -> bool:
    """Whether pictures lie with the provider and requests name them."""
    return job.profile.sending is not None and job.profile.sending.images == "uploaded"


def is_at_hand(job: ModelJob, reference_ids: Iterable[str]) -> bool:
    """Whether `packet` would open no picture, so that it may be called on an event loop."""
    name, with_data = transcodes.transcode_of(job.profile), not is_uploaded(job)
    files = [job.candidate, *(job.references[id_] for id_ in reference_ids if id_ in job.references)]
    return all(CACHE.at_hand(file, name, with_data=with_data) for file in files)


def picture_of(job: ModelJob, id_: str | None) -> tuple[str, PictureFile]:
    """Role and file of a picture of the job; None is the candidate.

    Raises:
        Unaskable: `unanswerable` where the case has no such reference.
    """
    if id_ is None:
        return CANDIDATE, job.candidate
    if id_ not in job.references:
        raise Unaskable("unanswerable", f"reference {quoted(id_)} is bound, and the case has none of that id")
    is_background = job.background is not None and id_ == job.background.id
    return "background" if is_background else "reference", job.references[id_]


def require_fits(job: ModelJob, images: Sequence[LabelledImage]) -> None:
    """Refuse what the model, or its provider, would not take or would shrink; uploads are not bytes of a request.

    Raises:
        Unaskable: `too_large` with every number found and its limit; `unanswerable` for a type the model does not take.
    """
    model, is_inline = job.model, not is_uploaded(job)
    taken = model.limits.formats
    if strange := sorted({image.picture.mime for image in images if taken and image.picture.mime not in taken}):
        raise Unaskable("unanswerable", f"{', '.join(strange)}: {model.id} takes {', '.join(taken)}")
    found = [
        *_too_many(model, images),
        *(text for image in images for text in _too_large(model, image, len(images), is_inline)),
    ]
    if is_inline and model.limits.request_bytes is not None:
        whole = sum(_inline_bytes(image) for image in images) + TEXT_BYTES
        if whole > model.limits.request_bytes:
            found.append(f"{whole:,} bytes with texts in one request; at most {model.limits.request_bytes:,}")
    if found:
        raise Unaskable("too_large", f"{model.id}: {'; '.join(found)}")


def _too_many(model: Model, images: Sequence[LabelledImage]) -> list[str]:
    most = model.limits.images
    return [f"{len(images)} images; at most {most}"] if most is not None and len(images) > most else []


def _too_large(model: Model, image: LabelledImage, count: int, is_inline: bool) -> list[str]:
    limits, picture = model.limits, image.picture
    name = f"{image.label} is {picture.width}x{picture.height} pixels"
    side = max(picture.width, picture.height)
    found = []
    if limits.side is not None and side > limits.side:
        found.append(f"{name}; at most {limits.side} a side")
    elif count > (limits.many_images or math.inf) and side > (limits.many_side or math.inf):
        found.append(f"{name}; at most {limits.many_side} a side where there are more than {limits.many_images} images")
    if limits.pixels is not None and picture.width * picture.height > limits.pixels:
        found.append(f"{name}; at most {limits.pixels:,} pixels")
    if not found and model.is_scaled_down(picture.width, picture.height):
        found.append(
            f"{name}; over {limits.unscaled_side} a side or {limits.unscaled_tokens} tokens the provider would scale it down:"
            " choose a smaller transcode"
        )
    size = _inline_bytes(image) if is_inline else image.size
    if limits.image_bytes is not None and size > limits.image_bytes:
        found.append(f"{image.label} has {size:,} bytes as sent; at most {limits.image_bytes:,}")
    return found


def _inline_bytes(image: LabelledImage) -> int:
    return -(-image.size // 3) * 4


def _marked(image: LabelledImage) -> LabelledImage:
    return replace(image, picture=replace(image.picture, ends_prefix=True))


def check_text(check: Check, name: str | None = None) -> str:
    """A check as data: question, guide, options, and the ids it binds or why it binds none. No id of its own, no category."""
    options = [{"value": option.value, "name": option.name, "description": option.description} for option in check.options]
    said: dict[str, object] = {"question": check.question, "guide": check.guide, "options": options}
    if check.option_note:
        said["options_note"] = check.option_note
    if check.reference_ids:
        said["bound_references"] = list(check.reference_ids)
    else:
        said["bound_references"], said["judged_by_candidate_alone_because"] = [], check.candidate_only_reason
    return f"CHECK{'' if name is None else ' ' + name}: {as_data(said)}"
