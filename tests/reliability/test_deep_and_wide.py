"""Graphs of up to a million nodes: deep ones in threads with small stacks, wide ones, and what looks at a graph."""

from __future__ import annotations

import pytest

from tests.engine.test_threads import script

#: A chain of `n` nodes and work in a thread whose stack has 256 KiB.
CHAIN = """
import copy, gc, pickle

def chain(x, n):
    for _ in range(n):
        x = x + 1.0
    return x

def in_a_small_thread(work):
    found = []
    def run():
        try:
            work()
        except BaseException as e:
            found.append(e)
    threading.stack_size(256 << 10)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not found, found
"""


@pytest.mark.parametrize("retain", [False, True])
def test_a_deep_backward_pass_in_a_small_stack(retain: bool) -> None:
    script(f"""{CHAIN}
x = fg.tensor(1.0, requires_grad=True)
def work():
    y = chain(x, 1_000_000)
    fg.backward(y, retain_graph={retain})
    if {retain}:
        fg.backward(y)
in_a_small_thread(work)
assert x.grad.item() == {1 + retain}
x = None
assert fg._core.live_nodes() == 0
""")


@pytest.mark.parametrize("way", ["thread", "exception", "exit", "collector"])
def test_a_deep_graph_is_dropped(way: str) -> None:
    script(f"""{CHAIN}
x = fg.tensor(1.0, requires_grad=True)
held = [chain(x, 1_000_000)]
if "{way}" == "thread":
    in_a_small_thread(held.clear)
elif "{way}" == "exception":
    def fail():
        y = held.pop()
        raise ValueError
    try:
        fail()
    except ValueError:
        pass
elif "{way}" == "collector":
    held.append(held)
    del held
    gc.collect()
if "{way}" != "exit":
    x = None
    assert fg._core.live_nodes() == 0, fg._core.live_nodes()
""")


def test_what_looks_at_a_deep_graph() -> None:
    script(f"""{CHAIN}
x = fg.tensor(1.0, requires_grad=True)
y = chain(x, 100_000)
assert repr(y) == "Tensor(100001., dtype=float32, requires_grad=True)"
assert copy.deepcopy(y).item() == pickle.loads(pickle.dumps(y)).item() == 100_001
gc.collect()
graph = fg.graph(y)
assert len(graph) == 100_001
for text in (graph.to_text(), graph.to_dot(), graph.to_mermaid(), graph.to_html()):
    assert len(text) < 10_000_000
    assert "more" in text, text[-300:]
node, steps = y.grad_fn, 0
while below := node.next_functions:
    node, steps = below[0][0], steps + 1
assert steps == 100_000, steps
""")


def test_a_million_uses_of_one_leaf_and_a_sum_of_a_million() -> None:
    out = script("""
        x = fg.tensor(np.ones(16), requires_grad=True)
        parts = [x * 2.0 for _ in range(200_000)]
        before = peak()
        y = fg.stack(parts).sum()
        fg.backward(y)
        assert (np.asarray(x.grad) == 400_000).all()
        del parts, y
        scalar = fg.tensor(1.0, requires_grad=True)
        many = [scalar] * 1_000_000
        g = fg.grad(fg.stack(many).sum(), scalar)
        assert g.item() == 1_000_000
        total = scalar
        for _ in range(1_000_000):
            total = total + scalar
        assert fg.grad(total, scalar).item() == 1_000_001
    """)
    assert out == ""
