"""Hooks in one thread and parallel work in others: nobody waits for ever, with a pool of any size."""

from __future__ import annotations

import pytest

from tests.engine.test_threads import script


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_hooks_beside_parallel_work(threads: int) -> None:
    script(f"""
import gc
fg.set_num_threads({threads})
sys.setswitchinterval(1e-5)
big = np.ones(50_000, dtype=np.float32)
failed, called = [], [0]

def guarded(work):
    def run():
        try:
            for _ in range(25):
                work()
        except BaseException as e:
            failed.append(e)
    return threading.Thread(target=run)

def hooks():
    x = fg.tensor(big, requires_grad=True)
    y = x
    for _ in range(20):
        y = fg.sin(y)
        # The hook computes in parallel itself, while the pass holds a place in the pool.
        y.register_hook(lambda g: called.__setitem__(0, called[0] + 1) or g * fg.ones((50_000,)))
    fg.backward(y.sum())

def parallel():
    x = fg.tensor(big, requires_grad=True)
    fg.backward(wide(x, 16))

def collect():
    x = fg.tensor(np.ones(3), requires_grad=True)
    y = x * 2
    y.register_hook(lambda g, y=y: g)
    del x, y
    gc.collect()

def resize():
    fg.set_num_threads({threads})
    fg.empty_cache()

work = [guarded(w) for w in (hooks, hooks, parallel, parallel, collect, resize)]
for t in work:
    t.start()
for t in work:
    t.join()
assert not failed, failed
assert called[0] == 2 * 25 * 20, called
""")


def test_tensors_are_made_read_and_dropped_in_many_threads() -> None:
    script("""
        sys.setswitchinterval(1e-5)
        shared = [fg.tensor(np.full(4, float(i)), requires_grad=True) for i in range(8)]
        failed = []
        def run(seed):
            rng = np.random.default_rng(seed)
            try:
                for _ in range(400):
                    i, j = rng.integers(8, size=2)
                    a, b = shared[i], shared[j]
                    (g,) = fg.grad((a * b).sum(), [a])
                    assert g.shape == (4,)
                    # Other threads still read the value that is replaced.
                    shared[j] = fg.tensor(np.full(4, float(j)), requires_grad=True)
                    view = shared[i].detach()[1:]
                    assert view.tolist() == [float(i)] * 3
            except BaseException as e:
                failed.append(e)
        threads = [threading.Thread(target=run, args=(s,)) for s in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not failed, failed
    """)
