"""How much of the speed of the bare networks is left from image files and captions to vectors.

Prints JSON; the exit code is 1 where less than 0.85 is left for images. `open_clip:<architecture>:random` takes weights
made in the run. The two ways run in turn, and the best of each counts. Also: what the short text context gains.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from model.encoders.base import Encoder, load_encoder
from model.encoders.clip_models import open_clip_package
from model.encoders.clip_text import TextTower
from model.encoders.images import open_image
from model.encoders.readers import ImageReaders
from model.encoders.stream import encode_all

ENCODERS = ("lite", "open_clip:ViT-B-32:random")
TEXT_ARCHITECTURE = "ViT-B-32"
LEAST_RATIO = 0.85
ROUNDS = 3
BATCH = 64
DISTINCT_FILES = 32
TEXT_CAPTIONS, TEXT_BATCH = 64, 16


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", action="append", help=f"May be repeated. Default: {', '.join(ENCODERS)}")
    parser.add_argument("--size", default="500x375", help="Of the images, in pixels.")
    parser.add_argument("--seconds", type=float, default=3.0, help="About how long one measurement takes.")
    chosen = parser.parse_args(arguments)
    report = measure(chosen.encoder or ENCODERS, chosen.size, chosen.seconds)
    print(json.dumps(report, indent=2))
    return int(not report["is_reached"])


def measure(encoders: Sequence[str], size: str, seconds: float) -> dict[str, Any]:
    width, height = (int(side) for side in size.split("x"))
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder), width, height)
        results = [_measure(load_encoder(with_weights(name, Path(folder))), name, files, seconds) for name in encoders]
    return {
        "benchmark": "encode",
        "image_size": size,
        "rounds": ROUNDS,
        "least_ratio": LEAST_RATIO,
        "is_reached": all(result["images"]["ratio"] >= LEAST_RATIO for result in results),
        "encoders": results,
        "short_text": measure_short_text(),
    }


def make_files(folder: Path, width: int, height: int) -> list[Path]:
    """Smooth colours with grain: about as large as photographs of that size."""
    rng = np.random.default_rng(0)
    files = [folder / f"{number}.jpg" for number in range(DISTINCT_FILES)]
    for file in files:
        colours = Image.fromarray(rng.integers(0, 256, (height // 12 + 1, width // 12 + 1, 3), np.uint8))
        smooth = np.asarray(colours.resize((width, height), Image.Resampling.BICUBIC), np.float32)
        grain = rng.normal(0, 6, (height, width, 1))
        Image.fromarray(np.clip(smooth + grain, 0, 255).astype(np.uint8)).save(file, quality=88)
    return files


def make_captions(count: int) -> list[str]:
    rng = np.random.default_rng(0)
    words = ["red", "small", "old", "house", "tree", "dog", "boat", "child", "street", "near", "under", "with", "lake"]
    return ["a " + " ".join(rng.choice(words, rng.integers(5, 14))) for _ in range(count)]


def with_weights(name: str, folder: Path) -> str:
    """`open_clip:<architecture>:random` -> the name with a file of random weights."""
    if not name.startswith("open_clip:") or not name.endswith(":random"):
        return name
    _, architecture, _ = name.split(":")
    file = folder / f"{architecture}.pt"
    torch.save(open_clip_package().create_model(architecture).half().state_dict(), file)
    return f"open_clip:{architecture}:{file}"


def _measure(encoder: Encoder, name: str, files: list[Path], seconds: float) -> dict[str, Any]:
    ready = [open_image(file.read_bytes(), encoder.preparation.enough).image for file in files]
    ready = [encoder.prepare_image(image) for image in ready]
    encoder.encode_images(ready[:BATCH])  # loads the network
    count = _as_many_as_fit(seconds, lambda: encoder.encode_images(ready[:BATCH]), len(ready[:BATCH]))
    many_files, many_ready = (_repeated(some, count) for some in (files, ready))
    captions = make_captions(count)
    tokens = encoder.tokenize(captions)

    def forward() -> None:
        for start in range(0, count, BATCH):
            encoder.encode_images(many_ready[start : start + BATCH])

    with ImageReaders(encoder.preparation) as readers:

        def end_to_end() -> None:
            done = sum(
                len(part.items) for part in encode_all(encoder.encode_images, many_files, Path.read_bytes, readers)
            )
            assert done == count

        images = _compare(forward, end_to_end)
    texts = _compare(lambda: encoder.encode_tokens(tokens), lambda: encoder.encode_captions(captions))
    pairs = [image + text for image, text in zip(images, texts, strict=True)]
    rates = {key: _rates(count, *best) for key, best in (("images", images), ("captions", texts), ("pairs", pairs))}
    return {"encoder": name, "count": count, **rates}


def measure_short_text() -> dict[str, Any]:
    package = open_clip_package()
    network = package.create_model(TEXT_ARCHITECTURE).eval()
    tokens = package.get_tokenizer(TEXT_ARCHITECTURE)(make_captions(TEXT_CAPTIONS))
    tower, found = TextTower(network), {}
    parts = tokens[torch.argsort(tower.lengths(tokens))].split(TEXT_BATCH)  # of like length, as in the encoder

    @torch.inference_mode()
    def run(name: str, encode: Callable[[torch.Tensor], torch.Tensor]) -> None:
        found[name] = torch.cat([encode(part) for part in parts])

    full, short = _compare(
        lambda: run("full", lambda part: network.encode_text(part, normalize=True)),
        lambda: run("short", tower.encode),
    )
    return {
        "architecture": TEXT_ARCHITECTURE,
        "context": tokens.shape[1],
        "longest_caption": int(tower.lengths(tokens).max()),
        "speed_up": round(full / short, 2),
        "largest_difference": float((found["full"] - found["short"]).abs().max()),
    }


def _as_many_as_fit(seconds: float, run: Callable[[], object], items: int) -> int:
    """In whole batches, at least one."""
    began = time.perf_counter()
    run()
    return max(1, round(seconds / (time.perf_counter() - began) * items / BATCH)) * BATCH


def _repeated(some: Sequence[Any], count: int) -> list[Any]:
    return [some[i % len(some)] for i in range(count)]


def _compare(*ways: Callable[[], object]) -> list[float]:
    """The best seconds of each."""
    best = [float("inf")] * len(ways)
    for _ in range(ROUNDS):
        for i, way in enumerate(ways):
            began = time.perf_counter()
            way()
            best[i] = min(best[i], time.perf_counter() - began)
    return best


def _rates(count: int, forward: float, end_to_end: float) -> dict[str, float]:
    return {
        "forward_per_second": round(count / forward, 1),
        "end_to_end_per_second": round(count / end_to_end, 1),
        "ratio": round(forward / end_to_end, 3),
    }


if __name__ == "__main__":
    sys.exit(main())
