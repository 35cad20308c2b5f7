"""Any object detector as a source of image elements: an ONNX file and the names of its labels.

It takes one RGB picture as (1, 3, H, W) or (3, H, W), float32 from 0 to 1 (torchvision's convention; H and W may be
fixed or free), and gives boxes (n, 4), labels (n,) and scores (n,), with or without a first dimension of 1. Outputs
are known by those names, else by their order. Label i is the i-th name.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from model.encoders.prepare import Preparation

_OUTPUTS = ("boxes", "labels", "scores")
_FREE_SIZE = 640  # of a side, where the network takes any
_LARGEST_SIZE = 4_096
LEAST_SCORE = 0.5

Floats = npt.NDArray[np.float32]


class DetectorError(ValueError):
    """The detector cannot be used; the message says why."""


@dataclass(frozen=True)
class Detected:
    """The surest thing of its label in one picture."""

    label: str
    score: float


class Detector:
    def __init__(self, session: Any, labels: Sequence[str], digest: str) -> None:
        """`digest` is the sha256 of the network's file."""
        self._session, self.labels, self.digest = session, tuple(labels), digest
        given, outputs = session.get_inputs(), session.get_outputs()
        names = [output.name for output in outputs]
        if len(given) != 1 or len(names) < len(_OUTPUTS):
            raise DetectorError(
                f"a detector takes one picture and gives boxes, labels and scores; this one takes {len(given)} inputs "
                f"and gives {', '.join(names) or 'nothing'}"
            )
        is_named = set(_OUTPUTS) <= set(names)
        self._outputs = list(_OUTPUTS) if is_named else names[: len(_OUTPUTS)]
        if not is_named and "int" not in outputs[1].type:
            raise DetectorError(
                f"its outputs {', '.join(names)} are not named boxes, labels and scores, and the second one holds no "
                "whole numbers, as labels are"
            )
        self._input = given[0].name
        self._shape = list(given[0].shape)
        # A free side is a name or None.
        if len(self._shape) not in (3, 4) or (isinstance(self._shape[-3], int) and self._shape[-3] != 3):
            raise DetectorError(f"a detector takes (1, 3, H, W) or (3, H, W), not {tuple(self._shape)}")
        self._height, self._width = (side if isinstance(side, int) else _FREE_SIZE for side in self._shape[-2:])
        if not all(1 <= side <= _LARGEST_SIZE for side in (self._height, self._width)):
            raise DetectorError(f"pictures of {self._width} x {self._height} pixels are not made for it")

    @classmethod
    def load(cls, path: Path, labels: Sequence[str], threads: int | None = None) -> "Detector":
        """It is tried at once on a plain picture, so that nobody waits long for one that does not work. On all
        processors unless told otherwise."""
        import onnxruntime  # most runs have no detector

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        try:
            network = path.read_bytes()
            session = onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])
        except OSError as error:
            raise DetectorError(f"{path}: {error.strerror}") from error
        except Exception as error:  # onnxruntime has no common class of its own
            raise DetectorError(f"{path} is no ONNX network that can be run: {error}") from error
        try:
            detector = cls(session, labels, hashlib.sha256(network).hexdigest())
            detector.scores([Image.new("RGB", (detector._width, detector._height), "grey")])
        except DetectorError as error:
            raise DetectorError(f"{path}: {error}") from error
        return detector

    @property
    def identity(self) -> str:
        """Network, preprocessing and count of labels in one word fit for a folder: equal only if the scores are."""
        recipe = f"{self.digest} {len(self.labels)} labels, squashed to {self._width} x {self._height}, bilinear"
        return f"detector-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"

    @property
    def preparation(self) -> Preparation:
        """What may be done ahead, elsewhere; a network that takes no squares has the rest done here."""
        return Preparation(max(self._height, self._width), is_cropped=False, filter="bilinear")

    def detect(self, image: Image.Image) -> list[Detected]:
        return self.named(self.scores([image])[0])

    def scores(self, images: Sequence[Image.Image]) -> Floats:
        """(n, labels) score of the surest thing of every label, 0 where there is none."""
        best = np.zeros((len(images), len(self.labels)), np.float32)
        for row, image in zip(best, images, strict=True):
            labels, scores = self._found(image)
            has_name = (labels >= 0) & (labels < len(self.labels))
            np.maximum.at(row, labels[has_name], scores[has_name])
        return best

    def named(self, scores: Floats) -> list[Detected]:
        """What a row of `scores` is sure of: every name once, the surest first."""
        best: dict[str, float] = {}
        for number in np.flatnonzero(scores >= LEAST_SCORE):
            if label := self.labels[number]:
                best[label] = max(best.get(label, 0.0), float(scores[number]))
        return [Detected(label, score) for label, score in sorted(best.items(), key=lambda item: (-item[1], item[0]))]

    def _found(self, image: Image.Image) -> tuple[npt.NDArray[np.int64], Floats]:
        try:
            _, labels, scores = self._session.run(self._outputs, {self._input: self._pixels(image)})
            numbers, sure = np.asarray(labels, np.int64).reshape(-1), np.asarray(scores, np.float32).reshape(-1)
        except Exception as error:  # onnxruntime has no common class of its own
            raise DetectorError(f"it fails on a picture: {error}") from error
        if len(numbers) != len(sure):
            raise DetectorError(f"it gives {len(numbers)} labels and {len(sure)} scores for a picture")
        return numbers, np.clip(np.nan_to_num(sure), 0, 1)

    def _pixels(self, image: Image.Image) -> Floats:
        resized = image.convert("RGB").resize((self._width, self._height), Image.Resampling.BILINEAR)
        pixels = np.asarray(resized, np.float32).transpose(2, 0, 1) / np.float32(255)
        return pixels[None] if len(self._shape) == 4 else pixels
