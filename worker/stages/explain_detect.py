"""What the run's detector sees in the images of its pairs. Every content is looked at once and its scores are stored as
features are, so a stage that is taken up again, and a later run with the same detector, look only at what is new."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import ARRAY, BigInteger, any_, literal, select

from model.elements.detector import Detected, Detector, DetectorError
from model.encoders.readers import ImageReaders
from model.encoders.stream import encode_all
from model.features.store import stack_keys
from service.db.session import transaction
from service.db.tables import Pair
from worker.stages.context import StageContext
from worker.stages.explain_inputs import Inputs
from worker.stages.frozen import load_frozen
from worker.stages.image_bytes import ImageBytes
from worker.stages.run_detector import open_detector, unusable
from worker.stages.run_features import SideFeatures, open_store

# A large detector takes seconds for an image: so many are stored together, which is what a stop may lose, and so many
# are looked at between two looks at the lease.
CHUNK, BATCH = 64, 8

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Item:
    sha256: bytes
    url: str
    place: str | None


@contextmanager
def detections(context: StageContext, given: Inputs) -> Iterator["Detections | None"]:
    """None where the run names no detector."""
    detector = open_detector(context)
    if detector is None:
        yield None
        return
    with ImageReaders(detector.preparation, context.settings.threads) as readers:
        found = Detections(context, given, detector, readers)
        yield found
        found.compact()


class Detections:
    def __init__(self, context: StageContext, given: Inputs, detector: Detector, readers: ImageReaders) -> None:
        self._context, self._given, self._file = context, given, context.run_config().detector
        self._detector, self._readers = detector, readers
        self._keys = load_frozen(context.storage.run(context.run_id)).image_keys
        self._store = open_store(context, "images", SideFeatures(detector.identity, (len(detector.labels),)))
        self._source = ImageBytes(context)
        images = int(given.pairs.image_ids.max()) + 1
        self._is_read, self._is_seen = np.zeros((2, images), np.bool_)

    def of(self, places: Ints) -> list[list[Detected]]:
        """What was seen in the image of each of these pairs; nothing where it could not be read."""
        self._look(places)
        keys, found = self._keys[places], [list[Detected]() for _ in places]
        readable = np.flatnonzero(~self._store.missing(keys))
        if not len(readable):
            return found
        for number, scores in zip(readable.tolist(), self._store.view(keys[readable]).load(), strict=True):
            found[number] = self._detector.named(scores)
        images = self._given.pairs.image_ids[places]
        self._is_read[images[readable]] = True
        self._is_seen[images[[bool(things) for things in found]]] = True
        return found

    def report(self) -> dict[str, Any]:
        """Of the pairs that were asked for."""
        return {
            "file": self._file,
            "sha256": self._detector.digest,
            "labels": len(self._detector.labels),
            "images": len(self._is_read),
            "unread": int((~self._is_read).sum()),
            "seen_in": int(self._is_seen.sum()),
        }

    def compact(self) -> None:
        self._store.compact()

    def _look(self, places: Ints) -> None:
        """Where nobody has looked yet."""
        _, first = np.unique(self._given.pairs.image_ids[places], return_index=True)
        distinct = places[np.sort(first)]
        items = self._items(distinct[self._store.missing(self._keys[distinct])])
        try:
            for at in range(0, len(items), CHUNK):
                self._show(places, at / len(items))
                self._add(items[at : at + CHUNK])
        except DetectorError as error:
            raise unusable(f"{self._file}: {error}") from error

    def _add(self, items: Sequence[_Item]) -> None:
        keys, scores = [], []
        for batch in encode_all(self._detector.scores, items, self._read, self._readers, BATCH):
            self._context.lease.check()
            keys += [item.sha256 for item in batch.items]
            scores.append(batch.vectors)
        if keys:
            self._store.add(stack_keys(keys), np.concatenate(scores))

    def _read(self, item: _Item) -> bytes:
        return self._source.read(item.url, item.place, item.sha256)

    def _items(self, places: Ints) -> list[_Item]:
        """Where the images of these pairs lie."""
        rows = self._given.rows[places].tolist()
        named = Pair.row == any_(literal(rows, ARRAY(BigInteger)))  # one parameter, however many rows
        chosen = select(Pair.row, Pair.url, Pair.place).where(Pair.collection_id == self._context.collection_id, named)
        with transaction(self._context.engine) as session:
            found = {pair.row: pair for pair in session.execute(chosen)}
        keys = self._keys[places]
        return [_Item(key.tobytes(), found[row].url, found[row].place) for row, key in zip(rows, keys, strict=True)]

    def _show(self, places: Ints, share: float) -> None:
        done, count = int(places[0] + share * len(places)), len(self._given.rows)
        self._context.lease.progress(done, count, "looking at images with the detector")
