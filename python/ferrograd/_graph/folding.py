"""Blocks of a recorded graph, which a picture shows as one box: modules, rounds of a loop, lines, functions.

A block is an interval of one order in which inputs stand before their users, so no blocks depend on each other in a
circle.
"""

from __future__ import annotations

import ast
import linecache
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from heapq import heappop, heappush
from itertools import accumulate, groupby
from operator import attrgetter

import numpy as np

from ferrograd._graph.nodes import Node, Snapshot

#: The number of boxes above which a picture is folded.
MOST = 24
# The number of boxes below which a repetition is not folded.
_SHORTEST = 6


@dataclass(eq=False)
class Block:
    """A part of a graph that a picture shows as one box."""

    #: ``"module"``, ``"loop"``, ``"round"``, ``"line"``, ``"function"`` or ``"part"``.
    kind: str
    name: str
    items: list[Item]
    #: The number of rounds of a loop.
    times: int = 1

    @cached_property
    def nodes(self) -> list[Node]:
        """All nodes of the block."""
        return [node for item in self.items for node in nodes_of(item)]


Item = Node | Block


def nodes_of(item: Item) -> list[Node]:
    """The nodes of a block, or the node itself."""
    return item.nodes if isinstance(item, Block) else [item]


def fold(graph: Snapshot, nodes: Sequence[Node]) -> list[Item]:
    """These nodes without the leaves of ops, from inputs to results. Where they are many, ``MOST`` items are left."""
    alone = [node for node in nodes if node.is_leaf and not node.users]
    ops: list[Node] = [graph[i] for i in _order(graph, {node.id for node in nodes if not node.is_leaf})]
    if len(alone) + len(ops) <= MOST:
        return [*alone, *ops]
    return _opened(_few(_loops([*alone, *_modules(ops)])))


def _modules(nodes: Sequence[Node], depth: int = 0) -> list[Item]:
    """The nodes with a block for neighbours that one module recorded; ``depth`` modules are around all of them."""
    found: list[Item] = []
    for module, group in groupby(nodes, lambda node: node.modules[depth : depth + 1]):
        several = list(group)
        if not module or len(several) == 1:
            found += several
            continue
        items = _few(_loops(_modules(several, depth + 1)))
        # A block of one block would only have to be opened.
        found.append(items[0] if len(items) == 1 else Block("module", module[0], items))
    return found


def _opened(items: list[Item]) -> list[Item]:
    """The items with what is in their only block, if that is a module, as long as they are few."""
    blocks = [item for item in items if isinstance(item, Block)]
    if len(blocks) != 1 or blocks[0].kind != "module" or len(items) - 1 + len(blocks[0].items) > MOST:
        return items
    i = items.index(blocks[0])
    return _opened([*items[:i], *blocks[0].items, *items[i + 1 :]])


def _order(graph: Snapshot, shown: set[int]) -> list[int]:
    """The nodes from inputs to results, each as near to its users as it can be.

    The order is made from its end. The next is one whose users have their places: one that joins no paths if there is
    one, and one of the module of the node before, or of the module around it, if there is one. Of several it is the one
    that joins the fewest paths, and then the one that was met last, so a branch stays together.
    """
    record = graph.record
    joins: dict[int, int] = {}
    for i in sorted(shown):
        inner = {p[0] for p in record.inputs[i] if p is not None and p[0] in shown}
        joins[i] = max((joins[j] for j in inner), default=0) + (len(inner) > 1)
    waiting = {i: sum(user in shown for user in graph.users_by_id[i]) for i in shown}
    # The nodes that could be next: those that join paths or none, of each module with those that it calls.
    ready: dict[tuple[bool, tuple[str, ...]], list[tuple[int, int, int]]] = {}
    placed: set[int] = set()

    def offer(i: int, met: int) -> None:
        modules = graph[i].modules
        for depth in range(len(modules) + 1):
            heappush(ready.setdefault((joins[i] > 0, modules[:depth]), []), (joins[i], -met, i))

    def chosen(modules: tuple[str, ...]) -> int:
        for joining in (False, True):
            for depth in range(len(modules), -1, -1):
                some = ready.get((joining, modules[:depth]), [])
                while some and some[0][2] in placed:
                    heappop(some)
                if some:
                    return heappop(some)[2]
        return -1

    for i in shown:
        if not waiting[i]:
            offer(i, i)
    order: list[int] = []
    met = len(record.ops)
    # The first round of a loop may lack what tells its arguments apart. It takes their order from a later round.
    ways: dict[tuple[str, int], list[int]] = {}
    before: tuple[str, ...] = ()
    while (i := chosen(before)) >= 0:
        before = graph[i].modules
        placed.add(i)
        order.append(i)
        ends = [place[0] if place is not None and place[0] in shown else -1 for place in record.inputs[i]]
        known = [joins[j] for j in ends if j >= 0]
        if len(set(known)) > 1:
            ways[record.ops[i], record.sites[i]] = sorted(range(len(ends)), key=lambda k: -joins.get(ends[k], 0))
        way = ways.get((record.ops[i], record.sites[i]), [])
        for j in dict.fromkeys(ends[k] for k in (way if len(way) == len(ends) else reversed(range(len(ends))))):
            if j >= 0:
                waiting[j] -= 1
                if not waiting[j]:
                    met += 1
                    offer(j, met)
    return order[::-1]


def _loops(items: list[Item]) -> list[Item]:
    """The items with a block for what is done three times or more in a row, the shortest repetition first."""
    numbers: dict[object, int] = {}
    # The same number stands for the same op of the same line, for modules that differ in a number, and for a loop.
    kinds = [numbers.setdefault(_kind(item), len(numbers)) for item in items]
    period = 1
    while period <= len(items) // 3:
        tokens = np.array(kinds)
        same = np.diff(tokens[period:] == tokens[:-period], prepend=False, append=False)
        runs = [(a, b + period) for a, b in np.flatnonzero(same).reshape(-1, 2).tolist()]
        runs = [(a, b) for a, b in runs if b - a >= 3 * period and sum(map(_size, items[a:b])) >= _SHORTEST]
        passing = _passing(items) if runs else []
        bound = len(items)
        for i in reversed(range(len(runs))):
            start, stop = _rounds(kinds, passing, period, *runs[i], runs[i - 1][1] if i else 0, bound)
            bound = start
            rounds = [items[k : k + period] for k in range(start, stop, period)]
            body = [
                one[0] if period == 1 else Block("round", f"round {k}", _few(one)) for k, one in enumerate(rounds, 1)
            ]
            nodes = [node for item in rounds[1] for node in nodes_of(item)]
            name = _numbered(rounds[0], rounds[-1]) or _statement(nodes) or _name(nodes)
            loop = Block("loop", name, _parts(body, "rounds"), len(rounds))
            kind = numbers.setdefault(tuple(sorted(kinds[start : start + period])), len(numbers))
            items[start:stop], kinds[start:stop] = [loop], [kind]
        # What is shorter now may repeat with a shorter period.
        period = 1 if runs else period + 1
    return items


def _kind(item: Item) -> object:
    """What items have in common that repeat: the op and the line, or the module without its number."""
    if isinstance(item, Node):
        return item.op, item.site
    return item.kind, re.sub(r"(?<![^.])\d+(?= \()", "*", item.name)


def _size(item: Item) -> int:
    return len(nodes_of(item))


def _numbered(first: list[Item], last: list[Item]) -> str:
    """The name of a loop over modules, ``layers.0–5 (Layer)``; empty where the first module is not another in each."""
    names = [[item.name for item in one if isinstance(item, Block) and item.kind == "module"] for one in (first, last)]
    if not all(names) or names[0][0] == names[1][0]:
        return ""
    (start, _, kind), (end, _, _) = (several[0].rpartition(" (") for several in names)
    return f"{start}–{end.rpartition('.')[2]}" + (f" ({kind}" if len(names[0]) == 1 else "")


def _passing(items: Sequence[Item]) -> list[int]:
    """For each item, how many ops before it have users from it on."""
    at = {node.id: i for i, item in enumerate(items) for node in nodes_of(item)}
    change = [0] * (len(items) + 1)
    for i, item in enumerate(items):
        for node in nodes_of(item):
            last = max((at.get(user.id, i) for user in node.users), default=i)
            if last > i and not node.is_leaf:
                change[i + 1] += 1
                change[last + 1] -= 1
    return list(accumulate(change[:-1]))


def _rounds(
    kinds: Sequence[int], passing: Sequence[int], period: int, start: int, end: int, least: int, most: int
) -> tuple[int, int]:
    """Where the rounds of a run begin and end.

    They are cut where the fewest values pass. A neighbour with the same ops in another order is a round too. The first
    one often is, because less of it is differentiated.
    """
    middle = start + (end - start) // (2 * period) * period - period
    # What each round leaves for the ops after the loop passes every later cut; it says nothing of where a round begins.
    left = passing[middle + period] - passing[middle]
    cut = min(range(period), key=lambda i: (passing[middle + i] * period - left * i, (end - start - i) % period, i))
    count = (end - start - cut) // period
    if count < 3:
        cut, count = 0, (end - start) // period
    first = start + cut
    last = first + count * period
    ops = sorted(kinds[first : first + period])
    while first - period >= least and sorted(kinds[first - period : first]) == ops:
        first -= period
    while last + period <= most and sorted(kinds[last : last + period]) == ops:
        last += period
    return first, last


def _few(items: list[Item]) -> list[Item]:
    """At most ``MOST`` items: where they are more, those of a line are one, then those of a function, then any.

    Modules stay as they are as long as that is enough.
    """
    for kind, key in (("line", attrgetter("site")), ("function", _function)):
        if len(items) > MOST:
            found = _together(items, kind, key)
            # One block of all items would only have to be opened.
            items = found if len(found) > 1 else items
    if len(items) > MOST:
        found, at = [], 0
        for together, group in groupby(items, lambda item: isinstance(item, Node)):
            several = list(group)
            before, at = at, at + sum(map(_size, several))
            if not together or len(several) == 1:
                found += several
            elif len(several) > MOST:
                found += _parts(several, "ops", before)
            else:
                found.append(Block("part", f"ops {before + 1}–{at}", several))
        items = found
    return _parts(items, "part")


def _together(items: list[Item], kind: str, key: Callable[[Node], str | None]) -> list[Item]:
    """The items, with a block for neighbours that all have one key."""

    def common(item: Item) -> object:
        if isinstance(item, Block) and item.kind == "module":
            return item
        keys = {key(node) for node in nodes_of(item)}
        return keys.pop() if len(keys) == 1 else item

    found: list[Item] = []
    for _, group in groupby(items, common):
        several = list(group)
        name = _name([node for item in several for node in nodes_of(item)])
        found.append(several[0] if len(several) == 1 else Block(kind, name, _parts(several, "part")))
    return found


def _parts(items: Sequence[Item], word: str, before: int = 0) -> list[Item]:
    """At most ``MOST`` items: where they are more, blocks of neighbours, with the numbers that follow those before."""
    if len(items) <= MOST:
        return list(items)
    size = math.ceil(len(items) / min(MOST, math.ceil(len(items) / MOST)))
    ends = [(i, min(i + size, len(items))) for i in range(0, len(items), size)]
    return [
        Block("part", f"{word} {before + i + 1}–{before + end}", _parts(items[i:end], word, before + i))
        for i, end in ends
    ]


def _name(nodes: Sequence[Node]) -> str:
    """What the nodes have in common: the text of their line, their class, or their functions."""
    if len({node.site for node in nodes}) == 1:
        return nodes[0].source or nodes[0].place or nodes[0].op
    functions = list(dict.fromkeys(map(_function, nodes)))
    classes = {name.rpartition(".")[0] for name in functions}
    return classes.pop() if len(functions) > 1 == len(classes) and "" not in classes else ", ".join(functions)


def _statement(nodes: Sequence[Node]) -> str:
    """The text of the innermost ``for`` or ``while`` statement around several lines, or nothing."""
    places = {(node.file or "", node.line or 0) for node in nodes}
    if len(places) == 1 or len({file for file, _ in places}) > 1:
        return ""
    file = nodes[0].file or ""
    lines = [line for _, line in places]
    around = [first for first, last in _statements(file) if first <= min(lines) and max(lines) <= last]
    return linecache.getline(file, max(around)).strip() if around else ""


def _function(node: Node) -> str:
    """The function or method whose code recorded the node, or the file if that is no function's."""
    file, line = node.file or "", node.line or 0
    return _function_at(file, line) or node.place.rpartition(":")[0] or "unknown place"


@cache
def _function_at(file: str, line: int) -> str:
    return next((name for name, first, last in reversed(_functions(file)) if first <= line <= last), "")


@cache
def _functions(file: str) -> list[tuple[str, int, int]]:
    """The functions of a file, each as its name with its class, its first and its last line. A function comes after
    those that contain it.
    """

    def below(tree: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
        for part in ast.iter_child_nodes(tree):
            name = prefix
            if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                name = f"{prefix}{part.name}."
                if not isinstance(part, ast.ClassDef):
                    yield name[:-1], part.lineno, part.end_lineno or part.lineno
            yield from below(part, name)

    try:
        return list(below(_parsed(file), ""))
    except RecursionError:
        return []


@cache
def _statements(file: str) -> list[tuple[int, int]]:
    """The first and the last line of each ``for`` and ``while`` statement of a file."""
    loops = [part for part in ast.walk(_parsed(file)) if isinstance(part, (ast.For, ast.AsyncFor, ast.While))]
    return [(loop.lineno, loop.end_lineno or loop.lineno) for loop in loops]


def _parsed(file: str) -> ast.Module:
    """The syntax of a file, or that of an empty one if it cannot be read."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
