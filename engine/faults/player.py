"""Plays a schedule: from a request to acts, with the journal kept on the way.

It does no I/O and has no clock: the server and the transport tell it what came in and
when, perform the acts, and report how that ended. So both answer alike, byte for byte.
"""

import time
from collections.abc import Callable, Sequence

import attrs

from unspiral.engine.faults.acts import Act, Answer, Body, End, Head, Usage
from unspiral.engine.faults.journal import (
    Answered,
    Asked,
    Began,
    Ended,
    Journal,
    Left,
    Noise,
    Outaged,
    Record,
)
from unspiral.engine.faults.plans import Refusal, Situation, good_acts
from unspiral.engine.faults.reply import Reply, Text, Thinking, ToolUse
from unspiral.engine.faults.request import (
    MAIN,
    Incoming,
    Problem,
    Request,
    read_request,
)
from unspiral.engine.faults.runs import Choice, Run
from unspiral.engine.faults.schedule import Schedule
from unspiral.engine.faults.side_answers import count_answer, models_answer
from unspiral.engine.faults.speech import speak
from unspiral.engine.faults.wire import make_id

__all__ = ["MAX_RUNS", "Performance", "Player"]

MAX_RUNS = 10_000  #: runs that are kept apart by one player
_START = 200  # bytes of a body in which a message begins, if it does
_MAX_NOISE = 1_000  # lines of it: more are counted together


@attrs.define
class Performance:
    """A request that is being answered.

    Attributes:
        asked: the record of the request.
        answer: what is to be done.
        why: what chose it.
    """

    asked: Asked
    answer: Answer
    why: str
    ended: bool = False


class Player:
    """Answers requests as a schedule says. Not for several threads at once.

    Args:
        schedule: what is played; each run plays it from its beginning.
        journal: where records go.
        started: when, as an ISO date, or "".
        wall: seconds since 1970, for the one header that holds a date.
    """

    def __init__(
        self,
        schedule: Schedule,
        journal: Journal,
        *,
        started: str = "",
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.schedule = schedule
        self.journal = journal
        self.wall = wall
        self.requests = 0
        self._noise = 0
        self._unheard = 0
        self._until = float("-inf")  # the port is closed until then
        self._runs: dict[str, Run] = {}
        self._open: dict[int, Performance] = {}
        self._began: Began | None = Began(
            schedule=schedule.name, seed=schedule.seed, started=started
        )

    def begin(self) -> None:
        """Begin the journal; a second time does nothing.

        Raises:
            FileProblem: it cannot be written.
        """
        began, self._began = self._began, None
        if began is not None:
            self.journal.write(began)

    def _write(self, record: Record) -> None:
        self.begin()
        self.journal.write(record)

    def receive(self, incoming: Incoming, now: float) -> Performance:
        """Take a request, and say what is to be done.

        Args:
            incoming: as it came over the wire.
            now: seconds since the beginning.

        Raises:
            FileProblem: the journal cannot be written.
        """
        self.requests += 1
        try:
            request = read_request(incoming)
            run = self._run(request.run)
            asked = run.note(request, self.requests, now)
        except Exception as error:  # noqa: BLE001 - one client must not end all runs
            run = self._run(MAIN)
            asked = Asked(self.requests, run.name, now, "unknown", size=incoming.size)
            self._write(asked)
            return self._perform(asked, *self._defect(error, run, now))
        self._write(asked)
        self._close_late(run, now)
        try:
            answer, why = self._answer(run, asked, request)
        except Exception as error:  # noqa: BLE001 - as above
            answer, why = self._defect(error, run, now)
        return self._perform(asked, answer, why)

    def _perform(self, asked: Asked, answer: Answer, why: str) -> Performance:
        performance = Performance(asked, answer, why)
        self._open[asked.n] = performance
        return performance

    def finish(
        self, performance: Performance, now: float, sent: int, left: Left
    ) -> None:
        """Say how an answer ended. Only the first word counts.

        Args:
            performance: what was received.
            now: seconds since the beginning.
            sent: bytes of the body that were handed over.
            left: how the client left.

        Raises:
            FileProblem: the journal cannot be written.
        """
        if performance.ended:
            return
        performance.ended = True
        del self._open[performance.asked.n]
        answer = performance.answer
        self._write(
            Answered(
                performance.asked.n,
                now,
                answer.name,
                performance.why,
                answer.status,
                answer.detail,
                sent,
                answer.usage,
                left,
                answer.good,
            )
        )

    def closed_for(self, now: float, run: str = MAIN) -> float:
        """Return for how many seconds from now the port is to be closed; 0: open.

        The time begins when the schedule has come to a step that closes the port, and
        somebody asks.

        Raises:
            FileProblem: the journal cannot be written.
        """
        if now < self._until:
            return self._until - now
        place = self._run(run)
        play = place.outage()
        if play is None:
            return 0
        place.pass_outage()
        self._until = now + play.outage
        self._write(Outaged(now, play.outage, place.name))
        return play.outage

    def _close_late(self, run: Run, now: float) -> None:
        """Close the port for a step that a request has come before.

        Whether a port is closed concerns all runs, and only that of the first request
        can be known beforehand. The request is answered as the next step says.
        """
        if seconds := run.pass_outages():
            self._until = max(self._until, now + seconds)
            self._write(Outaged(now, seconds, run.name))

    def hear(self, what: str, now: float) -> None:
        """Note something that was no request.

        Raises:
            FileProblem: the journal cannot be written.
        """
        self._noise += 1
        if self._noise <= _MAX_NOISE:
            self._write(Noise(now, what))
        else:
            self._unheard += 1

    def stop(self, now: float) -> None:
        """End in good order: what is being answered is cut off.

        Raises:
            FileProblem: the journal cannot be written.
        """
        for performance in tuple(self._open.values()):
            self.finish(performance, now, 0, "stopped")
        if self._unheard:
            self._write(Noise(now, "more of the same", self._unheard))
        self._write(Ended(now, self.requests))

    def _run(self, name: str) -> Run:
        if name not in self._runs:
            # Beyond the limit the last one takes all: better a mixed journal than none.
            name = name if len(self._runs) < MAX_RUNS else MAIN
            self._runs.setdefault(name, Run(name, self.schedule))
        return self._runs[name]

    def _answer(self, run: Run, asked: Asked, request: Request) -> tuple[Answer, str]:
        if problem := request.problem or self._refused(asked, request):
            return self._refusal(problem, run), "the request itself"
        choice = run.choose(asked, request)
        if choice is not None:
            return self._played(choice, run, request), choice.why
        request_id = make_id("req", run.name, run.requests)
        if asked.endpoint == "count_tokens":
            return count_answer(request, request_id), ""
        return models_answer(request, request_id), ""

    def _defect(self, error: Exception, run: Run, now: float) -> tuple[Answer, str]:
        """Answer a request on which this program has failed; it is told, not hidden."""
        said = f"a defect of the fault server: {type(error).__name__}"
        self.hear(said, now)
        answer = self._refusal(Problem(500, "api_error", said), run)
        return answer, "a defect of this server"

    def _refused(self, asked: Asked, request: Request) -> Problem | None:
        """Return why the API would refuse a well-formed request."""
        if request.endpoint != "messages":
            return None
        if self.schedule.strict and asked.broken:
            return Problem(400, "invalid_request_error", str(asked.broken[0]))
        window = self.schedule.context.window
        if window is None:
            return None
        if request.tokens > window:
            said = f"prompt is too long: {request.tokens} tokens > {window} maximum"
            return Problem(400, "invalid_request_error", said)
        output = request.max_tokens or 0
        if self.schedule.context.overflow == "error" and (
            request.tokens + output > window
        ):
            said = (
                f"input length and `max_tokens` exceed context limit: {request.tokens}"
                f" + {output} > {window}, decrease input length or `max_tokens` and "
                "try again"
            )
            return Problem(400, "invalid_request_error", said)
        return None

    def _refusal(self, problem: Problem, run: Run) -> Answer:
        # Doubled braces: the message of a problem has no parameters.
        message = problem.message.replace("{", "{{").replace("}", "}}")
        plan = Refusal(problem.status, problem.kind, message, details=problem.details)
        empty = speak(Reply(), _NOBODY, 0, None)
        request_id = make_id("req", run.name, run.requests)
        acts = plan.acts(
            Situation(
                empty, stream=False, request_id=request_id, numbers={}, time=self.wall()
            )
        )
        return Answer("refused", acts, detail=problem.message[:200], good=False)

    def _played(self, choice: Choice, run: Run, request: Request) -> Answer:
        play = choice.play
        window = self.schedule.context.window
        calls = play.entry is not None and play.entry.calls
        said = speak(play.said, request, run.requests, window, whole=calls)
        situation = Situation(
            said,
            request.stream,
            make_id("req", run.name, run.requests),
            play.all_numbers,
            self.wall(),
        )
        entry = play.entry
        if entry is None:
            name = "side" if choice.why == "side" else "reply"
            acts = good_acts(situation)
        else:
            name, acts = entry.name, entry.plan.acts(situation)
        good = entry is None or _is_whole(acts, good_acts(situation))
        if not _begins(acts):
            return Answer(name, acts, good=good)
        usage = Usage(said.input_tokens, said.output_tokens)
        return Answer(name, acts, usage, _detail(said.reply), good)


def _is_whole(acts: Sequence[Act], good: Sequence[Act]) -> bool:
    """Tell whether acts give what the good ones give, at whatever pace."""
    heads = [[act for act in each if isinstance(act, Head)] for each in (acts, good)]
    bodies = [
        [act.data for act in each if isinstance(act, Body)] for each in (acts, good)
    ]
    ends = isinstance(acts[-1], End) and isinstance(good[-1], End)
    sizes = [sum(map(len, each)) for each in bodies]
    # A big body is joined only if it could be the good one.
    alike = ends and heads[0] == heads[1] and sizes[0] == sizes[1]
    return alike and b"".join(bodies[0]) == b"".join(bodies[1])


def _begins(acts: Sequence[Act]) -> bool:
    """Tell whether a message begins, however it is cut: from then on it is charged."""
    start = b""
    for act in acts:
        if isinstance(act, Body) and len(start) < _START:
            start += act.data[:_START]
    start = start[:_START]
    return b'"type":"message"' in start or b'"type":"message_start"' in start


def _detail(reply: Reply) -> str:
    words: list[str] = []
    for block in reply.blocks:
        match block:
            case ToolUse(name):
                words.append(f"call {name[:40]}")
            case Text():
                words.append("text")
            case Thinking():
                words.append("thinking")
            case _:
                words.append("compaction")
    content = ", ".join(words[:6]) or "nothing"
    return f"{content}; {reply.stop}"


_NOBODY = read_request(Incoming("POST", "/v1/messages", {}, b"{}", 0))
