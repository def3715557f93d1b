"""The catalogue, group "reply": whole replies that a loop must be able to live with.

Every stop reason of the API is here, and replies whose parts do not fit each other.
"""

from unspiral.engine.faults.fault import Fault
from unspiral.engine.faults.plans import Says
from unspiral.engine.faults.reply import (
    Compaction,
    Reply,
    Text,
    Thinking,
    ToolUse,
)

__all__ = ["REPLY"]

_TEXT = Text("The file says that all is well.")
_CALL = ToolUse()


def _says(name: str, description: str, rule: str, expect: str, reply: Reply) -> Fault:
    return Fault(name, "reply", description, rule, expect, Says(reply), reply=reply)


REPLY = (
    _says(
        "end_turn",
        "The model is done.",
        "ending",
        "The run ends as completed.",
        Reply((_TEXT,)),
    ),
    _says(
        "tool_use",
        "The model calls one tool.",
        "running tools",
        "The tool is run, its result is sent.",
        Reply((_TEXT, _CALL)),
    ),
    _says(
        "parallel_tool_use",
        "The model calls three tools at once.",
        "running tools: one result a call, all in the next message",
        "All three results are sent in one message, in the order of the calls.",
        Reply((_TEXT, _CALL, _CALL, _CALL)),
    ),
    _says(
        "thinking",
        "A thinking block with its signature, then text.",
        "thinking blocks are sent back unchanged",
        "The block is kept as it is, for as long as the API wants it.",
        Reply((Thinking("The file is short. I can answer."), _TEXT)),
    ),
    _says(
        "thinking_then_tool_use",
        "A thinking block, then a call.",
        "thinking blocks are sent back unchanged with the result",
        "The next request holds the block unchanged before the call.",
        Reply((Thinking("I must read the file."), _CALL)),
    ),
    _says(
        "stop_sequence",
        "The model met a stop sequence.",
        "ending",
        "The run ends as completed.",
        Reply((_TEXT,), stop_reason="stop_sequence", stop_sequence="###"),
    ),
    _says(
        "max_tokens_in_text",
        "The text is cut off at the output limit.",
        "a greater output limit, or going on, a bounded number of times",
        "Continued a bounded number of times, or shown as cut off.",
        Reply((Text("The file says that all is"),), stop_reason="max_tokens"),
    ),
    _says(
        "max_tokens_in_thinking",
        "The output limit is reached within thinking; there is no text.",
        "a greater output limit, a bounded number of times",
        "Not sent again unchanged; the thinking is not the last block of a message.",
        Reply((Thinking("The file is long, so"),), stop_reason="max_tokens"),
    ),
    _says(
        "max_tokens_in_tool_json",
        "The output limit is reached within the input of a call.",
        "strict reading of tool inputs; bounded recovery",
        "The call is not run, neither with an empty nor with a partial input.",
        Reply(
            (_TEXT, ToolUse(input={}, raw='{"path": "READ')), stop_reason="max_tokens"
        ),
    ),
    _says(
        "pause_turn",
        "The server pauses a long turn.",
        "resuming by sending the answer back, a bounded number of times",
        "The content is sent back as it is, and the turn goes on.",
        Reply((Text("I am searching."),), stop_reason="pause_turn"),
    ),
    _says(
        "refusal",
        "The model refuses; there is no content.",
        "a refusal is an end, not a fault to be retried",
        "The run ends, and says why.",
        Reply(
            (),
            stop_reason="refusal",
            stop_details={"type": "refusal", "category": "cyber"},
        ),
    ),
    _says(
        "context_window_exceeded",
        "The answer is cut off at the end of the context window.",
        "compaction, since a greater output limit is of no use",
        "The context is shrunk before anything is asked again.",
        Reply(
            (Text("The file says that all is"),),
            stop_reason="model_context_window_exceeded",
        ),
    ),
    _says(
        "server_compaction",
        "The server has compacted the conversation and hands over the summary.",
        "resuming behind the summary",
        "The block is kept and sent back; what it replaces is not needed.",
        Reply(
            (Compaction("The user asked for the content of a file."),),
            stop_reason="compaction",
        ),
    ),
    _says(
        "unknown_stop_reason",
        "A stop reason that nobody knows yet.",
        "a typed outcome for what is not known",
        "The run ends, or goes on within a bound, and says why.",
        Reply((_TEXT,), stop_reason="tea_time"),
    ),
    _says(
        "null_stop_reason",
        "The stop reason is null to the end.",
        "demanding a stop reason before an answer counts as one",
        "The answer does not count as complete.",
        Reply((_TEXT,), stop_reason=None),
    ),
    _says(
        "empty_answer",
        "`end_turn` without content.",
        "an empty answer is not sent again unchanged",
        "The run ends, or asks once more with something added.",
        Reply((), stop_reason="end_turn"),
    ),
    _says(
        "whitespace_answer",
        "`end_turn` with blanks alone.",
        "an empty answer is not sent again unchanged",
        "As an empty one; blanks are no answer and must not be sent back.",
        Reply((Text(" \n "),), stop_reason="end_turn"),
    ),
    _says(
        "tool_use_with_end_turn",
        "A call, but the stop reason says `end_turn`.",
        "calls are found by looking at the content",
        "The tool is run, or the call gets a result; the history stays paired.",
        Reply((_TEXT, _CALL), stop_reason="end_turn"),
    ),
    _says(
        "stop_tool_use_without_call",
        "The stop reason says `tool_use`, but there is no call.",
        "calls are found by looking at the content",
        "The run does not wait for a tool; it ends, or goes on within a bound.",
        Reply((_TEXT,), stop_reason="tool_use"),
    ),
    _says(
        "duplicate_tool_ids",
        "Two calls with the same id.",
        "ids are checked before tools are run",
        "The next request has no two calls or results with one id.",
        Reply((ToolUse(id="toolu_01twice"), ToolUse(id="toolu_01twice"))),
    ),
    _says(
        "unknown_tool",
        "A call of a tool that was not offered.",
        "a call that cannot be run gets an error for a result",
        "The result is an error that names the tools that there are.",
        Reply((ToolUse("no_such_tool", {"x": 1}),)),
    ),
    _says(
        "wrong_input_types",
        "A call whose values have the wrong types.",
        "tool inputs are validated",
        "The tool is not run; the result is an error that says what is wrong.",
        Reply((ToolUse(wrong=True),)),
    ),
    _says(
        "empty_tool_input",
        "A call without any argument.",
        "tool inputs are validated",
        "If the tool needs arguments, the result is an error that names them.",
        Reply((ToolUse(input={}),)),
    ),
)
