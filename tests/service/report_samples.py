"""A made-up report as the publish stage stores it: 40 % mismatches, known here, so that every number hangs together."""

from typing import Any

import numpy as np

from model.drift import Familiar
from model.report import describe
from worker.stages.report import flag_rate

PAIRS, PROBES = 4000, 400
NOISE = 0.4
HOSTILE = '</title><script>alert(1)</script><img src=x onerror=alert(2)> "quoted" & \u202e back'
# What a run without probes is told, by its probe_share.
WHY_NO_PROBES = [(0.0, "leave probe_share out"), (0.05, "their images or captions, are the same content")]
HOSTILE_URL = "javascript:alert('3')//<b>"


def made_report(*, has_probes: bool = True, has_loss: bool = True, has_evidence: bool = True) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    is_mismatch = rng.random(PAIRS) < NOISE
    kinds = np.where(np.arange(PROBES) % 2 == 0, "random", "near")
    logits = np.where(is_mismatch, rng.normal(-5, 2, PAIRS), rng.normal(5, 2, PAIRS))
    probes = np.where(kinds == "random", rng.normal(-5.5, 1.8, PROBES), rng.normal(-3, 2.5, PROBES))
    confidence, other = _sigmoid(logits), _sigmoid(logits + rng.normal(0, 2, PAIRS))
    described = describe(
        1 - logits / 10 if has_loss else None,
        confidence,
        other,
        _sigmoid(logits + rng.normal(0, 2, PAIRS)),
        confidence >= 0.5,
        1 - probes / 10 if has_probes and has_loss else None,
        _sigmoid(probes) if has_probes else None,
        kinds if has_probes else None,
    )
    calibration = _calibration(confidence, is_mismatch, _sigmoid(probes), kinds)
    calibration["has_evidence"] = has_evidence
    flagged = int((confidence < 0.5).sum())
    return {
        "calibration": calibration if has_probes else None,
        **described,
        "slices": _slices(flagged),
        "extremes": {
            "most_trusted": [_pair(row, 1 - row / 1000) for row in range(20)],
            "least_trusted": [_pair(row, row / 1000) for row in range(20)],
        },
        "elements": _elements(),
        "repair": _repair(flagged),
        "recipe": {"method": "crcl", "why": ["30,000 pairs", "no joint encoder"], "fusion": {"sources": 6}},
    }


def made_drift(*, looks_different: bool) -> dict[str, Any]:
    """As model/drift.py gives it."""
    familiar = Familiar(np.full(2, 0.5), np.zeros((201, 1)))
    outside = np.array([300, 12]) if looks_different else np.array([10, 12])
    return familiar.compare(outside, 1000, np.zeros((1000, 1)), ["joint"])


def _calibration(confidence: Any, is_mismatch: Any, probes: Any, kinds: Any) -> dict[str, Any]:
    cuts = np.linspace(0, 0.999, 101)
    shares = {str(k): {"count": PROBES // 2, "flagged_share": float((probes[kinds == k] < 0.5).mean())} for k in kinds}
    return {
        "noise_rate": {"estimate": 0.39, "low": 0.37, "high": 0.41},
        "has_evidence": True,
        "threshold": 0.5,
        "probes": shares,
        "near_share": 0.0,
        "curve": [_row(float(cut), confidence >= cut, is_mismatch) for cut in cuts],
    }


def _row(cut: float, is_kept: Any, is_mismatch: Any) -> dict[str, float]:
    def share(part: Any, whole: Any) -> float:
        return float((part & whole).sum() / max(whole.sum(), 1))

    values = {
        "precision": share(~is_mismatch, is_kept),
        "recall": share(is_kept, ~is_mismatch),
        "flagged_precision": share(is_mismatch, ~is_kept),
        "flagged_recall": share(~is_kept, is_mismatch),
    }
    ends = {f"{name}_low": max(0.0, value - 0.02) for name, value in values.items()}
    ends |= {f"{name}_high": min(1.0, value + 0.02) for name, value in values.items()}
    return {"cut": cut, "kept_share": float(is_kept.mean()), **values, **ends}


def _slices(flagged: int) -> dict[str, Any]:
    rate = flagged / PAIRS

    def rows(*named: tuple[str, int, float]) -> list[dict[str, Any]]:
        return [flag_rate(name, pairs, round(pairs * share), rate) for name, pairs, share in named]

    hosts = [(f"images{number}.example.com", 600 - 20 * number, 0.3 + number / 100) for number in range(12)]
    return {
        "overall": flag_rate("all pairs", PAIRS, flagged, rate),
        "host": [
            *rows(*hosts, ("a-very-long-name-of-a-content-delivery-network.storage.example.net", 12, 0.9)),
            {**flag_rate("other", 220, 80, rate), "is_rest": True},
        ],
        "caption_words": rows(("1–2", 300, 0.7), ("3–4", 900, 0.45), ("5–7", 1500, 0.38), ("8–11", 1300, 0.3)),
        "language": rows(("English", 3500, 0.38), ("unknown", 300, 0.6), ("Cyrillic script", 200, 0.41)),
        "label": rows((HOSTILE, 40, 0.9), ("dog", 1000, 0.35)),
    }


def _elements() -> dict[str, Any]:
    return {
        "tagger": "pattern",
        "language": "English",
        "language_share": 0.9,
        "note": "Noun phrases with their attributes and counts.",
        "judged": PAIRS - 12,
        "unjudged": 12,
        "eme": {"clean": 0.81, "flagged": 0.2},
        "eme_soft": {"clean": 0.78, "flagged": 0.25},
        "missing": [{"lemma": "red ball", "count": 40, "of": 100}, {"lemma": HOSTILE, "count": 2, "of": 3}],
        "unmentioned": [{"lemma": "beach", "count": 30, "of": 90}],
        "wrong": {"colour": 12},
        "limits": "It cannot see contradictions or complements.",
        "detector": {
            "file": f"/models/{HOSTILE}.onnx",
            "sha256": 32 * "0f",
            "labels": 91,
            "images": PAIRS,
            "unread": 3,
            "seen_in": 2345,
        },
    }


def _repair(flagged: int) -> dict[str, Any]:
    sizes = {"distinct": 10, "groups": 1, "pairs": 4, "flagged_share": 0.25, "sizes": {"2": 0, "3-5": 1}}
    largest = [{"size": 4, "pairs": 4, "flagged_share": 0.25, "rows": [3, 5, 8, 13]}]
    shift = {
        "first_row": 1200,
        "last_row": 1380,
        "offset": 1,
        "rows": 181,
        "telling": 170,
        "confidence_before": 0.03,
        "confidence_after": 0.94,
        "score": 250.0,
        "message": "rows 1,200-1,380 look shifted",
    }
    return {
        "flagged": flagged,
        "searched": flagged,
        "likely": {"captions": 120, "images": 90},
        "shifts": [shift],
        "shift_count": 1,
        "duplicates": {name: sizes | {"largest": largest} for name in ("images", "captions", "pairs")},
    }


def _pair(row: int, confidence: float) -> dict[str, Any]:
    return {
        "uid": f"{row:032x}",
        "row": row,
        "url": HOSTILE_URL if row == 0 else f"https://images.example.com/photos/{row}/original.jpg?w=1200&h=800",
        "caption": HOSTILE
        if row == 0
        else f"a brown dog number {row} runs along the beach with a red ball in its mouth",
        "label": HOSTILE if row == 0 else None,
        "clean_confidence": confidence,
        "similarity": confidence - 0.3,
    }


def _sigmoid(x: Any) -> Any:
    return (1 / (1 + np.exp(-x))).astype(np.float32)
