"""What a finished training leaves behind to judge pairs that arrive later (model/transfer.py): bounded in size.

What counts how much is learned on the training's own pairs against fresh mismatches, which no network has learned, as
none has learned those among new pairs.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from model.calibration import Calibration, Interval, calibrate
from model.config import parse_run_config, run_config_to_dict
from model.drift import Familiar
from model.errors import TrainingError
from model.fusion import cross_fitted
from model.kinds import kinds_of
from model.pairs import Pairs, Placed, PlacedTexts
from model.positions import spread
from model.probes import LEAST_PROBES, NEAR, make_probes, with_probes
from model.trained import Trained
from model.witnesses import Arrays, Witnesses

Floats = npt.NDArray[np.float64]

# Keeps these mismatches apart from those that were learned.
FRESH_SEED = 500_009
# Pairs of the training that are learned from here, and fresh mismatches of them.
_MOST_FITTED, _FRESH = 5_000, 1_000
_MOST_FOLLOWED = 10_000
_ARRAYS = ("mean", "scale", "weights", "offsets", "probe_kinds", "probe_scores")


@dataclass(frozen=True)
class Judge:
    witnesses: Witnesses
    mean: Floats  # (F,) of the evidence over the run's pairs
    scale: Floats  # (F,)
    weights: Floats  # (1 + networks, F): of all evidence, then of each network's alone
    offsets: Floats  # (1 + networks,)
    calibration: Calibration
    kind_weights: tuple[float, float]
    probe_kinds: npt.NDArray[np.int8]
    probe_scores: Floats
    familiar: Familiar

    @classmethod
    def fit(cls, trained: Trained, pairs: Pairs, confidence: npt.NDArray[np.float32]) -> "Judge":
        """`pairs` are those of the training without its probes, `confidence` what was published of them."""
        seed = trained.config.seed + FRESH_SEED
        witnesses = Witnesses.choose(trained, pairs, confidence)
        own = _taken(pairs, spread(len(pairs), _MOST_FITTED))
        count, probes = len(own), make_probes(own, _FRESH / len(own), seed)
        if len(probes) < LEAST_PROBES:
            raise TrainingError("the images or captions are too much alike to make mismatches of them")
        look = witnesses.look(with_probes(own, probes), np.arange(count + len(probes)))
        mean, deviation = look.table[:count].mean(axis=0), look.table[:count].std(axis=0)
        scale = np.where(deviation > 1e-12, deviation, np.inf)
        table = (look.table - mean) / scale
        is_probe = np.arange(len(table)) >= count
        kinds = np.concatenate([np.full(count, -1, np.int8), probes.kinds])
        counts = kinds_of(table, kinds, seed).weights(probes.kinds)
        counted = np.where(is_probe, np.take(counts, np.maximum(kinds, 0)), 1.0)
        anchors = np.zeros(len(table), np.int8)
        if own.anchors is not None:
            anchors[:count] = own.anchors
        leader = witnesses.names.index("joint") if pairs.is_joint else None
        score, fits = cross_fitted(table, is_probe, counted, anchors, seed, is_signed=counts[NEAR] > 0, leader=leader)
        calibration = calibrate(score[:count], score[count:], counted[count:], seed)
        weights, offsets = np.zeros((1 + len(trained), table.shape[1])), np.zeros(1 + len(trained))
        # On the scale of the scores that were calibrated: mean 0, spread 1 over the pairs.
        weights[0] = np.mean([one.weights / max((table[:count] @ one.weights).std(), 1e-9) for one in fits], axis=0)
        for k in range(len(trained)):
            part = witnesses.of_network(k)
            weights[1 + k, part], offsets[1 + k] = followed(table[:count, part], calibration.confidence(score[:count]))
        familiar = Familiar.of(look.nearest[:count], table[:count])
        return cls(witnesses, mean, scale, weights, offsets, calibration, counts, probes.kinds, score[count:], familiar)

    def save(self, file: BinaryIO, count: int) -> None:
        """`count` pairs were trained on, probes included. Nothing in the file is pickled."""
        told = {
            "config": run_config_to_dict(self.witnesses.trained.config),
            "count": count,
            "calibration": self.calibration.to_dict(),
            "kind_weights": self.kind_weights,
        }
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"familiar_nearest": self.familiar.nearest, "familiar_evidence": self.familiar.evidence}
        arrays |= self.witnesses.arrays() | {"told": np.array(json.dumps(told))}
        np.savez(file, **arrays)

    @classmethod
    def load(cls, path: Path, checkpoints: Path, device: str = "cpu") -> "Judge":
        """TrainingError where the checkpoints are gone."""
        with np.load(path, allow_pickle=False) as file:
            arrays: Arrays = dict(file)
        told = json.loads(str(arrays["told"]))
        trained = Trained.load(checkpoints, parse_run_config(told["config"]), told["count"], device)
        given = told["calibration"]
        return cls(
            Witnesses.from_arrays(trained, arrays),
            calibration=Calibration(**given | {"noise_rate": Interval(**given["noise_rate"])}),
            kind_weights=(told["kind_weights"][0], told["kind_weights"][1]),
            familiar=Familiar(arrays["familiar_nearest"], arrays["familiar_evidence"]),
            **{name: arrays[name] for name in _ARRAYS},
        )


def followed(evidence: Floats, confidence: Floats) -> tuple[Floats, float]:
    """Weights and offset by which some evidence alone, (n, F), comes nearest to a confidence.

    A network by itself often cannot tell how many mismatches there are; all evidence together can.
    """
    rows = spread(len(evidence), _MOST_FOLLOWED)
    both, is_match = np.tile(evidence[rows], (2, 1)), np.repeat([1, 0], len(rows))
    found = LogisticRegression().fit(both, is_match, np.concatenate([confidence[rows], 1 - confidence[rows]]))
    return found.coef_[0], float(found.intercept_[0])


def _taken(pairs: Pairs, rows: npt.NDArray[np.int64]) -> Pairs:
    return replace(
        pairs,
        images=Placed(pairs.images, rows),
        captions=Placed(pairs.captions, rows),
        image_ids=pairs.image_ids[rows],
        caption_ids=pairs.caption_ids[rows],
        texts=None if pairs.texts is None else PlacedTexts(pairs.texts, rows),
        labels=None if pairs.labels is None else pairs.labels[rows],
        anchors=None if pairs.anchors is None else pairs.anchors[rows],
    )
