"""The same image under many captions, the same caption under many images, and pairs that are there more than once.

One caption under many images is mostly boilerplate ("image may contain"), and no training can learn from it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# The report's table of group sizes: each entry counts up to the next.
_SIZES = (2, 3, 6, 11, 101, 1001)


def duplicates(
    rows: Ints, image_ids: Ints, caption_ids: Ints, is_flagged: Bools, most_groups: int = 20, most_rows: int = 5
) -> dict[str, Any]:
    """For a report, as plain values: `images` with several captions, `captions` with several images, `pairs` repeated.

    Of each the number of groups, how many pairs are in them, their sizes, and the largest `most_groups` groups with
    their first `most_rows` rows. A group's size is the number of different partners, for pairs that of repeats.
    """
    image = np.unique(image_ids, return_inverse=True)[1].astype(np.int64)
    caption = np.unique(caption_ids, return_inverse=True)[1].astype(np.int64)
    both = np.unique(image * (caption.max(initial=0) + 1) + caption, return_index=True, return_inverse=True)
    first, pair = both[1], both[2].astype(np.int64)
    limits = most_groups, most_rows
    return {
        "images": _groups(rows, image, np.bincount(image[first]), is_flagged, limits),
        "captions": _groups(rows, caption, np.bincount(caption[first]), is_flagged, limits),
        "pairs": _groups(rows, pair, np.bincount(pair), is_flagged, limits),
    }


def _groups(rows: Ints, group: Ints, sizes: Ints, is_flagged: Bools, limits: tuple[int, int]) -> dict[str, Any]:
    """`group` numbers each row's group, `sizes` has one per group; those below 2 are none."""
    most_groups, most_rows = limits
    is_shared = sizes > 1
    counts, flagged = np.bincount(group), np.bincount(group, weights=is_flagged)
    shared = np.flatnonzero(is_shared)
    # Equal sizes in the order of their content's number: the same report from the same collection.
    largest = shared[np.argsort(-sizes[shared], kind="stable")][:most_groups]
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], largest)
    total = int(counts[shared].sum())
    return {
        "distinct": len(sizes),
        "groups": len(shared),
        "pairs": total,
        "flagged_share": float(flagged[shared].sum() / total) if total else None,
        "sizes": _sizes(sizes[shared]),
        "largest": [
            {
                "size": int(sizes[one]),
                "pairs": int(counts[one]),
                "flagged_share": float(flagged[one] / counts[one]),
                "rows": [int(row) for row in rows[order[start : start + min(most_rows, counts[one])]]],
            }
            for one, start in zip(largest, starts, strict=True)
        ],
    }


def _sizes(sizes: Ints) -> dict[str, int]:
    """How many groups are of which size."""
    ends = [*(start - 1 for start in _SIZES[1:]), None]
    names = [str(a) if a == b else f"{a}-{b}" if b else f"{a}+" for a, b in zip(_SIZES, ends, strict=True)]
    counts = np.bincount(np.searchsorted(_SIZES, sizes, side="right"), minlength=len(_SIZES) + 1)[1:]
    return {name: int(count) for name, count in zip(names, counts, strict=True)}
