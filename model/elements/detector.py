"""Any object detector as a source of image elements: an ONNX file and the names of its labels.

It takes one RGB picture as (1, 3, H, W) or (3, H, W), float32 from 0 to 1 (torchvision's convention; H and W may be
fixed or free), and gives boxes (n, 4), labels (n,) and scores (n,), with or without a first dimension of 1. Outputs
are known by those names, else by their order. Label i is the i-th name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from PIL import Image

_OUTPUTS = ("boxes", "labels", "scores")
_FREE_SIZE = 640  # of a side, where the network takes any
LEAST_SCORE = 0.5


class DetectorError(ValueError):
    """The file cannot be used; the message says why."""


@dataclass(frozen=True)
class Detected:
    """The surest thing of its label in one picture."""

    label: str
    score: float


class Detector:
    def __init__(self, session: Any, labels: Sequence[str]) -> None:
        self._session, self._labels = session, tuple(labels)
        given = session.get_inputs()
        names = [output.name for output in session.get_outputs()]
        if len(given) != 1 or len(names) < len(_OUTPUTS):
            raise DetectorError(
                f"a detector takes one picture and gives boxes, labels and scores; this one takes {len(given)} inputs "
                f"and gives {', '.join(names) or 'nothing'}"
            )
        self._input = given[0].name
        self._shape = list(given[0].shape)
        self._outputs = list(_OUTPUTS) if set(_OUTPUTS) <= set(names) else names[: len(_OUTPUTS)]
        # A free side is a name or None.
        if len(self._shape) not in (3, 4) or (isinstance(self._shape[-3], int) and self._shape[-3] != 3):
            raise DetectorError(f"a detector takes (1, 3, H, W) or (3, H, W), not {tuple(self._shape)}")

    @classmethod
    def load(cls, path: Path, labels: Sequence[str]) -> "Detector":
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        except OSError as error:
            raise DetectorError(f"{path}: {error.strerror}") from error
        except Exception as error:  # onnxruntime has no common class of its own
            raise DetectorError(f"{path} is no ONNX network that can be run: {error}") from error
        return cls(session, labels)

    def detect(self, image: Image.Image) -> list[Detected]:
        """Every label once, the surest first."""
        found = dict(
            zip(self._outputs, self._session.run(self._outputs, {self._input: self._pixels(image)}), strict=True)
        )
        labels, scores = (np.asarray(found[self._outputs[place]]).reshape(-1) for place in (1, 2))
        best: dict[str, float] = {}
        for number, score in zip(labels.astype(np.int64), scores.astype(float), strict=True):
            if score >= LEAST_SCORE and 0 <= number < len(self._labels):
                label = self._labels[number]
                best[label] = max(best.get(label, 0.0), min(float(score), 1.0))
        return [Detected(label, score) for label, score in sorted(best.items(), key=lambda item: (-item[1], item[0]))]

    def _pixels(self, image: Image.Image) -> npt.NDArray[np.float32]:
        height, width = (side if isinstance(side, int) else _FREE_SIZE for side in self._shape[-2:])
        resized = image.convert("RGB").resize((width, height), Image.Resampling.BILINEAR)
        pixels = np.asarray(resized, np.float32).transpose(2, 0, 1) / np.float32(255)
        return pixels[None] if len(self._shape) == 4 else pixels
