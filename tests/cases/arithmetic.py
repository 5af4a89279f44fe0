"""Functions of two tensors, element by element."""

import numpy as np
from scipy import special

from tests.cases import Case, normal, uniform
from tests.cases.elementary import quiet

A, B = normal(2, 3), normal(3, seed=1)
WHOLE, OTHER = np.array([[-7, 7, 5], [0, 3, -2]]), np.array([2, -3, 0])
DIVISOR = np.array([2, -3, 4])
SPECIAL = np.array([-np.inf, -3.0, -2.0, -0.5, -0.0, 0.0, 0.5, 2.0, 3.0, np.inf, np.nan])
GRID = (SPECIAL[:, None], SPECIAL)


CASES = [
    Case("add", (A, B), ref=np.add),
    Case("add", (WHOLE, OTHER), ref=np.add),
    Case("subtract", (normal(2, 1), normal(1, 3, seed=1)), ref=np.subtract),
    Case("multiply", (A, normal(seed=1)), ref=np.multiply),
    Case("multiply", (A.T, normal(3, 1, seed=1)), ref=np.multiply),
    Case("multiply", (normal(2, 0), normal(1, 1, seed=1)), ref=np.multiply),
    Case("divide", (A, uniform(1, 2, 2, 1, seed=1)), ref=np.divide),
    Case("divide", GRID, ref=quiet(np.divide), order=0),
    Case("floor_divide", (A, B), ref=np.floor_divide),
    Case("floor_divide", GRID, ref=quiet(lambda x, y: np.floor(x / y)), order=0),
    Case("floor_divide", (WHOLE, DIVISOR), ref=np.floor_divide),
    Case("remainder", (A, B), ref=np.remainder),
    Case("remainder", GRID, ref=quiet(np.remainder), order=0),
    Case("remainder", (WHOLE, DIVISOR), ref=np.remainder),
    Case("pow", (uniform(0.5, 2, 2, 3), B), ref=np.power),
    Case("pow", (A, np.array(3.0)), ref=np.power, wrt=(0,)),
    Case("pow", (A, np.array([2.0, 4.0, -1.0])), ref=np.power, wrt=(0,)),
    Case("pow", GRID, ref=quiet(np.power), order=0),
    Case("pow", (WHOLE, np.array([2, 0, 3])), ref=np.power),
    Case("atan2", (A, B), ref=np.arctan2),
    Case("atan2", GRID, ref=np.arctan2, order=0),
    Case("hypot", (A, B), ref=np.hypot),
    Case("hypot", GRID, ref=np.hypot, order=0),
    Case("xlogy", (A, uniform(0.5, 2, 2, 3)), ref=special.xlogy),
    Case("xlogy", GRID, ref=quiet(special.xlogy), order=0),
    Case("copysign", (A, B), ref=np.copysign),
    Case("copysign", GRID, ref=np.copysign, order=0),
    Case("nextafter", (A, B), ref=np.nextafter),
    Case("nextafter", GRID, ref=np.nextafter, order=0),
    Case("nextafter", (np.array([0.0, -0.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, np.inf])), ref=np.nextafter, order=0),
    Case(
        "nextafter",
        (np.array([5e-324, -5e-324, 1.7e308, np.inf]), np.array([-1.0, 1.0, np.inf, 0.0])),
        ref=np.nextafter,
        order=0,
    ),
    Case("maximum", (A, B), ref=np.maximum),
    Case("maximum", GRID, ref=np.maximum, order=0),
    Case("maximum", (WHOLE, OTHER), ref=np.maximum),
    Case("minimum", (A, B), ref=np.minimum),
    Case("minimum", GRID, ref=np.minimum, order=0),
    Case("minimum", (WHOLE, OTHER), ref=np.minimum),
    Case("fmax", (A, B), ref=np.fmax),
    Case("fmax", GRID, ref=np.fmax, order=0),
    Case("fmax", (WHOLE, OTHER), ref=np.fmax),
    Case("fmin", (A, B), ref=np.fmin),
    Case("fmin", GRID, ref=np.fmin, order=0),
    Case("fmin", (WHOLE, OTHER), ref=np.fmin),
    Case("fmod", (A, B), ref=np.fmod),
    Case("fmod", GRID, ref=quiet(np.fmod), order=0),
    Case("fmod", (WHOLE, DIVISOR), ref=np.fmod),
    Case("gcd", (WHOLE, OTHER), ref=np.gcd),
    Case("lcm", (WHOLE, OTHER), ref=np.lcm),
    Case("heaviside", (np.array([-1.0, 0.0, 2.0]), normal(2, 3)), ref=np.heaviside, wrt=(1,)),
    Case("heaviside", (np.array([-1.0, 2.0]), normal(2, 2)), ref=np.heaviside),
    Case("heaviside", GRID, ref=np.heaviside, order=0),
    Case("float_power", (uniform(0.5, 2, 2, 3), B), ref=np.float_power),
    Case("float_power", (WHOLE, np.array([2, 0, 3])), ref=np.float_power, order=0),
]
