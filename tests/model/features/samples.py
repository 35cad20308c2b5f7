"""Keys and rows that tests of the feature store put in and expect back."""

from pathlib import Path

import numpy as np

from model.features.store import FeatureStore, Keys, content_key, stack_keys

WIDTH = 8


def keys_of(numbers: range | list[int]) -> Keys:
    return stack_keys(content_key(b"%d" % number) for number in numbers)


def vectors_of(numbers: range | list[int]) -> np.ndarray:
    """Values that float16 holds exactly, another row for every number."""
    return np.array([[number % 2048, number // 2048, *range(WIDTH - 2)] for number in numbers], np.float32)


def fill(store: FeatureStore, numbers: range) -> None:
    store.add(keys_of(numbers), vectors_of(numbers))


def shards_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.shard"))


def mapped_bytes(folder: Path) -> int:
    """How much of the files in the folder is mapped in this process."""
    total = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, *_, name = line.split()
        if name.startswith(str(folder)):
            start, end = addresses.split("-")
            total += int(end, 16) - int(start, 16)
    return total
