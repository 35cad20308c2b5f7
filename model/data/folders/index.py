"""Which member has a name: 24 bytes of memory each, so that a tar of millions of images can be asked."""

import hashlib
from array import array
from collections.abc import Iterable

import numpy as np

from model.data.folders.names import Member


class NameIndex:
    """Names are kept as 64 bits of a hash: a chance meeting among ten million is below one in 100,000."""

    def __init__(self, members: Iterable[tuple[str, Member]]) -> None:
        keys, offsets, sizes = array("Q"), array("q"), array("q")
        for name, member in members:
            keys.append(_key(name))
            offsets.append(member.offset)
            sizes.append(member.size)
        found = np.array(keys, np.uint64)
        order = np.argsort(found, kind="stable")
        self._keys = found[order]
        self._offsets = np.array(offsets, np.int64)[order]
        self._sizes = np.array(sizes, np.int64)[order]

    def get(self, name: str) -> Member | None:
        """Of several with one name the last, as everywhere with tars."""
        key = np.uint64(_key(name))
        at = int(np.searchsorted(self._keys, key, side="right")) - 1
        if at < 0 or self._keys[at] != key:
            return None
        return Member(name, int(self._sizes[at]), int(self._offsets[at]))


def _key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big")
