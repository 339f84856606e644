"""Small real image models and agent models, and cases with real pictures, for the tests of generation."""

from __future__ import annotations

import io
import os
import signal
from pathlib import Path

from PIL import Image

from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation import (
    Action,
    Capabilities,
    Finish,
    ImageRequest,
    ImageResult,
    ModelChoice,
    Reason,
    Stop,
    ToolCall,
    Turn,
    Usage,
)
from longbanana_nb.generation.paying import Purse
from longbanana_nb.generation.scenes import new_scene, pasted
from longbanana_nb.release import Case, Reference, Release, load_release, write_release
from longbanana_nb.runs import Budget, Ledger, SystemSpec, parse_system

COLOURS = ["red", "green", "blue", "yellow", "purple", "orange", "teal", "pink", "brown", "white"]


def picture(colour: str, form: str = "PNG", size: tuple[int, int] = (48, 32)) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, form)
    return out.getvalue()


def make_case(
    folder: Path, case_id: str = "007", count: int = 4, *, background: bool = True, prompt: str = "Draw a red pear."
) -> Case:
    """A case with `count` pictures of different colours, JPEG and PNG in turn, and a grey background."""
    folder.mkdir(parents=True, exist_ok=True)

    def reference(name: str, data: bytes, role: str) -> Reference:
        file = folder / name
        file.write_bytes(data)
        return Reference(file.stem, f"public/{name}", sha256_bytes(data), file, role)

    references = []
    for n in range(count):
        shade = Image.new("RGB", (48, 32), COLOURS[n % len(COLOURS)])
        shade.putpixel((0, 0), (n, n, n))
        out = io.BytesIO()
        shade.save(out, "JPEG" if n % 2 else "PNG")
        references.append(reference(f"ref_{n + 1:02}.{'jpg' if n % 2 else 'png'}", out.getvalue(), "reference"))
    back = reference("back.png", picture("grey"), "background") if background else None
    return Case(case_id, "RGC", prompt, tuple(references), back)


def make_release(root: Path, case_ids: tuple[str, ...] = ("007", "NA", "a.b/c"), count: int = 4) -> Release:
    """A small release on disk, loaded: each case with its own pictures and a background, and one check."""
    tasks, checks = [], []
    for n, case_id in enumerate(case_ids):
        case = make_case(root / "public" / f"images{n}", case_id, count)
        listed = [{"id": one.id, "path": f"public/images{n}/{one.file.name}"} for one in case.inputs]
        tasks.append(
            {"case_id": case_id, "category": "RGC", "prompt": case.prompt, "references": listed[1:], "background": listed[0]}
        )
        checks.append(
            {
                "case_id": case_id,
                "check_id": "c1",
                "category": "RGC",
                "question": "Is there a pear?",
                "guide": "Look.",
                "options": {"0": "Fail", "1": "Uncertain", "2": "Pass"},
                "reference_ids": ["ref_01"],
            }
        )
    manifest = write_release(root, name="small", revision="r1", license="CC0-1.0", tasks=tasks, checks=checks)
    return load_release(manifest)


def direct_system(name: str = "direct", **fields: object) -> SystemSpec:
    """An fp-direct system on the paste backend; keywords replace fields."""
    value = {"name": name, "harness": {"kind": "fp-direct"}, "backend": {"provider": "test", "id": "paste", "params": {}}}
    return parse_system({**value, **fields})


def native_system(name: str = "loop", script: str = "careful", **fields: object) -> SystemSpec:
    """A native system with a scripted agent model."""
    value = {
        "name": name,
        "harness": {"kind": "native"},
        "workflow": "minimal",
        "agent_model": {"provider": "test", "id": script},
        "backend": {"provider": "test", "id": "paste", "params": {}},
    }
    return parse_system({**value, **fields})


class PasteBackend:
    """Pastes thumbnails of the images it is given side by side. Its params make it fail in a chosen way at a chosen call."""

    def __init__(self, choice: ModelChoice) -> None:
        self.params = {"capacity": 16, "size": 96, "at": 0, "how": "", "cost": 0.0, "most": 0.0, **choice.params}
        self.requests: list[ImageRequest] = []

    @property
    def max_usd_per_call(self) -> float:
        return float(self.params["most"] or self.params["cost"])

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(int(self.params["capacity"]), ("png", "jpeg"), (int(self.params["size"]),), True, True, "paste-1")

    def draw(self, request: ImageRequest) -> ImageResult:
        self.requests.append(request)
        usage = Usage(input_tokens=10, output_tokens=5, cost_usd=float(self.params["cost"]), answered="paste-1")
        if len(self.requests) == self.params["at"]:
            return self._fail(str(self.params["how"]), usage)
        size = request.size
        sheet = Image.new("RGB", (size, size), (request.seed % 256, len(request.prompt) % 256, 90))
        scene = new_scene(size, size, None)
        for n, one in enumerate(request.images):
            left = n * size // len(request.images)
            width = (n + 1) * size // len(request.images) - left
            with Image.open(io.BytesIO(one.data)) as given:
                sheet.paste(given.convert("RGB").resize((width, size)), (left, 0))
            scene["objects"].append(pasted(one.sha256, [left / size, 0, (left + width) / size, 1]))
        out = io.BytesIO()
        sheet.save(out, "PNG")
        return ImageResult("image", out.getvalue(), "png", None, scene, usage)

    def _fail(self, how: str, usage: Usage) -> ImageResult:
        if how == "blocked":
            return ImageResult("blocked", reason=Reason("IMAGE_SAFETY", "provider", "the prompt was blocked"), usage=usage)
        if how == "text_only":
            return ImageResult("no_image", reason=Reason("text_only", "provider", "Here is your picture!"), usage=usage)
        if how == "transport":
            return ImageResult("failed", reason=Reason("transport", "provider", "connection reset"), usage=usage)
        if how == "jpeg_called_png":
            return ImageResult("image", picture("red", "JPEG", (64, 48)), "png", usage=usage)
        if how == "cut_off":
            return ImageResult("image", picture("red", "PNG", (640, 480))[:200], "png", usage=usage)
        if how == "tiny":
            return ImageResult("image", picture("red", "PNG", (2, 2)), "png", usage=usage)
        if how == "die":
            os._exit(9)
        if how == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            return ImageResult("image", picture("red", "PNG", (96, 96)), "png", usage=usage)
        if how == "odd":
            return ImageResult("finished", usage=usage)  # type: ignore[arg-type]
        if how == "nothing":
            return ImageResult("image", None, usage=usage)
        raise RuntimeError("a fault in the backend's own code")


def make_backend(choice: ModelChoice) -> PasteBackend:
    return PasteBackend(choice)


class SecretlyPaidBackend:
    """Reports a cost and states no price."""

    def __init__(self, choice: ModelChoice) -> None:
        self.inner = PasteBackend(choice)
        self.capabilities = self.inner.capabilities

    def draw(self, request: ImageRequest) -> ImageResult:
        return self.inner.draw(request)


def purse(folder: Path, *, run_usd: float | None = None, case_usd: float | None = None) -> Purse:
    """A purse with its ledger in `folder`."""
    names = {"backend": "paste", "agent": "script"}
    return Purse(Ledger(folder / "calls.jsonl"), Budget(run_usd), Budget(case_usd), names)


SCRIPTS: dict[str, list[Action]] = {
    "careful": [
        ToolCall("list_references", {}),
        ToolCall("look", {"references": ["ref_01", "ref_02"]}, thought="two of them"),
        ToolCall("crop", {"reference": "ref_02", "box": [0.0, 0.0, 0.5, 0.5]}),
        ToolCall("generate", {"prompt": "A", "references": ["ref_01", "back", "crop_1"], "keep_current": False}),
        ToolCall("generate", {"prompt": "B", "references": ["ref_03"], "keep_current": True}),
        ToolCall("look_at_result", {}),
        Finish("good"),
    ],
    "clumsy": [
        ToolCall("shell", {"command": "cat ../evaluation/checks.jsonl"}),
        ToolCall("look", {"references": "ref_01"}),
        ToolCall("look", {"references": ["../secret.png"]}),
        ToolCall("crop", {"reference": "ref_01", "box": [0.5, 0.0, 0.2, 1.0]}),
        ToolCall("generate", {"prompt": "A", "references": [], "keep_current": True, "size": 4096}),
        ToolCall("generate", {"prompt": "A", "references": [f"ref_{n:02}" for n in range(1, 5)], "keep_current": False}),
        ToolCall("look_at_result", {}),
        Finish(),
    ],
    "garbled": [
        ToolCall(["look"], {}),  # type: ignore[arg-type]
        ToolCall("look", ["ref_01"]),  # type: ignore[arg-type]
        ToolCall("generate", {"prompt": "\ud800", "references": [], "keep_current": False}),
        ToolCall("crop", {"reference": "ref_01", "box": [0, 0, float("nan"), True]}),
        ToolCall("look", {"references": []}),
        ToolCall("look", {"references": ["ref_01"] * 41}),
        ToolCall("generate", {"prompt": " ", "references": ["ref_01"], "keep_current": False}),
        ToolCall("finish", {}),
    ],
    "tireless": [ToolCall("list_references", {})] * 500,
    "greedy": [ToolCall("generate", {"prompt": "A", "references": ["ref_01"], "keep_current": False})] * 9 + [Finish()],
    "refusing": [Stop("blocked", Reason("refusal", "agent model", "I would rather not."))],
}


class ScriptedAgent:
    """Follows a script, and keeps the turns it was given."""

    version = "scripted-1"
    simulated = True

    def __init__(self, choice: ModelChoice) -> None:
        self.script = SCRIPTS[choice.id]
        self.turns: list[Turn] = []

    def next(self, turn: Turn) -> Action:
        self.turns.append(turn)
        return self.script[turn.number - 1]


def make_agent(choice: ModelChoice) -> ScriptedAgent:
    return ScriptedAgent(choice)
