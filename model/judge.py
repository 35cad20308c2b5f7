"""What a finished training leaves behind to judge pairs that arrive later (model/transfer.py): bounded in size.

What counts how much is not fitted to the training's own pairs: networks know these by heart, mismatches among them too,
and would count for everything. Evidence counts as expected, and what has memorised least leads: linear maps, or a joint
encoder. (Flickr8k, 5,000 pairs learned and 1,000 new ones, seed 10, 40 and 80 % mismatched, AUROC of the new ones: .953
and .890 with a fit and without maps, .965 and .961 so.)
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from model.calibration import Calibration, calibrate
from model.config import parse_run_config, run_config_to_dict
from model.correlation import Correlation
from model.drift import Familiar
from model.errors import TrainingError
from model.expectations import Interval
from model.fusion import Leader, presumed
from model.linear_maps import NAMES as CORRELATIONS
from model.linear_maps import LastingMaps
from model.pairs import Pairs
from model.positions import Ints, spread
from model.probes import NEAR, make_probes, with_probes
from model.trained import Trained
from model.weighing import FEW_DRAWS, beforehand, kinds_among
from model.witnesses import Arrays, Look, Witnesses

Floats = npt.NDArray[np.float64]

# Keeps these mismatches apart from those that were learned.
FRESH_SEED = 500_009
# Pairs of the training that are learned from here, and fresh mismatches of them; not more than there are pairs.
_MOST_FITTED, _FRESH = 5_000, 1_000
_MOST_FOLLOWED = 10_000
_ARRAYS = ("mean", "scale", "weights", "offsets", "probe_kinds", "probe_scores")


@dataclass(frozen=True)
class Judge:
    witnesses: Witnesses
    maps: LastingMaps
    mean: Floats  # (F,) of the evidence over the run's pairs
    scale: Floats  # (F,)
    weights: Floats  # (1 + networks, F): of all evidence, then of each network's alone
    offsets: Floats  # (1 + networks,)
    calibration: Calibration
    probe_kinds: npt.NDArray[np.int8]
    probe_scores: Floats
    familiar: Familiar

    @classmethod
    def fit(cls, trained: Trained, pairs: Pairs, confidence: npt.NDArray[np.float32]) -> "Judge":
        """`pairs` are those of the training without its probes, `confidence` what was published of them."""
        seed = trained.config.seed + FRESH_SEED
        witnesses = Witnesses.choose(trained, pairs, confidence)
        rows = spread(len(pairs), _MOST_FITTED)
        own = pairs.taken(rows)
        count, probes = len(own), make_probes(own, min(1.0, _FRESH / len(own)), seed)
        if not len(probes):
            raise TrainingError("the images or captions are too much alike to make mismatches of them")
        both = with_probes(own, probes)
        correlation = Correlation(both, count, probes.sources(count))
        # By maps that saw neither a pair nor what a mismatch was made of, as none has seen new pairs.
        odds = correlation.asked(confidence[rows])
        look = _joined(witnesses.look(both, np.arange(len(both))), odds.pairs)
        is_probe = np.arange(len(both)) >= count
        mean, deviation = look.table[~is_probe].mean(axis=0), look.table[~is_probe].std(axis=0)
        scale = np.where(deviation > 1e-12, deviation, np.inf)
        table = (look.table - mean) / scale
        kinds = kinds_among(odds, count, seed)
        counts = kinds.weights(probes.kinds)
        counted = np.concatenate([np.ones(count), np.take(counts, probes.kinds)])
        leader = "joint" if pairs.is_joint else CORRELATIONS[1 if counts[NEAR] > 0 else 0]
        fused = presumed(table, is_probe, counted, Leader(_names(witnesses).index(leader)))
        all_weights = fused.weights / max(float(fused.score(table[~is_probe]).std()), 1e-9)
        score = table @ all_weights
        # Few draws: nobody is shown its intervals, new pairs have their own.
        told = beforehand(odds, kinds, np.arange(count), seed)
        calibration = calibrate(score[:count], score[count:], counted[count:], seed, FEW_DRAWS, told)
        weights, offsets = _of_networks(witnesses, table[:count], calibration.confidence(score[:count]))
        return cls(
            witnesses,
            correlation.lasting(confidence[rows]),
            mean,
            scale,
            np.vstack([all_weights, weights]),
            np.append(0.0, offsets),
            calibration,
            probes.kinds,
            score[count:],
            Familiar.of(look.nearest[:count], table[:count]),
        )

    @property
    def names(self) -> list[str]:
        """Of the kinds of evidence."""
        return _names(self.witnesses)

    def look(self, pairs: Pairs, rows: Ints) -> Look:
        """At pairs from elsewhere; the evidence is on the scale of that of the run's own pairs."""
        look = _joined(self.witnesses.look(pairs, rows), self.maps.odds(pairs, rows))
        return replace(look, table=(look.table - self.mean) / self.scale)

    def save(self, file: BinaryIO, count: int) -> None:
        """`count` pairs were trained on, probes included. Nothing in the file is pickled."""
        told = {
            "config": run_config_to_dict(self.witnesses.trained.config),
            "count": count,
            "calibration": self.calibration.to_dict(),
        }
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"familiar_nearest": self.familiar.nearest, "familiar_evidence": self.familiar.evidence}
        arrays |= self.witnesses.arrays() | self.maps.arrays() | {"told": np.array(json.dumps(told))}
        np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path, checkpoints: Path, device: str = "cpu") -> "Judge":
        """TrainingError where the checkpoints are gone, or the file is damaged or left by a version that knew less."""
        try:
            with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays: Arrays = dict(file)
        except (BadZipFile, EOFError, ValueError) as error:  # a file that is cut short, or none of NumPy's
            raise TrainingError(f"{path.name} is damaged: {error}") from error
        if "maps_mean_0" not in arrays:
            raise TrainingError(f"{path.name} was written by an older version of Pairsift")
        told = json.loads(str(arrays["told"]))
        trained = Trained.load(checkpoints, parse_run_config(told["config"]), told["count"], device)
        given = told["calibration"]
        return cls(
            Witnesses.from_arrays(trained, arrays),
            LastingMaps.from_arrays(arrays),
            calibration=Calibration(**given | {"noise_rate": Interval(**given["noise_rate"])}),
            familiar=Familiar(arrays["familiar_nearest"], arrays["familiar_evidence"]),
            **{name: arrays[name] for name in _ARRAYS},
        )


def _names(witnesses: Witnesses) -> list[str]:
    return [*witnesses.names, *CORRELATIONS]


def _joined(look: Look, odds: npt.NDArray[np.float32]) -> Look:
    return replace(look, table=np.column_stack([look.table, odds]))


def _of_networks(witnesses: Witnesses, table: Floats, confidence: Floats) -> tuple[Floats, Floats]:
    """Weights (networks, F) and offsets by which each network alone comes nearest to a confidence."""
    networks = len(witnesses.trained)
    weights, offsets = np.zeros((networks, table.shape[1])), np.zeros(networks)
    for k in range(networks):
        part = witnesses.of_network(k)
        weights[k, part], offsets[k] = followed(table[:, part], confidence)
    return weights, offsets


def followed(evidence: Floats, confidence: Floats) -> tuple[Floats, float]:
    """Weights and offset by which some evidence alone, (n, F), comes nearest to a confidence.

    A network by itself often cannot tell how many mismatches there are; all evidence together can.
    """
    rows = spread(len(evidence), _MOST_FOLLOWED)
    both, is_match = np.tile(evidence[rows], (2, 1)), np.repeat([1, 0], len(rows))
    found = LogisticRegression().fit(both, is_match, np.concatenate([confidence[rows], 1 - confidence[rows]]))
    return found.coef_[0], float(found.intercept_[0])
