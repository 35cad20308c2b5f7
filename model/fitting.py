"""The least of a smooth function of a few parameters."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult, minimize
from threadpoolctl import ThreadpoolController

Floats = npt.NDArray[np.float64]

_ITERATIONS = 300


def minimise(
    cost: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
    iterations: int = _ITERATIONS,
) -> OptimizeResult:
    """`cost` gives its value and its gradient. In one thread: a few thousand products of thin matrices take two to four
    times as long when they are shared, and far longer beside other work."""
    with _controller().limit(limits=1, user_api="blas"):
        return minimize(cost, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
