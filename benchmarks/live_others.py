"""Turns of other agent libraries, each with a scripted model and one tool: a program.

    python benchmarks/live_others.py LIBRARY TURNS

It runs `TURNS` turns, then says as a line of JSON the version of the library and the
seconds of CPU that they took; or that the library is not installed. It imports nothing
of ours, so that it can be run by the Python of another environment, where the libraries
are:

    python -m venv others
    others/bin/pip install pydantic-ai-slim langgraph mini-swe-agent

Each keeps what it keeps by default, and LangGraph a checkpoint in memory, since without
one it has no session.
"""

# The libraries are not installed where the types are checked.
# pyright: reportMissingImports=false, reportUnknownVariableType=false
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import asyncio
import contextlib
import importlib.metadata
import io
import json
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["LIBRARIES", "main"]

Run = Callable[[int], float]


def by_pydantic_ai(turns: int) -> float:
    """Run an `Agent` with a `FunctionModel`."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import UsageLimits

    asked = 0

    async def script(_messages: Any, _info: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > turns:
            return ModelResponse(parts=[TextPart("Done.")])
        call = ToolCallPart("look", {"n": asked}, tool_call_id=f"t{asked}")
        return ModelResponse(parts=[call])

    agent: Any = Agent(FunctionModel(script))

    @agent.tool_plain
    async def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    async def run() -> float:
        start = time.process_time()
        done = await agent.run("Do it.", usage_limits=UsageLimits(request_limit=None))
        seconds = time.process_time() - start
        _require(done.output)
        return seconds

    return asyncio.run(run())


def by_langgraph(turns: int) -> float:
    """Run a graph of two nodes, as the library's own agent is one."""
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    asked = 0

    @tool
    async def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    async def script(_state: Any) -> Any:
        nonlocal asked
        asked += 1
        if asked > turns:
            return {"messages": [AIMessage("Done.")]}
        call = {"name": "look", "args": {"n": asked}, "id": f"t{asked}"}
        return {"messages": [AIMessage("", tool_calls=[call])]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("model", script)
    graph.add_node("tools", ToolNode([look]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    app = graph.compile(checkpointer=InMemorySaver())
    config = {"recursion_limit": 3 * turns + 9, "configurable": {"thread_id": "1"}}

    async def run() -> float:
        start = time.process_time()
        done = await app.ainvoke({"messages": [("user", "Do it.")]}, config)
        seconds = time.process_time() - start
        _require(done["messages"][-1].content)
        return seconds

    return asyncio.run(run())


def by_mini_swe_agent(turns: int) -> float:
    """Run a `DefaultAgent`; its tool is an environment that only answers."""
    with contextlib.redirect_stdout(io.StringIO()):  # it greets
        from minisweagent.agents.default import DefaultAgent
        from minisweagent.exceptions import Submitted
        from minisweagent.models.test_models import DeterministicModel, make_output

    class World:
        config = None

        def execute(self, action: Any, cwd: str = "") -> Any:
            del cwd
            if action["command"] == "submit":
                extra = {"exit_status": "Submitted", "submission": "Done."}
                raise Submitted({"role": "exit", "content": "Done.", "extra": extra})
            said = f"seen {action['command']}"
            return {"output": said, "returncode": 0, "exception_info": ""}

        def get_template_vars(self, **_: Any) -> Any:
            return {}

        def serialize(self) -> Any:
            return {}

    words = [*(f"look {n}" for n in range(turns)), "submit"]
    script = [make_output("", [{"command": word}], 0.0) for word in words]
    agent = DefaultAgent(
        DeterministicModel(outputs=script),
        World(),
        system_template="You look.",
        instance_template="{{task}}",
        cost_limit=0,
    )
    start = time.process_time()
    done = agent.run("Do it.")
    seconds = time.process_time() - start
    _require(done["submission"])
    return seconds


#: by the name on PyPI of what is measured, and of what is to be installed
LIBRARIES: dict[str, tuple[str, Run]] = {
    "pydantic-ai": ("pydantic-ai-slim", by_pydantic_ai),
    "langgraph": ("langgraph", by_langgraph),
    "mini-swe-agent": ("mini-swe-agent", by_mini_swe_agent),
}


def _require(text: object) -> None:
    if text != "Done.":
        raise SystemExit(f"the last answer was {text!r}")


def main(library: str, turns: int) -> None:
    """Run the turns once to warm up, then measure, and print."""
    package, run = LIBRARIES[library]
    try:
        version = importlib.metadata.version(package)
        run(min(turns, 20))
    except ImportError as error:  # also `PackageNotFoundError`
        print(json.dumps({"missing": str(error)}))
        return
    print(json.dumps({"version": version, "seconds": run(turns)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
