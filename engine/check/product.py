"""Laws in the proof: the observer of a law becomes one more variable of the system.

An edge on which the observer moves is split by the observer's state and by those
predicates of the law that depend on memory, and a broken law is a fault like any other.
So exploration, slicing and summaries need not know of laws.
"""

import itertools
from collections.abc import Iterator
from typing import TypeAlias

import attrs

from unspiral.engine.check.feasible import Word, satisfiable
from unspiral.engine.check.system import (
    FAULT,
    OBSERVER,
    Edge,
    System,
)
from unspiral.engine.core.language import (
    FALSE,
    TRUE,
    Arith,
    Assign,
    Compare,
    Const,
    Member,
    Name,
    Node,
    conjunction,
    encode,
    negation,
)
from unspiral.engine.core.observer import Observer
from unspiral.engine.core.table import Table

__all__ = ["BROKEN", "product"]

#: the letters of a step, each with the condition of its edge
Letters: TypeAlias = list[tuple[int, Node]]
BROKEN = f"{FAULT}law"  #: the fault of a broken law


def product(system: System, observer: Observer, table: Table) -> System:
    """Multiply a system whose edges are single rows with an observer.

    Where the observer cannot be in some state, by the graph of phases alone, no edge
    asks for that state.
    """
    read = [(edge, _read(edge, observer, table, system.words)) for edge in system.edges]
    there = _states(system, read, observer)
    edges = [
        split
        for edge, letters in read
        for split in _split(edge, letters, observer, table, there[edge.source])
    ]
    words = system.words
    if observer.states > 1:
        words = (*words, Word(OBSERVER, 0, observer.states - 1, 0))
    return attrs.evolve(system, words=words, edges=tuple(edges))


def _read(
    edge: Edge, observer: Observer, table: Table, words: tuple[Word, ...]
) -> Letters | None:
    """Return the letters that an edge can have and when; None if it is no step."""
    if not edge.rows or edge.target.startswith(FAULT):
        return None
    found: Letters = []
    for letter, condition in _letters(observer.letters[edge.rows[-1].index], table):
        enabled = conjunction(edge.enabled, condition)
        if satisfiable(enabled, words):
            found.append((letter, enabled))
    return found


def _states(
    system: System, read: list[tuple[Edge, Letters | None]], observer: Observer
) -> dict[str, list[int]]:
    """Return the good states of the observer that may be in each phase."""
    leaving: dict[str, list[tuple[str, int]]] = {phase: [] for phase in system.phases}
    for edge, letters in read:
        if edge.target in leaving:
            leaving[edge.source] += [
                (edge.target, letter) for letter, _ in letters or ()
            ]
    found: dict[str, set[int]] = {phase: set() for phase in system.phases}
    found[system.initial].add(0)
    waiting = [(system.initial, 0)]
    while waiting:
        phase, state = waiting.pop()
        for target, letter in leaving[phase]:
            after = observer.delta[state][letter]
            if after not in found[target] and after not in observer.bad:
                found[target].add(after)
                waiting.append((target, after))
    return {phase: sorted(states) for phase, states in found.items()}


def _split(
    edge: Edge,
    letters: Letters | None,
    observer: Observer,
    table: Table,
    there: list[int],
) -> Iterator[Edge]:
    if letters is None:
        yield edge
        return
    for letter, enabled in letters:
        whole = attrs.evolve(edge, enabled=enabled)
        yield from _moves(whole, observer, letter, table, there)


def _letters(predicates: tuple[Node, ...], table: Table) -> Iterator[tuple[int, Node]]:
    """Return each combination of truth values and when it holds."""
    encoded = [encode(node, table.scope) for node in predicates]
    fixed = sum(1 << i for i, node in enumerate(encoded) if node == TRUE)
    varying = [i for i, node in enumerate(encoded) if node not in {TRUE, FALSE}]
    for truth in itertools.product((False, True), repeat=len(varying)):
        letter = fixed
        condition: Node = TRUE
        for i, holds in zip(varying, truth, strict=True):
            part = encoded[i] if holds else negation(encoded[i])
            condition = conjunction(condition, part)
            letter |= int(holds) << i
        if condition != FALSE:
            yield letter, condition


def _moves(
    edge: Edge, observer: Observer, letter: int, table: Table, there: list[int]
) -> Iterator[Edge]:
    """Return an edge for each way in which the observer moves on a letter."""
    marked = observer.recurrent is not None and bool(letter >> observer.recurrent & 1)
    groups: dict[int | str, list[int]] = {}
    for state in there:
        after = observer.delta[state][letter]
        ends = edge.target in table.terminals and after in observer.pending
        broken = after in observer.bad or ends
        groups.setdefault(BROKEN if broken else after - state, []).append(state)
    for move, states in groups.items():
        enabled = conjunction(edge.enabled, _in(states, there))
        if isinstance(move, str):
            yield attrs.evolve(edge, enabled=enabled, target=BROKEN, updates=())
            continue
        updates = edge.updates
        if move:
            value = Arith("+" if move > 0 else "-", Name(OBSERVER), Const(abs(move)))
            updates = (*updates, Assign(OBSERVER, value))
        yield attrs.evolve(edge, enabled=enabled, updates=updates, marked=marked)


def _in(states: list[int], good: list[int]) -> Node:
    """Return the condition that the observer, in a good state, is in one of some."""
    if states == good:
        return TRUE
    name = Name(OBSERVER)
    if len(states) == 1:
        return Compare("==", name, Const(states[0]))
    low, high = states[0], states[-1]
    if states == list(range(low, high + 1)):
        parts: list[Node] = []
        if low > good[0]:
            parts.append(Compare(">=", name, Const(low)))
        if high < good[-1]:
            parts.append(Compare("<=", name, Const(high)))
        return conjunction(*parts) if parts else TRUE
    return Member(name, tuple(states))
