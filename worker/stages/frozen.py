"""Which pairs take part in a run, frozen in its folder when training starts: a later retry of failed images must not
move them. With them what people said of them so far, and their categories and the captions themselves where the method
or the backbone asks for these."""

import json
from array import array
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
from sqlalchemy import Select, select

from model.data.texts import PackedTexts
from model.features.store import content_key, stack_keys
from service.db.fit import brings_features
from service.db.session import transaction
from service.db.states import ImageStatus, Verdict
from service.db.tables import Image, Pair, Review
from service.storage import written_whole
from worker.stages.context import StageContext, lift_time_limit

# Written last: where it is, everything is.
PAIRS_FILE = "pairs.npz"
CAPTIONS_FILE = "captions.utf8"  # only for backbones that read words
LABELS_FILE = "labels.json"  # only for methods that need labels: the name of every category, by its number
READ_CHUNK = 10_000
ANCHORS: dict[str | None, int] = {Verdict.MATCH: 1, Verdict.MISMATCH: -1}  # all others 0


@dataclass(frozen=True)
class Frozen:
    """Rows are line numbers of the uploaded file; keys are content hashes, (N, 32)."""

    rows: npt.NDArray[np.int64]
    image_keys: npt.NDArray[np.uint8]
    caption_keys: npt.NDArray[np.uint8]
    texts: PackedTexts | None = None
    labels: npt.NDArray[np.int64] | None = None  # -1 where the pair has none
    places: npt.NDArray[np.int64] | None = None  # rows of features that came with the upload
    anchors: npt.NDArray[np.int8] | None = None  # what people said: 1 match, -1 mismatch, 0 nothing


@dataclass
class _Categories:
    """Numbers labels as they come; in the end they are numbered in the order of their text."""

    numbers: dict[str, int] = field(default_factory=dict)
    given: list[int] = field(default_factory=list)

    def add(self, label: str | None) -> None:
        self.given.append(-1 if label is None else self.numbers.setdefault(label, len(self.numbers)))

    def sorted(self) -> tuple[list[str], npt.NDArray[np.int64]]:
        names = sorted(self.numbers)
        place = np.full(len(names) + 1, -1, np.int64)  # the last one answers for -1
        place[[self.numbers[name] for name in names]] = np.arange(len(names))
        return names, place[np.array(self.given, np.int64)]


def freeze_pairs(context: StageContext, folder: Path) -> None:
    config = context.run_config()
    has_texts, has_labels = config.backbone_options.reads_words, config.method_options.needs_labels
    has_places = brings_features(context.collection())
    rows, places = array("q"), array("q")
    ends, anchors = array("q"), array("b")
    image_keys, caption_keys = bytearray(), bytearray()
    categories, end = _Categories(), 0
    # In file order; the captions go to disk as they come.
    with transaction(context.engine) as session, _captions(folder, has_texts) as captions:
        lift_time_limit(session)
        chosen = session.execute(_usable(context), execution_options={"yield_per": READ_CHUNK})
        for row, sha256, caption, label, place, verdict in chosen:
            text = caption.encode()
            rows.append(row)
            anchors.append(ANCHORS.get(verdict, 0))
            if has_places and place is not None:
                places.append(int(place))
            image_keys += sha256 or b""
            caption_keys += content_key(text)
            if captions is not None:
                captions.write(text)
                end += len(text)
                ends.append(end)
            if has_labels:
                categories.add(label)
    arrays: dict[str, Any] = {"row": np.array(rows, np.int64)}
    if any(anchors):
        arrays["anchor"] = np.array(anchors, np.int8)
    if has_texts:
        arrays["caption_end"] = np.array(ends, np.int64)
    if has_places:
        arrays["place"] = np.array(places, np.int64)
    if has_labels:
        names, arrays["label"] = categories.sorted()
        with written_whole(folder / LABELS_FILE) as file:
            file.write(json.dumps(names).encode())
    arrays["image_key"] = stack_keys([bytes(image_keys)])
    arrays["caption_key"] = stack_keys([bytes(caption_keys)])
    with written_whole(folder / PAIRS_FILE) as file:
        np.savez(file, **arrays)


def load_frozen(folder: Path) -> Frozen:
    with np.load(folder / PAIRS_FILE, allow_pickle=False) as arrays:
        texts = PackedTexts(folder / CAPTIONS_FILE, arrays["caption_end"]) if "caption_end" in arrays else None
        given = arrays.get("label"), arrays.get("place"), arrays.get("anchor")
        return Frozen(arrays["row"], arrays["image_key"], arrays["caption_key"], texts, *given)


def load_label_names(folder: Path) -> list[str] | None:
    path = folder / LABELS_FILE
    return list(json.loads(path.read_bytes())) if path.exists() else None


def _captions(folder: Path, is_wanted: bool) -> AbstractContextManager[BinaryIO | None]:
    return written_whole(folder / CAPTIONS_FILE) if is_wanted else nullcontext()


def _usable(context: StageContext) -> "Select[int, bytes | None, str, str | None, str | None, str]":
    return (
        select(Pair.row, Image.sha256, Pair.caption, Pair.label, Pair.place, Review.verdict)
        .join(Image, (Image.collection_id == Pair.collection_id) & (Image.row == Pair.row))
        .join(Review, (Review.collection_id == Pair.collection_id) & (Review.uid == Pair.uid), isouter=True)
        .where(Pair.collection_id == context.collection_id, Image.status == ImageStatus.SUCCESS)
        .order_by(Pair.row)
    )
