"""What the questions of a model judge come to before they are asked: calls, pictures, tokens, and dollars by way of sending."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from longbanana_nb.errors import DataError, Fault
from longbanana_nb.files import sha256_bytes
from longbanana_nb.judging import estimates
from longbanana_nb.judging.model_jobs import Work
from longbanana_nb.judging.model_protocols import ModelProtocol, Unaskable
from longbanana_nb.judging.protocols import PictureFile
from longbanana_nb.providers.contracts import Request, Usage

if TYPE_CHECKING:
    from longbanana_nb.providers.catalogue import Model
    from longbanana_nb.providers.prices import Price
    from longbanana_nb.runs import JudgeSpec

ASSUMED_SIDE = 1024  # of a candidate that is not made yet
ANSWER_TOKENS = 120  # of one check's answer
THINKING_TOKENS = 250  # of a call of a model that thinks
TURN_TOKENS = 1600  # of what a turn of a critic may add: a crop, a measurement, words
Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    """One job as it would be sent: pictures (hashes), tokens, and how much of them is a prefix that others share.

    `shared` ends at the first cache mark and is the same for all questions about one candidate; `bound` goes on to the last mark
    and is the same for those that show the same references. `most_calls`, `most_tokens` bound a critic's turns.
    """

    checks: int
    pictures: tuple[Size, ...]
    tokens: int
    shared: int
    bound: int
    answer: int
    most_calls: int = 1
    most_tokens: int = 0
    shows: tuple[str, ...] = ()
    is_known: bool = True  # whether its tokens are


@dataclass(slots=True)
class StandIns:
    """Blank pictures of the sizes of real ones: what a transcode makes of a picture's size it makes of theirs, and quickly."""

    folder: Path
    _files: dict[Size, PictureFile] = field(default_factory=dict)
    _sizes: dict[str, Size] = field(default_factory=dict)

    def of(self, picture: PictureFile) -> PictureFile:
        """A blank picture of the upright size of this one, under its id.

        Raises:
            DataError: where the picture's head cannot be read.
        """
        if picture.sha256 not in self._sizes:
            self._sizes[picture.sha256] = _upright_size(picture)
        return self.sized(picture.id, self._sizes[picture.sha256])

    def sized(self, name: str, size: Size) -> PictureFile:
        """A blank picture of a size."""
        if size not in self._files:
            stream = io.BytesIO()
            Image.new("RGB", size).save(stream, "JPEG")
            file = self.folder / f"{size[0]}x{size[1]}.jpg"
            file.write_bytes(stream.getvalue())
            self._files[size] = PictureFile(name, file, sha256_bytes(stream.getvalue()))
        return replace(self._files[size], id=name)


def _upright_size(picture: PictureFile) -> Size:
    try:
        with Image.open(picture.file) as image:
            is_turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
            return (image.height, image.width) if is_turned else image.size
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # what Pillow raises of broken files
        fix = "Restore the file, or make the picture again."
        raise DataError(
            "A picture cannot be looked at.", [Fault(str(picture.file), "image", str(error), "a picture", fix)]
        ) from None


@dataclass(slots=True)
class Costing:
    """Looks at jobs of one judge. Equal questions about candidates of one size are looked at once."""

    profile: JudgeSpec
    model: Model
    protocol: ModelProtocol
    stand_ins: StandIns
    _known: dict[tuple[object, ...], Question | None] = field(default_factory=dict)

    def question(self, work: Work) -> Question | None:
        """The job as it would be sent; None where it cannot be put to this model."""
        candidate = self.stand_ins.of(work.opened.picture)
        ids = tuple(unit.check.check_id for unit in work.units)
        key = (work.job.case_id, candidate.sha256, ids, work.job.after, work.shares_references)
        if key not in self._known:
            self._known[key] = self._looked_at(work, candidate)
        return self._known[key]

    def _looked_at(self, work: Work, candidate: PictureFile) -> Question | None:
        bound = {name for check in work.job.checks for name in check.reference_ids}  # no other is shown
        references = {name: self.stand_ins.of(one) for name, one in work.job.references.items() if name in bound}
        job = replace(work.job, candidate=candidate, references=references)
        try:
            request = self.protocol.first_request(job)
        except Unaskable:
            return None
        tokens = estimates.input_tokens(self.model, request)
        shared, marked = marks(self.model, request)
        answer = answer_tokens(self.profile, len(work.units))
        pictures = tuple((one.width, one.height) for one in estimates.pictures_of(request))
        shows = tuple(name for unit in work.units for name in unit.check.reference_ids)
        asked = Question(len(work.units), pictures, tokens or 0, shared, marked, answer, shows=shows, is_known=tokens is not None)
        if self.profile.protocol != "agentic":
            return replace(asked, most_tokens=asked.tokens)
        opened = [self.stand_ins.of(work.job.references[name]) for name in dict.fromkeys(shows) if name in work.job.references]
        return self._with_turns(asked, request, len(opened))

    def _with_turns(self, asked: Question, request: Request, references: int) -> Question:
        """A critic's question at most: a router, all turns, and the answer without tools, each with everything opened before."""
        turns = self.profile.agentic.max_turns if self.profile.agentic is not None else 6
        is_routed = not request.tools
        picture = max((self.model.image_tokens(*size) or 0 for size in asked.pictures), default=TURN_TOKENS)
        whole = asked.tokens + references * max(picture, TURN_TOKENS)
        most = sum(whole + turn * (TURN_TOKENS + asked.answer) for turn in range(turns + 1))
        return replace(asked, most_calls=turns + 1 + is_routed, most_tokens=most + (asked.tokens if is_routed else 0))


def marks(model: Model, request: Request) -> tuple[int, int]:
    """Tokens up to the first and to the last cache mark; 0 where there is none, or nothing is known."""
    first = estimates.prefix_tokens(model, request) or 0
    last, total = 0, first
    is_behind = False
    for part in estimates.parts_of(request):
        if is_behind:
            total += (estimates.part_tokens(model, part) or 0) + estimates.MESSAGE_TOKENS
        if part.ends_prefix:
            last, is_behind = (total if is_behind else first), True
    return first, last


def answer_tokens(profile: JudgeSpec, checks: int) -> int:
    """Tokens that a usual answer to so many checks has, thoughts included."""
    return ANSWER_TOKENS * checks + (THINKING_TOKENS if thinks(profile) else 0)


def thinks(profile: JudgeSpec) -> bool:
    """Whether the profile lets the model think before it answers, as far as its parameters say."""
    params: Mapping[str, object] = profile.model.params if profile.model is not None else {}
    return any(name in params for name in ("effort", "thinking_level", "thinking_budget")) or params.get("thinking") == "adaptive"


def usage_of(groups: Sequence[Sequence[Question]], *, cached: bool, model: Model) -> Usage:
    """Tokens of all questions, candidate by candidate; with `cached`, what is shared is written once and read after that."""
    total = Usage(output_tokens=sum(one.answer for group in groups for one in group))
    if not cached:
        return replace(total, input_tokens=sum(one.tokens for group in groups for one in group))
    plain = read = written = 0
    least = model.limits.cache_min_tokens or 0
    for group in groups:
        alike = Counter(one.shows for one in group)
        seen: set[tuple[str, ...]] = set()
        for n, one in enumerate(group):
            shared = one.shared if one.shared >= least else 0
            bound = one.bound if alike[one.shows] > 1 and one.bound >= least else shared
            known = bound if one.shows in seen else shared if n else 0
            read, written, plain = read + known, written + bound - known, plain + one.tokens - bound
            seen.add(one.shows)
    return replace(total, input_tokens=plain, cached_tokens=read, cache_write_tokens=written)


def dollars(price: Price | None, usage: Usage, calls: int, *, hour: bool = False) -> float | None:
    """What so many tokens cost, spread evenly over so many calls (a long prompt may cost more a token); None: unknown."""
    if price is None:
        return None
    if calls == 0:
        return 0.0
    written = usage.cache_write_tokens
    reported = {"cache_creation": {"ephemeral_1h_input_tokens": written // calls}} if hour else {}
    mean = Usage(
        usage.input_tokens // calls, usage.cached_tokens // calls, written // calls, usage.output_tokens // calls, reported
    )
    return price.of(mean) * calls
