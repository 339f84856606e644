"""The planner looks before it chooses, sends only what the brief needs, and finishes."""

from __future__ import annotations

from demo_sketch_fixtures import photo

from longbanana_nb.demo.brief import Brief, Thing, render
from longbanana_nb.demo.planner import PlannerAgent
from longbanana_nb.files import sha256_bytes
from longbanana_nb.generation.agent_contracts import Finish, ListedReference, SeenImage, ToolResult, Turn
from longbanana_nb.generation.contracts import Capabilities

PICTURES = {
    "ref_01": photo(("pear", "yellow", None)).data,
    "ref_02": photo(("bell", "blue", None), seed=2).data,
    "ref_03": photo(("bell", "red", None), seed=3).data,
    "ref_04": photo(("crown", "teal", None), seed=4).data,
}
PROMPT = render(Brief("a shelf", (Thing("bell", colour="red"), Thing("crown"))))


def act(agent: PlannerAgent, prompt: str, results: list[ToolResult], calls_left: int = 12, capacity: int = 10):
    inventory = tuple(ListedReference(name, "reference") for name in PICTURES)
    capabilities = Capabilities(capacity, ("jpeg",), (768,), seed=True, simulated=True, version="v")
    return agent.next(Turn(len(results) + 1, prompt, inventory, tuple(results), capabilities, 20, calls_left, 1))


def looked(call) -> ToolResult:
    seen = (SeenImage(name, PICTURES[name], sha256_bytes(PICTURES[name]), 512, 512) for name in call.arguments["references"])
    return ToolResult(call, True, {}, tuple(seen))


def test_it_looks_at_all_then_sends_the_two_pictures_the_brief_needs():
    agent = PlannerAgent()
    look = act(agent, PROMPT, [])
    assert (look.name, list(look.arguments["references"])) == ("look", list(PICTURES))
    draw = act(agent, PROMPT, [looked(look)])
    assert draw.name == "generate"
    assert dict(draw.arguments) == {"prompt": PROMPT, "references": ["ref_03", "ref_04"], "keep_current": False}


def test_what_does_not_fit_one_call_goes_into_the_next_with_the_picture_kept():
    agent = PlannerAgent()
    results = [looked(act(agent, PROMPT, [], capacity=1))]
    first = act(agent, PROMPT, results, capacity=1)
    results.append(ToolResult(first, True, {"outcome": "image", "calls_left": 11}))
    second = act(agent, PROMPT, results, capacity=1)
    assert (first.arguments["references"], first.arguments["keep_current"]) == (["ref_03"], False)
    assert (second.arguments["references"], second.arguments["keep_current"]) == (["ref_04"], True)


def test_it_finishes_after_a_call_that_gave_no_picture():
    agent = PlannerAgent()
    results = [looked(act(agent, "Paint.", []))]
    draw = act(agent, "Paint.", results)
    results.append(ToolResult(draw, True, {"outcome": "failed", "code": "unparsable_prompt", "raw": "", "calls_left": 11}))
    assert isinstance(act(agent, "Paint.", results), Finish)
