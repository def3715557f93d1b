"""The tool `bash`: a command line, run in the workspace.

What a command may do is for the gate to say, before: once it runs, it can do what its
user can. Here it is kept from the secrets of our environment, from taking for ever and
from writing without end; an exit status other than 0 is a failure.
"""

from collections.abc import Mapping

import attrs

from unspiral.engine.live.hook_commands import filtered
from unspiral.engine.live.ports import Clock, ToolOutcome, ToolSpec
from unspiral.engine.live.tools.problems import ToolProblem
from unspiral.engine.live.tools.process import Program, Ran, run_program
from unspiral.engine.live.tools.registry import Tool, Traits
from unspiral.engine.live.tools.texts import decoded, whole_characters
from unspiral.engine.live.tools.workspace import Workspace

__all__ = ["Shell", "shell_environment", "shell_tool"]

USUAL, LONGEST = 120, 600  #: seconds that a command may take
MOST = 40_000  #: bytes of output that are kept
_LONGEST_COMMAND = 100_000  # characters; the system takes 128 KiB in one argument
_SPARE = 30.0  # seconds of the call besides those of the command
#: what would run other commands, or load other code, before the one that was allowed
_STARTS = frozenset({"BASH_ENV", "ENV", "PROMPT_COMMAND", "LD_PRELOAD", "LD_AUDIT"})


def shell_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what commands see of an environment: no secrets, nobody to ask.

    Functions that bash would import are left out as well.
    """
    kept = {
        name: value
        for name, value in filtered(environment).items()
        if name not in _STARTS and not name.startswith("BASH_FUNC_")
    }
    return {**kept, "TERM": "dumb", "PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


@attrs.frozen
class Shell:
    """Runs commands.

    Attributes:
        workspace: to run them in.
        environment: all that they see of it; see `shell_environment`.
        clock: for the time-outs.
    """

    workspace: Workspace
    environment: Mapping[str, str]
    clock: Clock

    async def run(self, command: str, seconds: int = USUAL) -> ToolOutcome:
        """Run a command line to its end.

        Raises:
            ToolProblem: it cannot be run.
        """
        if not self.workspace.is_in_place():
            raise ToolProblem("the folder of the workspace was moved or replaced")
        program = Program(
            ("bash", "--noprofile", "--norc", "-c", command),
            self.workspace.root,
            self.environment,
            seconds,
            MOST,
        )
        try:
            ran = await run_program(program, self.clock)
        except (OSError, ValueError) as error:
            raise ToolProblem(f"the command cannot be run: {error}") from None
        return ToolOutcome(_told(ran, seconds), error=ran.status != 0)


def shell_tool(
    workspace: Workspace, environment: Mapping[str, str], clock: Clock
) -> Tool:
    """Return the tool `bash`.

    Args:
        workspace: to run commands in.
        environment: that of this process; secrets are kept from commands.
        clock: for the time-outs.
    """
    shell = Shell(workspace, shell_environment(environment), clock)
    spec = ToolSpec(
        "bash",
        "Run a command line with bash, in the workspace; no input, no terminal. Each "
        "call begins anew: `cd` and variables do not last. Processes that are left in "
        "the background are ended with the command.",
        {
            "type": "object",
            "properties": {
                "command": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": _LONGEST_COMMAND,
                },
                "seconds": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": LONGEST,
                    "description": f"that it may take; {USUAL} unless given",
                },
            },
            "required": ["command"],
            "additionalProperties": False,
        },
    )
    traits = Traits(runs_shell=True, seconds=LONGEST + _SPARE)
    return Tool(spec, shell.run, safe=False, traits=traits)


def _told(ran: Ran, seconds: int) -> str:
    """Say what a command wrote and how it ended."""
    if ran.left_out:
        left_out = f"\n[{ran.left_out:,} bytes are left out here]\n"
        head, tail = whole_characters(ran.head, ran.tail)
        text = decoded(head) + left_out + decoded(tail)
    else:
        text = decoded(ran.head + ran.tail)
    ends: list[str] = []
    if ran.status is None:
        ends.append(f"[it took longer than {seconds} s and was killed]")
    elif ran.status < 0:
        ends.append(f"[it was ended by signal {-ran.status}]")
    elif ran.status:
        ends.append(f"[exit status {ran.status}]")
    if ran.lingered:
        ends.append("[what it had left running was ended]")
    return "\n".join(part for part in (text.rstrip("\n"), *ends) if part)
