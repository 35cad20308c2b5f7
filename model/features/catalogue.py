"""Which shards of a feature store count. Many small ones are merged into large ones; a list beside the new shard names
those that it replaces, and they are deleted when nobody can be reading them.

A crash in between loses nothing: at worst a row is stored twice, which does no harm.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from model.features.files import Files
from model.features.keys import SHORT_BYTES, Places
from model.features.rows import RowForm
from model.features.shards import SUFFIX, rows_in

MERGED_BYTES = 256 * 1024**2
MERGED_ROWS = 2**21  # the keys of one merged shard are held in memory: 32 MB
MERGED_SHARDS = 200  # all of them are open at once

_REPLACES = ".replaces"


@dataclass(frozen=True)
class Shards:
    """Shards in a fixed order. The place of a row is its number when they are laid end to end."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]  # in bytes
    starts: Places  # (shards + 1,) of their first rows

    @classmethod
    def of(cls, sizes: dict[str, int], form: RowForm) -> "Shards":
        rows = [rows_in(size, form) for size in sizes.values()]
        return cls(tuple(sizes), tuple(sizes.values()), np.cumsum([0, *rows], dtype=np.int64))

    @property
    def rows(self) -> int:
        return int(self.starts[-1])

    def small(self, form: RowForm) -> Iterator["Shards"]:
        """Groups of small shards that together make a large one."""
        limit = min(MERGED_BYTES, MERGED_ROWS * (SHORT_BYTES + form.bytes))
        group: dict[str, int] = {}
        for name, size in zip(self.names, self.sizes, strict=True):
            if size >= limit // 2:
                continue
            if sum(group.values()) + size > limit or len(group) == MERGED_SHARDS:
                yield Shards.of(group, form)
                group = {}
            group[name] = size
        if len(group) > 1:
            yield Shards.of(group, form)


class Catalogue:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._lists: dict[str, list[str]] = {}  # what the lists say; they never change

    def shards(self, form: RowForm) -> Shards:
        sizes = self._files.sizes()
        replaced = {old for names in self._replaced(sizes).values() for old in names}
        live = (name for name in sorted(sizes) if name.endswith(SUFFIX) and name not in replaced)
        return Shards.of({name: sizes[name] for name in live}, form)

    def replace(self, group: Shards, merged: str) -> None:
        """From now on the shard `merged` stands for those of the group."""
        with self._files.writing(merged.removesuffix(SUFFIX) + _REPLACES) as file:
            file.write("\n".join(group.names).encode())

    def sweep(self) -> None:
        """Delete what was replaced, where nobody can be reading it."""
        lists = self._replaced(self._files.sizes())
        with self._files.free(list(lists)) as free:
            for name in free:
                for old in (*lists[name], name):
                    self._files.delete(old)

    def _replaced(self, sizes: dict[str, int]) -> dict[str, list[str]]:
        """Lists, and the shards that each replaces. A list counts only while its own shard is there."""
        lists = {}
        for name in sizes:
            if name.endswith(_REPLACES) and name.removesuffix(_REPLACES) + SUFFIX in sizes:
                if name not in self._lists:
                    self._lists[name] = self._read(name)
                lists[name] = [old for old in self._lists[name] if old in sizes]
        return lists

    def _read(self, name: str) -> list[str]:
        try:
            return self._files.read(name).decode("ascii", "replace").split("\n")
        except FileNotFoundError:
            return []  # another process has just deleted what it names
