"""Bytes changed anywhere in an upload: rows, rejects and FileErrors may come of it, but no other exception."""

import random
from pathlib import Path

import numpy as np
import pytest

from model.data.folders.detect import is_archive
from model.data.rows import FileError, Pair
from model.data.source import ImageSource
from tests.model.folders.making import Members, image_of, npy, npz, opened, pack, parquet, tar_of

VECTORS = np.ones((2, 3), np.float32)
TABLE = parquet(key=["0", "1"], url=["https://example.org/0", ""], caption=["a", "b"])
UPLOADS: dict[str, Members] = {
    "webdataset": {"0.jpg": b"i", "0.txt": b"c", "1.jpg": b"i", "1.json": b'{"caption": "c"}'},
    "img2dataset": {"0.tar": tar_of({"0.jpg": b"i", "1.jpg": b"i"}), "0.parquet": TABLE},
    "datacomp": {"0.parquet": TABLE, "0.npz": npz(l14_img=VECTORS, l14_txt=VECTORS)},
    "clip-retrieval": {"img_emb/img_emb_0.npy": npy(VECTORS), "metadata/metadata_0.parquet": TABLE},
    "precomp": {"train_ims.npy": npy(VECTORS), "train_caps.txt": b"a\nb\n"},
}


def damaged(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice([1, 3, 20])):
        changed[rng.randrange(len(changed))] = rng.choice([0, 255, rng.randrange(256)])
    return bytes(changed[: rng.randrange(len(changed))] if rng.random() < 0.15 else changed)


def read_all(path: Path) -> int:
    """How many rows there are, every image and feature looked at."""
    source, count = opened(path), 0
    for item in source.rows():
        count += 1
        if isinstance(item, Pair) and source.images is ImageSource.MEMBERS:
            image_of(source, item)
    if source.images is ImageSource.FEATURES:
        assert len(source.features().images[np.arange(1)]) == 1
    return count


class TestDamagedUpload:
    @pytest.mark.parametrize("container", ["tar", "zip", "stored zip"])
    @pytest.mark.parametrize("name", list(UPLOADS))
    def test_only_file_errors_come_of_it(self, tmp_path: Path, name: str, container: str) -> None:
        path = pack(UPLOADS[name], container, tmp_path)
        whole = path.read_bytes()
        assert read_all(path) == 2
        rng, refused = random.Random(f"{name} {container}"), 0
        for _ in range(30):
            path.write_bytes(damaged(whole, rng))
            try:
                if is_archive(path):
                    read_all(path)
            except FileError:
                refused += 1
        assert refused > 0
