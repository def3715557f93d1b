"""The built-in tools of a workspace: read, write, edit, glob, grep, bash."""

from collections.abc import Mapping

from unspiral.engine.live.ports import Clock
from unspiral.engine.live.tools.files import file_tools
from unspiral.engine.live.tools.registry import Tool
from unspiral.engine.live.tools.search import search_tools
from unspiral.engine.live.tools.shell import shell_environment, shell_tool
from unspiral.engine.live.tools.workspace import Workspace

__all__ = ["builtin_tools"]


def builtin_tools(
    workspace: Workspace, environment: Mapping[str, str], clock: Clock
) -> tuple[Tool, ...]:
    """Return the built-in tools.

    Args:
        workspace: the folder that they may touch.
        environment: that of this process; secrets are kept from commands.
        clock: for the time-outs.
    """
    return (
        *file_tools(workspace),
        *search_tools(workspace, shell_environment(environment), clock),
        shell_tool(workspace, environment, clock),
    )
