"""Finds keys in shards and takes their rows out of them, with a bounded number of files open."""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.features.catalogue import Shards
from model.features.files import Files
from model.features.keys import Keys, Places, matches, shorten
from model.features.rows import Raw, RowForm
from model.features.shards import FeatureError, MapBudget, Shard, check_shard

MAX_OPEN_SHARDS = 256  # each map holds a file descriptor, and 1,024 are allowed in all


class ShardReader:
    def __init__(self, files: Files, form: RowForm) -> None:
        self._files = files
        self._form = form
        # Of a function that does not know this object: a cycle would keep the files open until it is collected.
        self.open = lru_cache(maxsize=MAX_OPEN_SHARDS)(partial(_open, files, form, MapBudget()))

    def find(self, shards: Shards, keys: Keys) -> Places:
        """(n,) place of each key, -1 where absent."""
        short = shorten(keys)
        order = np.argsort(short.high)
        wanted = short[order]
        places = np.full(len(keys), -1, np.int64)
        for name, start in zip(shards.names, shards.starts, strict=False):
            here, row = matches(wanted, self.open(name).keys())
            places[order[here]] = start + row
            if 8 * len(here) >= len(wanted):  # so many that it pays to look for the others only
                is_open = np.ones(len(wanted), np.bool_)
                is_open[here] = False
                wanted, order = wanted[is_open], order[is_open]
                if not len(wanted):
                    break
        return places

    def take(self, shards: Shards, places: NDArray[Any]) -> Raw:
        """The rows at these places, as they lie in the files."""
        raw = np.empty((len(places), self._form.bytes), np.uint8)
        order = np.argsort(places)  # by shard, and within it as the rows lie in the file
        ordered = places[order].astype(np.int64)
        ends = np.searchsorted(ordered, shards.starts)
        for number in np.flatnonzero(np.diff(ends)):
            part = slice(ends[number], ends[number + 1])
            raw[order[part]] = self.open(shards.names[number]).take(ordered[part] - shards.starts[number])
        return raw

    def check(self, name: str) -> int:
        """The rows of a shard; FeatureError where its checksum does not hold."""
        rows = len(self.open(name))
        with self._files.open(name) as file:
            check_shard(file, _where(self._files, name))
        return rows


def _open(files: Files, form: RowForm, budget: MapBudget, name: str) -> Shard:
    where = _where(files, name)
    try:
        with files.open(name) as file:
            return Shard(file, where, form, budget)
    except FileNotFoundError as error:
        raise FeatureError(f"{where}: is gone, merged into another; open the store again") from error


def _where(files: Files, name: str) -> str:
    return f"{files.location}/{name}"
