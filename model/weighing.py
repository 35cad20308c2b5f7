"""All that is known of a pair in one number: what networks, linear maps and neighbours say, weighed by the probes."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logit

from model.agreement import Agreement
from model.calibration import LOWEST_RATIO, LOWEST_RATIO_NEAR, Calibration, Interval, calibrate
from model.correlation import Correlation, Odds
from model.dynamics import Dynamics
from model.engine import Engine
from model.fusion import RATES, SAMPLE_SEED, Fusion, cross_fitted, fit, presumed, sampled, standardised
from model.joint import joint_similarity
from model.kinds import Kinds, kinds_of
from model.linear_maps import NAMES as CORRELATIONS
from model.pairs import Pairs
from model.probes import NEAR, RANDOM, Probes
from model.training import Scores

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

# Probabilities are compared as log odds; what is closer to 0 or 1 than this is as good as there.
_LEAST_PROBABILITY = 1e-4
# Of a bootstrap whose intervals nobody is shown.
FEW_DRAWS = 50
# How far the share of near misses may be off, as a share of it: on Flickr8k (seeds 10 and 11) .13 to .22, .22 to .25,
# .29 to .37 and .40 to .46 were found for .1, .2, .4 and .6.
_NEAR_ERROR = 0.1
# Near probes for each kind of evidence, below which only the best evidence of near misses is used, and not fitted.
# Flickr8k, 40 % near misses, 6,000 pairs and 150 near probes, seeds 10 and 11, AUROC: all evidence .714 and .773, only
# the best .769 and .791, without a fit .775 and .799. Those were the odds and the last probabilities; with what was
# learned before it could be memorised, and half the dropout, .793 and .809 instead of .789 and .805.
_PROBES_EACH = 20
_JOINT = "encoder similarity"
_LEARNED = ("correspondence", "mean probability", "probability a", "probability b")
_BEST_FOR_NEAR = (*_LEARNED, CORRELATIONS[1], _JOINT)


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
    joint: Floats | None
    anchors: npt.NDArray[np.int8]


def weigh(
    engine: Engine, pairs: Pairs, probes: Probes, on_progress: Callable[[float], None], draws: int | None = None
) -> Weighed:
    """`pairs` have the probes behind them. `draws` are those of the bootstrap of the calibration."""
    seed, count = engine.config.seed, len(pairs) - len(probes)
    base = engine.scores()
    is_probe = np.arange(len(pairs)) >= count
    own = columns(base, engine.dynamics())
    joint = joint_similarity(pairs) if pairs.is_joint else None
    if joint is not None:
        own[_JOINT] = joint
    sources = probes.sources(count)
    neighbours = Agreement(pairs, count, sources, engine.vectors(), lambda part: on_progress(0.7 * part))
    correlation = Correlation(pairs, count, sources)
    anchors = np.zeros(len(pairs), np.int8) if pairs.anchors is None else pairs.anchors

    def evidence(trust: npt.NDArray[np.floating]) -> tuple[Floats, npt.NDArray[np.float32], Odds]:
        trust = trust.astype(np.float32)
        said = neighbours.asked(trust[neighbours.references])
        odds = correlation.asked(trust[correlation.references])
        table = np.column_stack([*own.values(), odds.pairs, said]).astype(np.float64)
        return standardised(table, is_probe), said, odds

    def calibrated(score: Floats, odds: Odds, draws: int | None) -> Calibration:
        told = None if used.is_signed else _noise_rate(odds, kinds, count, seed)
        lowest_ratio = LOWEST_RATIO_NEAR if used.is_doubtful else LOWEST_RATIO
        return calibrate(score[:count], score[count:], counted[count:], seed, draws, told, lowest_ratio)

    # First whom to trust among the neighbours, then the neighbours' word.
    table, _, odds = evidence(base.clean_confidence)
    kinds = kinds_among(odds, count, seed)
    weights = kinds.weights(probes.kinds)
    counted = np.concatenate([np.ones(count), np.take(weights, probes.kinds)])
    used = _used([*own, *CORRELATIONS, *neighbours.names], kinds, int((probes.kinds == NEAR).sum()))
    rows = sampled(np.arange(len(pairs)), is_probe, np.random.default_rng(seed + SAMPLE_SEED))
    score = used.fit(table[rows], is_probe[rows], counted[rows], anchors[rows]).score(table[:, used.columns])
    table, said, odds = evidence(calibrated(score, odds, FEW_DRAWS).confidence(score))
    on_progress(0.8)
    score, fits = used.scored(table, is_probe, counted, anchors, seed)
    on_progress(0.9)
    calibration = calibrated(score, odds, draws)
    return Weighed(score, calibration, fits, used.names, weights, base, said.mean(axis=1), joint, anchors)


@dataclass(frozen=True)
class _Used:
    """Which evidence counts, and how it is to be weighed."""

    names: list[str]
    columns: list[int]
    leader: int | None
    is_signed: bool  # whether evidence may speak against itself
    is_doubtful: bool  # whether probes are too few for a fit, and even the lowest may score like matches

    def fit(self, table: Floats, is_probe: Bools, counted: Floats, anchors: npt.NDArray[np.int8]) -> Fusion:
        chosen = table[:, self.columns]
        if self.is_doubtful:
            return presumed(chosen, is_probe, counted, self.leader)
        return fit(chosen, is_probe, counted, anchors, is_signed=self.is_signed, leader=self.leader)

    def scored(
        self, table: Floats, is_probe: Bools, counted: Floats, anchors: npt.NDArray[np.int8], seed: int
    ) -> tuple[Floats, list[Fusion]]:
        """Every pair by a fit that did not see it."""
        chosen = table[:, self.columns]
        if self.is_doubtful:
            found = self.fit(table, is_probe, counted, anchors)
            return found.score(chosen), [found]
        return cross_fitted(chosen, is_probe, counted, anchors, seed, is_signed=self.is_signed, leader=self.leader)


def _used(names: list[str], kinds: Kinds, near_probes: int) -> _Used:
    """Near misses hide in what evidence has in common with that of matches: many probes find out what speaks against
    it, few only learn chance."""
    has_few = kinds.has_near and near_probes < _PROBES_EACH * len(names)
    chosen = [name for name in names if not has_few or name in _BEST_FOR_NEAR]
    # What leads, and only many probes may overrule: an encoder that was trained on both sides, for it has seen far more
    # pairs than a small collection has; else the correlation, which follows and has memorised least.
    leads = _JOINT if _JOINT in names else CORRELATIONS[0]
    leader = chosen.index(leads) if leads in chosen else None
    return _Used(chosen, [names.index(name) for name in chosen], leader, kinds.has_near and not has_few, has_few)


def kinds_among(odds: Odds, count: int, seed: int) -> Kinds:
    """Of the mismatches among the first `count` pairs, by thousands of known ones."""
    kinds = np.concatenate([np.full(count, -1, np.int8), odds.kinds])
    table = np.concatenate([odds.pairs[:count], odds.mismatches]).astype(np.float64)
    return kinds_of(standardised(table, kinds >= 0), kinds, seed)


def _noise_rate(odds: Odds, kinds: Kinds, count: int, seed: int) -> Interval | None:
    """Thousands of known mismatches tell it better than a few hundred probes."""
    known = odds.mismatches[odds.kinds == RANDOM, 0].astype(np.float64)
    if not len(known):
        return None
    if kinds.has_near:
        rate = min(kinds.random + kinds.near, RATES[1])
        return Interval(rate, (1 - _NEAR_ERROR) * rate, (1 + _NEAR_ERROR) * rate)
    found = calibrate(odds.pairs[:count, 0].astype(np.float64), known, np.ones(len(known)), seed, FEW_DRAWS)
    return found.noise_rate if found.has_evidence else None


def columns(scores: Scores, dynamics: Dynamics) -> dict[str, Floats]:
    """Evidence of the networks themselves, each high where a pair matches."""
    found = {
        "confidence": _log_odds(scores.clean_confidence),
        "correspondence": _log_odds(scores.rectified_correspondence),
    }
    if scores.uncertainty is not None:
        found["certainty"] = -_log_odds(scores.uncertainty)
    last, first, mean = (getattr(dynamics, name).double().numpy() for name in ("last", "first", "mean"))
    for network in range(len(last)):
        found[f"similarity {'ab'[network]}"] = last[network, 0]
        found[f"probability {'ab'[network]}"] = _log_odds(last[network, 1])
    for name, values in (("first", first), ("mean", mean)):
        found[f"{name} similarity"] = values[:, 0].mean(axis=0)
        found[f"{name} probability"] = _log_odds(values[:, 1].mean(axis=0))
    return found


def _log_odds(probability: npt.NDArray[np.floating]) -> Floats:
    return np.asarray(logit(np.clip(probability.astype(np.float64), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)))
