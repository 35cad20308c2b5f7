"""How likely a given label is right, from a classifier's probabilities and nothing else.

The model of noise: with probability e a label was drawn evenly from all K categories. Both e and the sharpness of the
classifier are those under which the given labels are most likely, so the truth is never asked for.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ITERATIONS = 200
_TOLERANCE = 1e-6


def confidence_in_labels(fits: npt.ArrayLike, categories: int) -> Floats:
    """(N,) chance that each label is right. `fits` is (T, N): p(given label) at T degrees of sharpness."""
    best: tuple[float, Floats] | None = None
    for fit in np.asarray(fits, dtype=np.float64):
        likelihood, confidence = _posterior(fit, 1 / categories)
        if best is None or likelihood > best[0]:
            best = likelihood, confidence
    assert best is not None
    return best[1]


def _posterior(fit: Floats, chance: float) -> tuple[float, Floats]:
    """Mean log likelihood of the labels and P(right | label) at the best e, by EM."""
    drawn = 0.5  # e
    for _ in range(_ITERATIONS):
        likelihood = (1 - drawn) * fit + drawn * chance
        before, drawn = drawn, float((drawn * chance / likelihood).mean())
        if abs(drawn - before) < _TOLERANCE:
            break
    # Bayes: a right label was either kept or drawn by chance.
    confidence = fit * (1 - drawn + drawn * chance) / likelihood
    return float(np.log(likelihood).mean()), np.minimum(confidence, 1.0)
