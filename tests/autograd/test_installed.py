"""``install_as("autograd")``: programs keep their imports."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import ferrograd
package = ferrograd.install_as("autograd")
assert package.__name__ == "autograd" and ferrograd.install_as("autograd") is package is ferrograd.autograd
import autograd
import autograd.numpy as np
import autograd.numpy.random as npr
import autograd.scipy.stats.norm as norm
from autograd import grad, value_and_grad, elementwise_grad as egrad
from autograd.extend import primitive, defvjp, vspace, VSpace, Box
from autograd.core import make_vjp
from autograd.builtins import isinstance, tuple, list, dict
from autograd.differential_operators import jacobian
import autograd.misc
from autograd.misc.flatten import flatten_func
assert autograd.misc.flatten([1.0])[0].tolist() == [1.0]
from autograd.misc.optimizers import adam
from autograd.numpy.numpy_boxes import ArrayBox
from autograd.numpy.numpy_vspaces import ArrayVSpace
from autograd.numpy.linalg import solve
from autograd.scipy.special import logsumexp
from autograd.scipy.integrate import odeint
from autograd.test_util import check_grads
from autograd.tracer import isbox
from autograd.util import func
from autograd.wrap_util import unary_to_nary
import importlib.metadata
assert importlib.metadata.version("autograd") == autograd.__version__
assert np is ferrograd.autograd.numpy and autograd.numpy is np
assert grad(lambda x: np.sum(np.tanh(x)))(np.zeros(2)).tolist() == [1.0, 1.0]
assert egrad(norm.logpdf)(1.0) == -1.0
try:
    ferrograd.install_as("numpy")
except ValueError as error:
    assert "autograd" in str(error)
else:
    raise AssertionError
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return done.stdout


def test_a_program_keeps_its_imports() -> None:
    run(PROGRAM)


def test_only_functions_of_scipy_need_scipy() -> None:
    run(
        "import sys; sys.modules['scipy'] = None\nimport ferrograd.autograd.numpy as np\n"
        "from ferrograd.autograd import grad\nimport ferrograd.autograd.misc.optimizers\n"
        "assert grad(np.sin)(0.0) == 1.0"
    )


def test_the_package_is_imported_when_it_is_asked_for() -> None:
    out = run("import sys, ferrograd; print(*sys.modules)")
    assert "ferrograd.autograd" not in out.split()
    run("import ferrograd; assert 'autograd' in dir(ferrograd); ferrograd.autograd.grad")
