"""All that is known of a pair in one number: what networks, linear maps and neighbours say, weighed by the probes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from model.agreement import Agreement
from model.calibration import LOWEST_RATIO_NEAR, NOTHING, Beforehand, Calibration, calibrate
from model.correlation import Correlation, Odds
from model.dynamics import Dynamics
from model.engine import Engine
from model.expectations import Interval
from model.fusion import RATES, SAMPLE_SEED, Fusion, sampled, standardised
from model.joint import joint_similarity
from model.kinds import Kinds, kinds_of
from model.linear_maps import NAMES as CORRELATIONS
from model.pairs import Pairs
from model.probes import NEAR, RANDOM, Probes
from model.training import Scores
from model.used import JOINT, Columns, share_of_neighbours, used_of

Floats = npt.NDArray[np.float64]

# Probabilities are compared as log odds; what is closer to 0 or 1 than this is as good as there.
_LEAST_PROBABILITY = 1e-4
# Of a bootstrap whose intervals nobody is shown.
FEW_DRAWS = 50
# How closely the calibration is held to a noise rate with near misses in it, and how far that rate may be off, as
# shares of it: on Flickr8k whole runs found .36 to .44 for .40 (seeds 0 to 4), .435 and .445 where a half and a quarter
# of them are near misses, and .143 and .156 for .10 (seed 10, 6,000 and 5,000 pairs).
_NEAR_ERROR, _NEAR_DOUBT = 0.1, 0.2
# The doubt where all of them are random ones: .40 came out as .408, .409, .417 (6,000 and 30,000 pairs, seeds 10 and
# 11), .60 as .590 and .609, .80 as .794, .810 and .802.
_RANDOM_DOUBT = 0.02
# What is added to either where maps have few matches to learn from, times the share of the lead that neighbours then
# have. Flickr8k, seeds 50 to 53: 100 matches: .767, .833, .845, .872 for .80 and .932, .899, .992, .980 for .90; 200:
# .865, .836, .858, .738 for .80; 400 and 600 matches within 2 % on average.
_FEW_DOUBT = 0.07
# The doubt where what was fitted to many near probes tells the rate alone: real near misses are not quite like known
# ones. Flickr8k, 30,000 pairs, seeds 10 to 13: .195, .199 for .20, .382, .404, .362, .360 for .40, .564, .612 for .60.
_FITTED_DOUBT = 0.07
# From this noise rate on, and with so many matches, strangers tell it: with fewer they learn too little of each other,
# with more it does not matter what the others know of a mismatch. Flickr8k, 90 % mismatched, told by those who saw all
# pairs, then by strangers: 6,000 pairs, seeds 10 to 13, .876, .849, .858, .865, then .922, .903, .915, .904; 30,000,
# seeds 10 and 11, .900, .902, then .904, .907; 3,000, seeds 10 to 13, strangers .950 to .973.
_PREVAILING, _LEAST_MATCHES, _MOST_MATCHES = 0.7, 500, 2500


@dataclass(frozen=True)
class Weighed:
    """The score of every pair and probe, and what it was made of."""

    score: Floats
    calibration: Calibration  # of that score
    fits: list[Fusion]
    names: list[str]  # of the kinds of evidence
    kind_weights: tuple[float, float]  # what random and near probes stood for
    base: Scores  # the method's own
    agreement: npt.NDArray[np.float32]
    joint: npt.NDArray[np.float32] | None


def weigh(
    engine: Engine,
    pairs: Pairs,
    probes: Probes,
    correlation: Correlation,
    on_progress: Callable[[float], None],
    draws: int | None = None,
) -> Weighed:
    """`pairs` have the probes behind them. `draws` are those of the bootstrap of the calibration."""
    seed, count = engine.config.seed, len(pairs) - len(probes)
    base = engine.scores()
    is_probe = np.arange(len(pairs)) >= count
    own = columns(base, engine.dynamics())
    joint = joint_similarity(pairs) if pairs.is_joint else None
    if joint is not None:
        own[JOINT] = joint
    sources = probes.sources(count)
    neighbours = Agreement(pairs, count, sources, engine.vectors(), lambda part: on_progress(0.7 * part), engine.folder)
    anchors = np.zeros(len(pairs), np.int8) if pairs.anchors is None else pairs.anchors
    is_open = np.flatnonzero(anchors[:count] == 0)

    def asked(trust: npt.NDArray[np.floating]) -> tuple[Columns, Odds]:
        trust = pairs.as_reviewed(trust)
        said = neighbours.asked(trust[neighbours.references])
        odds = correlation.asked(trust[correlation.references])
        names, values = (*CORRELATIONS, *neighbours.names), (*odds.pairs.T, *said.T)
        return own | dict(zip(names, values, strict=True)), odds

    def calibrated(score: Floats, draws: int | None) -> Calibration:
        # What was fitted to many near probes needs no help of others.
        known = by_itself(score[is_open], score[count:], counted[count:], seed) if used.is_signed else told
        return calibrate(score[:count], score[count:], counted[count:], seed, draws, known, anchors[:count])

    # First whom to trust among the neighbours, then the neighbours' word.
    found, odds = asked(base.clean_confidence)
    kinds = kinds_among(odds, count, seed)
    weights = kinds.weights(probes.kinds)
    counted = np.concatenate([np.ones(count), np.take(weights, probes.kinds)])
    # The first odds tell the noise rate: the trust in other pairs later knows of a mismatch that maps were fitted to,
    # and nothing of the known ones. On Flickr8k (500 to 3,000 pairs, 80 and 90 % mismatched, four seeds) the later ones
    # gave .74 to .78, these .75 to .88.
    told = beforehand(odds, kinds, is_open, seed)
    if needs_strangers(told, kinds, count):
        odds = correlation.asked_strangers(lambda: on_progress(0.7))
        found = {**found, **dict(zip(CORRELATIONS, odds.pairs.T, strict=True))}
        told = beforehand(odds, kinds, is_open, seed)
    matches = count * (1 - told.estimate)
    told = replace(told, doubt=told.doubt + _FEW_DOUBT * share_of_neighbours(matches))
    used = used_of(list(found), neighbours.names, kinds, int((probes.kinds == NEAR).sum()), matches)
    table = used.table(found, is_probe)
    rows = sampled(np.arange(len(pairs)), is_probe, np.random.default_rng(seed + SAMPLE_SEED))
    score = used.fit(table[rows], is_probe[rows], counted[rows], anchors[rows]).score(table)
    found, _ = asked(calibrated(score, FEW_DRAWS).confidence(score))
    on_progress(0.8)
    score, fits = used.scored(used.table(found, is_probe), is_probe, counted, anchors, seed)
    on_progress(0.9)
    calibration = calibrated(score, draws)
    agreement = np.mean([found[name] for name in neighbours.names], axis=0)
    return Weighed(score, calibration, fits, used.names, weights, base, agreement, joint)


def kinds_among(odds: Odds, count: int, seed: int) -> Kinds:
    """Of the mismatches among the first `count` pairs, by thousands of known ones."""
    kinds = np.concatenate([np.full(count, -1, np.int8), odds.kinds])
    table = np.concatenate([odds.pairs[:count], odds.mismatches])
    return kinds_of(standardised(table.T, kinds >= 0), kinds, seed)


def needs_strangers(told: Beforehand, kinds: Kinds, count: int) -> bool:
    """Whether too much is known of the mismatches that were learned."""
    rate = told.estimate
    return not kinds.has_near and rate > _PREVAILING and _LEAST_MATCHES <= (1 - rate) * count <= _MOST_MATCHES


def beforehand(odds: Odds, kinds: Kinds, rows: npt.NDArray[np.int64], seed: int) -> Beforehand:
    """Thousands of known mismatches tell the noise rate of these rows better than a few hundred probes."""
    known = odds.mismatches[odds.kinds == RANDOM, 0].astype(np.float64)
    if not len(known) or not len(rows):
        return NOTHING
    if kinds.has_near:
        rate = min(kinds.random + kinds.near, RATES[1])
        told = Interval(rate, (1 - _NEAR_ERROR) * rate, (1 + _NEAR_ERROR) * rate)
        return Beforehand(told, _NEAR_DOUBT, LOWEST_RATIO_NEAR)
    found = calibrate(odds.pairs[rows, 0].astype(np.float64), known, np.ones(len(known)), seed, FEW_DRAWS)
    if not found.is_likely:
        return NOTHING
    told = found.noise_rate
    if found.has_evidence:
        return Beforehand(told, _RANDOM_DOUBT)
    # In logarithms the estimate is held as closely from below as from above. That there may be none at all is for the
    # interval to say.
    return Beforehand(replace(told, low=told.estimate**2 / told.high), _RANDOM_DOUBT, may_be_none=True)


def by_itself(score: Floats, probes: Floats, weight: Floats, seed: int) -> Beforehand:
    """The noise rate that these scores tell alone, less exact than their draws would have it."""
    found = calibrate(score, probes, weight, seed, FEW_DRAWS) if len(score) else None
    if found is None or not found.has_evidence:
        return NOTHING
    rate = found.noise_rate.estimate
    return Beforehand(Interval(rate, rate, rate), _FITTED_DOUBT)


def columns(scores: Scores, dynamics: Dynamics) -> dict[str, npt.NDArray[np.float32]]:
    """Evidence of the networks themselves, each high where a pair matches."""
    found = {
        "confidence": _log_odds(scores.clean_confidence),
        "correspondence": _log_odds(scores.rectified_correspondence),
    }
    if scores.uncertainty is not None:
        found["certainty"] = -_log_odds(scores.uncertainty)
    last, first, mean = (getattr(dynamics, name).numpy() for name in ("last", "first", "mean"))
    for network in range(len(last)):
        found[f"similarity {'ab'[network]}"] = last[network, 0]
        found[f"probability {'ab'[network]}"] = _log_odds(last[network, 1])
    for name, values in (("first", first), ("mean", mean)):
        found[f"{name} similarity"] = values[:, 0].mean(axis=0)
        found[f"{name} probability"] = _log_odds(values[:, 1].mean(axis=0))
    return found


def _log_odds(probability: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    clipped = np.clip(probability.astype(np.float64), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return np.asarray(logit(clipped), np.float32)
