"""The long campaign of kills: stories are told and killed, until there were so many.

    python -m tests.live.kill_campaign --kills N --seed S

tells stories until N of their processes were killed, and prints what breaks a law, with
the number of the story; it ends with 1 if anything does. The moments of kills follow
from S: where a process stands at such a moment is for the system to say.
"""

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.live.kill_laws import cut_short, wrong
from tests.live.kill_story import effects
from tests.live.killing import Told, told
from unspiral.engine.live.session_events import CALL


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    chosen = parser.parse_args(arguments)
    count, failed, story = Counter[str](), 0, chosen.seed * 1_000_000
    while count["kills"] < chosen.kills:
        with tempfile.TemporaryDirectory(prefix="kills-") as folder:
            played = told(Path(folder), story)
            found = wrong(played)
            count.update(_counts(played))
        failed += len(found)
        for each in found:
            sys.stdout.write(f"story {story}: {each}\n")
        story += 1
    figures = ", ".join(f"{name} {number:,}" for name, number in count.items())
    sys.stdout.write(f"{figures}; {failed:,} things that may not be\n")
    return int(failed > 0)


def _counts(played: Told) -> Counter[str]:
    """Return what is worth a figure."""
    events = played.legs[-1].events
    return Counter(
        {
            "kills": played.kills,
            "stories": 1,
            "before anything was begun": sum(not leg.events for leg in played.legs),
            "before the first word": sum(
                leg.killed and not leg.said for leg in played.legs
            ),
            "requests": sum(len(leg.exchanges) for leg in played.legs),
            "calls begun": sum(event.kind == CALL for event in events),
            "calls cut short and told so": len(cut_short(played)),
            "files left beside": len(effects(played.folder).strange),
        }
    )


if __name__ == "__main__":
    warnings.simplefilter("error")
    sys.exit(main())
