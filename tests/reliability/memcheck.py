"""A smoke test under valgrind's memcheck: ``python -m tests.reliability.memcheck``.

It fails if memcheck finds an invalid access, a jump on an uninitialised value, or a block that is definitely lost, with
a frame of the extension on its stack.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import ferrograd as fg

SMOKE = """
import os
import numpy as np, ferrograd as fg
from ferrograd import func
fg.set_num_threads(2)
def run():
    x = fg.tensor(np.linspace(0, 1, 600).reshape(20, 30), requires_grad=True)
    w = fg.tensor(np.ones((30, 10)), requires_grad=True)
    y = fg.softmax(fg.tanh(x @ w), axis=-1)
    dx = fg.grad((y * y).sum(), x, create_graph=True)
    (dx * dx).sum().backward()
    x[1:, ::2].sum().backward()
    z = x * 1.0
    z[fg.tensor([0, 1])] = 2.0
    z.mT.mul_(2.0)
    fg.linalg.svd(w.detach()), fg.sort(x), fg.cumsum(x, axis=0), fg.einsum("ij,jk->k", x, w)
    image = fg.tensor(np.ones((1, 2, 8, 8), np.float32), requires_grad=True)
    fg.conv2d(image, fg.ones((3, 2, 3, 3))).sum().backward()
    func.vmap(func.grad(lambda v: (v**3).sum()))(x.detach())
    step = lambda c, _: (fg.tanh(c * 0.9 + 0.1), (c * c).sum())
    compiled = fg.compile(func.grad(lambda v: func.scan(step, v, None, 50)[1].sum()))
    compiled(x.detach()[0]), compiled(x.detach()[0, :3]), compiled(x.detach()[:, :3]), compiled(x.detach()[:0])
    memoryview(x.detach()).tolist(), np.from_dlpack(x.detach()), fg.from_dlpack(np.ones(3))
    x.register_hook(lambda g, x=x: g)
    for bad in (lambda: x[99], lambda: x @ x, lambda: fg.zeros((2**62, 4)), lambda: fg.sum(x, nothing=1)):
        try:
            bad()
        except Exception:
            pass
for _ in range(3):
    run()
fg.empty_cache()
# The process ends here, so valgrind does not see what the interpreter frees or keeps at its end.
os._exit(0)
"""

#: The library's name in a stack.
OURS = re.compile(r"_core\.abi3\.so|ferrograd::")
#: Reports that are no defect, by what their stack has in it.
EXPLAINED = {
    # Safe code. The compiler tests both parts of an Option at once, and looks at the tag afterwards.
    "kernel::conv::plan": "Conditional jump",
    # PyO3 makes each class once and keeps it.
    "create_type_object": "definitely lost",
}


def check() -> tuple[int, list[str]]:
    """The number of reports of all libraries, and the text of those with a frame of ours."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        command = [
            "valgrind",
            "--leak-check=full",
            "--show-leak-kinds=definite",
            "--num-callers=40",
            f"--log-file={log}",
        ]
        environment = {**os.environ, "PYTHONMALLOC": "malloc", "FERROGRAD_CPU": "avx2"}
        environment["PYTHONPATH"] = str(Path(fg.__file__ or "").parents[1])
        # valgrind lacks some of the widest instructions, which NumPy's BLAS would take.
        environment |= {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "1"}
        subprocess.run([*command, sys.executable, "-c", SMOKE], env=environment, check=True)
        text = re.sub(r"==\d+== ?", "", log.read_text())
    reports = [r for r in text.split("\n\n") if re.match(r"\s*(Invalid|Conditional|Use of|.* definitely lost in)", r)]
    return len(reports), [r for r in reports if is_ours(r)]


def is_ours(report: str) -> bool:
    """Whether the extension lost a block, or made the access, and nothing explains that."""
    heading, _, frames = report.strip().partition("\n")
    place = frames if "definitely lost" in heading else frames.partition("\n")[0]
    explained = any(where in frames and what in heading for where, what in EXPLAINED.items())
    return bool(OURS.search(place)) and not explained


def main() -> None:
    """Prints the reports and fails if one is of the library."""
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed")
    count, ours = check()
    print("\n\n".join(ours))
    print(f"{count} reports, {len(ours)} with a frame of the extension")
    sys.exit(bool(ours))


if __name__ == "__main__":
    main()
