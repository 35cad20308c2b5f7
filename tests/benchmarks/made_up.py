"""A small folder of the form of the Flickr8k features: both sides are views of one hidden vector per image."""

from pathlib import Path

import numpy as np

from benchmarks.protocol.flickr8k import CAPTIONS

TRAIN, DEV = 80, 10
REGIONS = 4
SCALE = 0.05


def make_folder(folder: Path) -> Path:
    """80 images to train on, two of them the same picture, and 10 unseen ones."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    count = TRAIN + DEV
    hidden = rng.normal(size=(count, 8))
    hidden[1] = hidden[0]
    pooled = hidden @ rng.normal(size=(8, 20))
    grid = np.repeat(pooled[:, None, :12], REGIONS, axis=1) / SCALE / 4
    written = np.repeat(hidden, CAPTIONS, axis=0) @ rng.normal(size=(8, 16))
    written += 0.3 * rng.normal(size=written.shape)
    np.save(folder / "image_pool1280_f16.npy", pooled.astype(np.float16))
    np.save(folder / "image_grid_pca192_int8.npy", grid.clip(-127, 127).astype(np.int8))
    np.savez(folder / "image_grid_pca192_scale.npz", scale=np.full(12, SCALE, dtype=np.float32))
    np.save(folder / "caption_minilm384_f16.npy", written.astype(np.float16))
    splits = ["train"] * TRAIN + ["dev"] * DEV
    (folder / "images.tsv").write_text("".join(f"{row}.jpg\t{split}\n" for row, split in enumerate(splits)))
    # The first caption of images 2 and 3 is the same.
    lines = [
        f"{row}.jpg#{k}\t{'the same words' if (row, k) in ((2, 0), (3, 0)) else f'picture {row} seen {k} times'}\n"
        for row in range(count)
        for k in range(CAPTIONS)
    ]
    (folder / "captions.tsv").write_text("".join(lines))
    return folder
