"""Laws against their definitions, spelled out naively over all short words."""

import functools
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspiral.engine.core.declare import Law, Scope
from unspiral.engine.core.observer import Automaton, automaton, predicates

PATTERNS = ("absence", "existence", "bounded", "precedence", "response")
SCOPES = ("globally", "after", "before", "between", "between ends")
COMBINATIONS = [(p, s) for p in PATTERNS for s in SCOPES]
AT_MOST = 1
LENGTH = {1: 6, 2: 6, 3: 5, 4: 4}  # by the number of predicates; longer ones at random

Letter = frozenset[str]
Word = tuple[Letter, ...]
# The places of a segment, and whether an `end` step closes it.
Segment = tuple[range, bool]


@functools.cache
def law_of(pattern: str, scope: str, at_most: str = str(AT_MOST)) -> Law:
    """Return a law whose conditions are the names of its parts."""
    start = "start" if scope in {"after", "between"} else ""
    end = "end" if scope in {"before", "between", "between ends"} else ""
    return Law(
        "law",
        pattern,  # type: ignore[arg-type]  # one of the patterns
        "what",
        other="other" if pattern in {"precedence", "response"} else "",
        at_most=at_most if pattern == "bounded" else "",
        scope=Scope(scope.split(maxsplit=1)[0], start, end),  # type: ignore[arg-type]  # a kind
    )


def segments(scope: str, word: Word) -> list[Segment]:
    """Cut a word as the definition says."""
    after_start = [i + 1 for i, letter in enumerate(word) if "start" in letter]
    ends = [i for i, letter in enumerate(word) if "end" in letter]
    size = len(word)
    if scope == "globally":
        return [(range(size), False)]
    if scope == "after":
        return [(range(begin, size), False) for begin in after_start[:1]]
    if scope == "before":
        return [(range(ends[0]), True)] if ends else [(range(size), False)]
    opened = after_start if scope == "between" else [0, *(i + 1 for i in ends)]
    found: list[Segment] = []
    free_from = 0
    for begin in opened:
        if begin >= free_from:
            stop = next((i for i in ends if i >= begin), None)
            found.append(
                (range(begin, size if stop is None else stop), stop is not None)
            )
            free_from = size + 1 if stop is None else stop + 1
    return found


def forbidden(pattern: str, word: Word, places: range) -> Iterator[int]:
    """Yield the steps of a segment that do what the pattern forbids."""
    for i in places:
        before = [word[j] for j in places if j <= i]
        count = sum("what" in letter for letter in before)
        earlier = any("other" in letter for letter in before)
        if "what" in word[i] and (
            pattern == "absence"
            or (pattern == "bounded" and count > AT_MOST)
            or (pattern == "precedence" and not earlier)
        ):
            yield i


def owed(pattern: str, word: Word, places: range) -> bool:
    """Tell whether an obligation is open at the end of a segment."""
    if pattern == "existence":
        return not any("what" in word[i] for i in places)
    return pattern == "response" and any(
        "what" in word[i] and not any("other" in word[j] for j in places if j >= i)
        for i in places
    )


def broken_at(pattern: str, scope: str, word: Word) -> int | None:
    """Return the first step that breaks the law."""
    found = [
        i
        for places, _ in segments(scope, word)
        for i in forbidden(pattern, word, places)
    ]
    found += [
        places.stop
        for places, closed in segments(scope, word)
        if closed and owed(pattern, word, places)
    ]
    return min(found, default=None)


def broken_by_the_end(pattern: str, scope: str, word: Word) -> bool:
    """Tell whether a run that ends after the word leaves an obligation open."""
    return scope in {"globally", "after"} and any(
        owed(pattern, word, places) for places, _ in segments(scope, word)
    )


@functools.cache
def made_of(pattern: str, scope: str) -> Automaton:
    return automaton(law_of(pattern, scope), AT_MOST)


def observe(law: Law, made: Automaton, word: Word) -> list[int]:
    """Return the states of the observer, the initial one first."""
    parts = [part for part, _ in predicates(law)]
    states = [0]
    for letter in word:
        number = sum(
            1 << i
            for i, part in enumerate(parts)
            if part in letter or (part == "start" and not law.scope.start)
        )
        states.append(made.delta[states[-1]][number])
    return states


def parts_of(pattern: str, scope: str) -> list[str]:
    law = law_of(pattern, scope)
    return [part for part, text in predicates(law) if text]


def letters_of(pattern: str, scope: str) -> list[Letter]:
    parts = parts_of(pattern, scope)
    return [
        frozenset(chosen)
        for size in range(len(parts) + 1)
        for chosen in itertools.combinations(parts, size)
    ]


def agrees(pattern: str, scope: str, word: Word) -> bool:
    made = made_of(pattern, scope)
    states = observe(law_of(pattern, scope), made, word)
    first = next((i - 1 for i, s in enumerate(states) if s in made.bad), None)
    if first != broken_at(pattern, scope, word):
        return False
    pending = states[-1] in made.pending
    return first is not None or pending == broken_by_the_end(pattern, scope, word)


@pytest.mark.parametrize(("pattern", "scope"), COMBINATIONS)
def test_an_observer_agrees_with_the_definition_on_all_short_words(
    pattern: str, scope: str
) -> None:
    letters = letters_of(pattern, scope)
    longest = LENGTH[len(parts_of(pattern, scope))]
    wrong = next(
        (
            word
            for length in range(longest + 1)
            for word in itertools.product(letters, repeat=length)
            if not agrees(pattern, scope, word)
        ),
        None,
    )

    assert wrong is None


words = st.lists(
    st.frozensets(st.sampled_from(["what", "other", "start", "end"])), max_size=30
).map(tuple)


@given(combination=st.sampled_from(COMBINATIONS), word=words)
def test_an_observer_agrees_with_the_definition_on_long_words(
    combination: tuple[str, str], word: Word
) -> None:
    assert agrees(*combination, word)


@given(combination=st.sampled_from(COMBINATIONS), stem=words, loop=words.filter(len))
def test_a_run_without_end_is_judged_by_the_states_that_it_stays_in(
    combination: tuple[str, str], stem: Word, loop: Word
) -> None:
    pattern, scope = combination
    law = law_of(pattern, scope)
    made = made_of(pattern, scope)
    # By the pigeonhole the observer goes round after as many rounds as it has states.
    rounds = made.states + 1
    word = stem + loop * (2 * rounds)
    states = observe(law, made, word)[-len(loop) * rounds :]
    for_ever = made.bad.isdisjoint(states) and made.pending.issuperset(states)

    # What is owed half-way is still owed, by the same segment, at the end.
    half = word[: len(stem) + len(loop) * rounds]
    owing = broken_by_the_end(pattern, scope, half)
    answered = any("other" in letter or "what" in letter for letter in loop)
    if pattern == "response":
        answered = any("other" in letter for letter in loop)
    intact = broken_at(pattern, scope, word) is None

    assert for_ever == (intact and owing and not answered)


@given(scope=st.sampled_from(SCOPES), stem=words, loop=words.filter(len))
def test_finitely_often_is_broken_by_a_loop_that_counts_and_stays_in_the_scope(
    scope: str, stem: Word, loop: Word
) -> None:
    law = law_of("bounded", scope, at_most="")
    made = automaton(law)
    rounds = made.states + 1
    word = stem + loop * (2 * rounds)
    states = observe(law, made, word)[-len(loop) * rounds - 1 : -1]
    found = made.counting.issuperset(states) and any("what" in each for each in loop)

    open_for_ever = any(
        not closed and len(places) > len(loop) * rounds
        for places, closed in segments(scope, word)
    )

    assert found == (open_for_ever and any("what" in each for each in loop))
    assert not made.bad
