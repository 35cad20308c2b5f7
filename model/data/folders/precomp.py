"""The papers' precomputed region features: {split}_ims.npy with {split}_caps.txt or .tsv, mapped, never loaded.

Captions are in the order of the images, the same number for each (usually five, or one). Arrays that store every image
once for each of its captions are recognised.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from model.data.checks import BadRow
from model.data.folders.arrays import Stacked
from model.data.folders.base import MEMBER_URL, FolderSource, judged
from model.data.folders.clip_retrieval import npy_part
from model.data.folders.fields import caption_of, name_of
from model.data.folders.folder import Folder
from model.data.folders.lines import Lines
from model.data.folders.listing import Listing
from model.data.folders.noise_index import NoiseIndex, read_noise_index
from model.data.rows import FileError, Pair, Reject, pair_uid
from model.data.source import ImageSource, ReadOptions, SourceFeatures

EXPECTED = "{split}_ims.npy with {split}_caps.txt or {split}_caps.tsv beside it"
MAX_REPEATS = 64  # captions of one image; a longer run of equal rows is no repetition for captions
CHECKED_GROUPS = 16  # places all over the array where the repetition must hold
_IMAGES = re.compile(r"(?P<root>(?:.*/)?)(?P<split>[^/]+)_ims\.npy")


def find(folder: Folder, listing: Listing, options: ReadOptions) -> "Precomp | None":
    found: dict[str, tuple[str, str]] = {}
    for name in listing.names(lambda name: _IMAGES.fullmatch(name) is not None):
        stem = name.removesuffix("_ims.npy")
        captions = [end for end in (f"{stem}_caps.txt", f"{stem}_caps.tsv") if end in listing.files]
        if captions:
            split = stem.rpartition("/")[2]
            if split in found:
                raise FileError("two_folders", f"Both {found[split][0]} and {name} are the split {split!r}. Keep one.")
            found[split] = name, captions[0]
    if not found:
        return None
    chosen = options.split or ("train" if "train" in found or len(found) > 1 else next(iter(found)))
    if chosen not in found:
        raise FileError("no_split", f"There is no split {chosen!r}; choose one of {', '.join(sorted(found))}.")
    return Precomp(folder, listing, options, chosen, *found[chosen])


class Precomp(FolderSource):
    format = "precomp"
    images = ImageSource.FEATURES

    def __init__(
        self, folder: Folder, listing: Listing, options: ReadOptions, split: str, array: str, captions: str
    ) -> None:
        super().__init__(folder, listing, options)
        self.split, self.captions_name = split, captions
        self._array = Stacked([npy_part(folder, listing, array)])
        self.captions = Lines(folder.plain(listing.files[captions]), captions)
        count, rows = len(self.captions), len(self._array)
        if not rows or count % rows:
            raise FileError(
                "counts_differ",
                f"{captions} has {count:,} captions and {array} has {rows:,} images: the captions of an image must be "
                "a whole number, the same for all.",
            )
        self.captions_each = count // rows
        self.repeats = _repeats(self._array) if self.captions_each == 1 else 1
        self.ids = self._read_ids(array.removesuffix("_ims.npy") + "_ids.txt", rows)
        self.noise: NoiseIndex | None = None
        if options.noise_index is not None:
            self.noise = read_noise_index(folder, listing, options.noise_index, rows, count, self.repeats)

    def _read_ids(self, name: str, rows: int) -> Lines | None:
        if name not in self.listing.files:
            return None
        ids = Lines(self.folder.plain(self.listing.files[name]), name)
        if len(ids) not in {rows, rows // self.repeats, len(self.captions)}:
            raise FileError(
                "counts_differ",
                f"{name} has {len(ids):,} ids for {rows:,} images with {len(self.captions):,} captions. "
                "Correct or remove it.",
            )
        return ids

    def details(self) -> dict[str, Any]:
        return {
            "split": self.split,
            "captions": len(self.captions),
            "captions_per_image": self.captions_each * self.repeats,
            "stored_repeatedly": self.repeats,
            "noise_index": None if self.noise is None else self.noise.kind,
            "features": {"images": {"shape": list(self._array.shape), "dtype": str(self._array.dtype)}},
        }

    def features(self) -> SourceFeatures:
        return SourceFeatures(self._array, None)

    def rows(self) -> Iterator[Pair | Reject]:
        for number, line in enumerate(self.captions):
            yield judged(number + 1, self.captions.offset(number), line, partial(self._pair, number, line))

    def _pair(self, number: int, line: bytes) -> Pair:
        where = f"{self.captions_name} line {number + 1:,}"
        own = number // self.captions_each
        image = own if self.noise is None else self.noise.image_of(number)
        caption = caption_of(self._cells(line, where)[1], where)
        url = f"{MEMBER_URL}{self.split}/{self._name(image)}"
        is_match = None if self.noise is None else image // self.repeats == own // self.repeats
        return Pair(number + 1, pair_uid(url, caption), url, caption, None, None, str(image), is_match)

    def _cells(self, line: bytes, where: str) -> tuple[bytes, bytes]:
        """Image id and caption; a text file has captions only."""
        if not self.captions_name.endswith(".tsv"):
            return b"", line
        cells = line.split(b"\t")
        if len(cells) != 2:
            fault = "too_few_columns" if len(cells) < 2 else "too_many_columns"
            raise BadRow(fault, f"{where}: {len(cells)} columns, expected 2 (image id, caption)")
        return cells[0], cells[1]

    def _name(self, image: int) -> str:
        """The id of an image: from the ids, else the id in its first caption's line, else its number."""
        if self.ids is not None:
            name = self.ids[image * len(self.ids) // len(self._array)]
        else:
            first = image // self.repeats * self.repeats * self.captions_each
            name = self.captions[first].partition(b"\t")[0] if self.captions_name.endswith(".tsv") else b""
        return name_of(name.decode("utf-8", "replace"), image // self.repeats)


def _repeats(array: Stacked) -> int:
    """How often every image is stored in a row: the length of the first run of equal rows, if it holds all over."""
    count = len(array)
    first = array[np.arange(min(count, MAX_REPEATS + 1))]
    same = [bool(np.array_equal(first[0], row)) for row in first]
    run = same.index(False) if False in same else len(same)
    if run > MAX_REPEATS or run == count or count % run:
        return 1
    for group in np.linspace(0, count // run - 1, CHECKED_GROUPS, dtype=np.int64):
        rows = array[group * run + np.arange(run)]
        if not all(np.array_equal(rows[0], row) for row in rows):
            return 1
    return run
