"""What a request of an agent may cost at most, before it is sent, and what it did cost."""

from __future__ import annotations

from collections.abc import Sequence

from longbanana_nb.generation.contracts import Usage
from longbanana_nb.generation.gateway.answers import Answer
from longbanana_nb.generation.gateway.checking import Checked
from longbanana_nb.generation.gateway.contracts import Permit, SeenPicture

BYTES_A_TOKEN = 2  # of text; real ones have three to four, so that the most is counted
PIXELS_A_TOKEN = 400  # where a model's own count of pictures is not known; no known model makes more
UNREADABLE = 5000  # tokens of a picture that cannot be decoded here


def most_usd(permit: Permit, request: Checked, pictures: Sequence[SeenPicture]) -> float:
    """The most a request can cost: all of it written to the dearest cache, a full answer; 0.0 where the price is not known."""
    if permit.price is None:
        return 0.0
    tokens = request.text_bytes // BYTES_A_TOKEN + 1 + sum(_tokens(permit, picture) for picture in pictures)
    return permit.price.most(tokens, request.max_tokens, "1h" if permit.dialect == "anthropic-messages" else "off")


def used(permit: Permit, answer: Answer) -> Usage:
    """What an answer consumed, by the provider's own count. What was written to a cache is input like any other."""
    told = answer.usage
    if told is None:
        raise ValueError("an answer without tokens")
    cost = permit.price.of(told) if permit.price is not None else 0.0
    sent = told.input_tokens + told.cache_write_tokens
    return Usage(sent, told.cached_tokens, told.output_tokens, cost, answer.model)


def _tokens(permit: Permit, picture: SeenPicture) -> int:
    if not picture.width:
        return UNREADABLE
    known = permit.model.image_tokens(picture.width, picture.height)
    return picture.width * picture.height // PIXELS_A_TOKEN + 1 if known is None else known
