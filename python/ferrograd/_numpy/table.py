"""The function of ``ferrograd`` that answers for each function of NumPy and SciPy, and the parameters both have."""

# Ufuncs that have another name here: NumPy's, then SciPy's.
RENAMED = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "fabs": "abs",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "mod": "remainder",
    "degrees": "rad2deg",
    "radians": "deg2rad",
    "rint": "round",
    "true_divide": "divide",
    "expit": "sigmoid",
    "j0": "bessel_j0",
    "j1": "bessel_j1",
    "k0": "modified_bessel_k0",
    "k0e": "scaled_modified_bessel_k0",
    "k1": "modified_bessel_k1",
    "k1e": "scaled_modified_bessel_k1",
    "log_expit": "log_sigmoid",
    "y0": "bessel_y0",
    "y1": "bessel_y1",
}
# Ufuncs that have the same name here.
SAME = set(
    """
    add subtract multiply divide floor_divide remainder power logaddexp maximum minimum hypot copysign nextafter matmul
    float_power vecdot
    negative positive sign exp exp2 expm1 log log2 log10 log1p sqrt square reciprocal
    sin cos tan sinh cosh tanh deg2rad rad2deg floor ceil trunc signbit isfinite isinf isnan
    greater greater_equal less less_equal equal not_equal logical_and logical_or logical_not logical_xor
    bitwise_and bitwise_or bitwise_xor cbrt fmax fmin fmod frexp gcd heaviside lcm ldexp logaddexp2
    betainc betaln digamma entr erf erfc erfcx erfinv gammainc gammaincc gammaln i0 i0e i1 i1e log_ndtr logit ndtr ndtri
    psi xlog1py xlogy
    """.split()  # noqa: SIM905
)
# The function for `reduce` of a ufunc.
REDUCE = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
    "logaddexp": "logsumexp",
}
# The function for `accumulate` of a ufunc.
ACCUMULATE = {
    "add": "cumsum",
    "multiply": "cumprod",
    "maximum": "cummax",
    "minimum": "cummin",
}

# NumPy function -> function here, then the parameters that are passed on, under NumPy's names: before the bar those
# passed by position, after it those passed by name (`theirs>ours` where the names differ).
FUNCTIONS = {
    "sum": "sum: a | axis dtype keepdims",
    "prod": "prod: a | axis dtype keepdims",
    "mean": "mean: a | axis dtype keepdims",
    "max": "max: a | axis keepdims",
    "amax": "max: a | axis keepdims",
    "min": "min: a | axis keepdims",
    "amin": "min: a | axis keepdims",
    "std": "std: a | axis keepdims ddof>correction correction",
    "var": "var: a | axis keepdims ddof>correction correction",
    "all": "all: a | axis keepdims",
    "any": "any: a | axis keepdims",
    "median": "median: a | axis keepdims",
    "nansum": "nansum: a | axis dtype keepdims",
    "nanmean": "nanmean: a | axis keepdims",
    "argmax": "argmax: a | axis keepdims",
    "argmin": "argmin: a | axis keepdims",
    "count_nonzero": "count_nonzero: a | axis keepdims",
    "cumsum": "cumsum: a | axis dtype",
    "cumprod": "cumprod: a | axis dtype",
    "cumulative_sum": "cumsum: x | axis dtype",
    "cumulative_prod": "cumprod: x | axis dtype",
    "trace": "trace: a | offset axis1 axis2",
    "ptp": "ptp: a | axis keepdims",
    "stack": "stack: arrays | axis",
    "concat": "concat: arrays | axis",
    "concatenate": "concat: arrays | axis",
    "vstack": "vstack: tup |",
    "hstack": "hstack: tup |",
    "dstack": "dstack: tup |",
    "column_stack": "column_stack: tup |",
    "reshape": "reshape: a | shape newshape>shape",
    "ravel": "ravel: a |",
    "permute_dims": "permute_dims: a axes |",
    "matrix_transpose": "matrix_transpose: x |",
    "swapaxes": "swapaxes: a axis1 axis2 |",
    "moveaxis": "moveaxis: a source destination |",
    "squeeze": "squeeze: a | axis",
    "expand_dims": "expand_dims: a | axis",
    "broadcast_to": "broadcast_to: array shape |",
    "flip": "flip: m | axis",
    "roll": "roll: a shift | axis",
    "rot90": "rot90: m | k axes",
    "tile": "tile: A reps |",
    "repeat": "repeat_interleave: a repeats | axis",
    "diag": "diag: v | k",
    "diagonal": "diagonal: a | offset axis1 axis2",
    "where": "where: condition x y |",
    "clip": "clip: a | a_min>min a_max>max min max",
    "nan_to_num": "nan_to_num: x | nan posinf neginf",
    "round": "round: a | decimals",
    "around": "round: a | decimals",
    "array_split": "array_split: ary indices_or_sections | axis",
    "astype": "astype: x dtype |",
    "bincount": "bincount: x | weights minlength",
    "corrcoef": "corrcoef: x |",
    "cov": "cov: m | ddof>correction fweights aweights",
    "diagflat": "diagflat: v | k",
    "fix": "fix: x |",
    "fliplr": "fliplr: m |",
    "flipud": "flipud: m |",
    "i0": "i0: x |",
    "interp": "interp: x xp fp | left right",
    "nanquantile": "nanquantile: a q | axis method>interpolation keepdims",
    "quantile": "quantile: a q | axis method>interpolation keepdims",
    "sinc": "sinc: x |",
    "split": "split: ary indices_or_sections | axis",
    "trapezoid": "trapezoid: y | x dx axis",
    "trapz": "trapezoid: y | x dx axis",
    "unstack": "unstack: x | axis",
    "unwrap": "unwrap: p | discont axis period",
    "vdot": "vdot: a b |",
    "vsplit": "split: ary indices_or_sections |",
    "real": "real: val |",
    "imag": "imag: val |",
    "angle": "angle: z |",
    "isreal": "isreal: x |",
    "iscomplex": "iscomplex: x |",
    "take": "take: a indices | axis",
    "take_along_axis": "take_along_axis: arr indices | axis",
    "inner": "inner: a b |",
    "outer": "outer: a b |",
    "kron": "kron: a b |",
    "cross": "cross: a b | axis",
    "tensordot": "tensordot: a b | axes",
    "copy": "clone: a |",
    "zeros_like": "zeros_like: a | dtype",
    "ones_like": "ones_like: a | dtype",
    "empty_like": "empty_like: prototype | dtype",
    "full_like": "full_like: a fill_value | dtype",
    "linalg.inv": "linalg.inv: a |",
    "linalg.det": "linalg.det: a |",
    "linalg.slogdet": "linalg.slogdet: a |",
    "linalg.solve": "linalg.solve: a b |",
    "linalg.cholesky": "linalg.cholesky: a |",
    "linalg.qr": "linalg.qr: a | mode",
    "linalg.svd": "linalg.svd: a | full_matrices",
    "linalg.svdvals": "linalg.svdvals: x |",
    "linalg.eigh": "linalg.eigh: a |",
    "linalg.eigvalsh": "linalg.eigvalsh: a |",
    "linalg.eig": "linalg.eig: a |",
    "linalg.eigvals": "linalg.eigvals: a |",
    "linalg.cond": "linalg.cond: x | p",
    "linalg.lstsq": "linalg.lstsq: a b | rcond",
    "linalg.multi_dot": "linalg.multi_dot: arrays |",
    "linalg.tensorinv": "linalg.tensorinv: a | ind",
    "linalg.tensorsolve": "linalg.tensorsolve: a b | axes",
    "linalg.matrix_power": "linalg.matrix_power: a n |",
    "linalg.cross": "linalg.cross: x1 x2 | axis",
    "linalg.diagonal": "linalg.diagonal: x | offset",
    "linalg.matmul": "matmul: x1 x2 |",
    "linalg.matrix_norm": "linalg.matrix_norm: x | ord keepdims",
    "linalg.matrix_transpose": "matrix_transpose: x |",
    "linalg.outer": "outer: x1 x2 |",
    "linalg.pinv": "linalg.pinv: a | rcond>rtol hermitian rtol",
    "linalg.tensordot": "tensordot: x1 x2 | axes",
    "linalg.trace": "linalg.trace: x | offset",
    "linalg.vecdot": "vecdot: x1 x2 | axis",
    "linalg.vector_norm": "vector_norm: x | ord axis keepdims",
    **{f"fft.{name}": f"fft.{name}: a | n axis norm" for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{kind}fft{n}": f"fft.{kind}fft{n}: a | s axes norm" for kind in ("", "i", "r", "ir") for n in ("2", "n")},
    "fft.fftshift": "fft.fftshift: x | axes",
    "fft.ifftshift": "fft.ifftshift: x | axes",
}
# The parameters that are arrays, for which a list stands as well.
ARRAYS = frozenset(
    """
    A a a_max a_min arr ary aweights b condition fp fweights indices m max min p q v val weights x x1 x2 xp y z
    """.split()  # noqa: SIM905
)
# The first parameter of these is a sequence of arrays. An array is one too, of its rows.
SEQUENCES = frozenset(
    ("stack", "concat", "concatenate", "vstack", "hstack", "dstack", "column_stack", "linalg.multi_dot")
)
# Parameters of NumPy functions written in C, whose signatures `inspect` cannot read.
SIGNATURES = {
    "concatenate": "arrays axis out dtype casting",
    "concat": "arrays axis out dtype casting",
    "where": "condition x y",
    "empty_like": "prototype dtype order subok shape",
    "inner": "a b",
    "vdot": "a b",
    "bincount": "x weights minlength",
}
# NumPy's functions whose results carry no derivative: integers, truth values, text, dtypes, files. They compute on the
# values of a tracked tensor.
NO_DERIVATIVE = frozenset(
    """
    allclose argpartition argwhere array2string array_equal array_equiv array_repr array_str can_cast common_type
    diag_indices_from einsum_path flatnonzero isclose isin isneginf isposinf may_share_memory
    min_scalar_type nanargmax nanargmin nonzero result_type save savetxt savez savez_compressed searchsorted
    shares_memory size tril_indices_from triu_indices_from linalg.matrix_rank
    """.split()  # noqa: SIM905
)
# Those of them that give the numbers away, as `numpy.asarray` does.
FILES = frozenset(("save", "savetxt", "savez", "savez_compressed"))
