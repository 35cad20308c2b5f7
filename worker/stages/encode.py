"""Images and captions -> features, once per content hash. Each chunk becomes a shard of the store, so a
restart goes on with the first chunk that is not there yet."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import func, select, update

from model.encoders.base import Encoder, EncoderError
from model.encoders.images import ImageError
from model.encoders.readers import ImageReaders
from model.encoders.stream import encode_all
from model.features.store import FeatureStore, content_key, stack_keys
from service.db.session import transaction
from service.db.states import ImageStatus
from service.db.tables import Image, Pair
from worker.fetch.errors import FetchClass
from worker.stages.context import StageContext
from worker.stages.image_bytes import ImageBytes
from worker.stages.run_encoder import choose_encoder, unusable
from worker.stages.run_features import open_store

CHUNK = 1024
# An image takes about as long as four captions.
IMAGE_SHARE = 0.8
STEPS = 10_000  # progress is shown in so many parts


@dataclass(frozen=True)
class Item:
    row: int
    url: str
    caption: str
    sha256: bytes
    place: str | None


def run(context: StageContext) -> None:
    try:
        _encode(context)
    except EncoderError as error:
        raise unusable(error) from error
    with context.lease.completing():
        pass


def _encode(context: StageContext) -> None:
    encoder, features = choose_encoder(context)
    if encoder is not None:
        before = 0.0
        if features.images.encoder is not None:
            _encode_images(context, encoder, open_store(context, "images", features.images))
            before = IMAGE_SHARE
        if features.captions.encoder is not None:
            _encode_captions(context, encoder, open_store(context, "captions", features.captions), before)
    features.save(context.storage.run(context.run_id))


def _encode_images(context: StageContext, encoder: Encoder, store: FeatureStore) -> None:
    encode = encoder.encode_images if len(store.shape) == 1 else encoder.encode_regions
    total, done, after = _count(context), 0, 0
    source = ImageBytes(context)
    with ImageReaders(encoder.preparation, context.settings.threads) as readers:
        while chunk := _next_items(context, after):
            new = _missing(store, {item.sha256: item for item in chunk})
            keys, vectors = [], []
            for batch in encode_all(encode, new, lambda item: source.read(item.url, item.place, item.sha256), readers):
                context.lease.check()
                keys += [item.sha256 for item in batch.items]
                vectors.append(batch.vectors)
                for item, error in batch.failures:
                    _mark_failed(context, item.sha256, error)
                _show(context, "images", IMAGE_SHARE * (done + len(keys)) / total)
            if keys:
                store.add(stack_keys(keys), np.concatenate(vectors))
            after, done = chunk[-1].row, done + len(chunk)
            _show(context, "images", IMAGE_SHARE * done / total)
    store.compact()


def _encode_captions(context: StageContext, encoder: Encoder, store: FeatureStore, before: float) -> None:
    total, done, after = _count(context), 0, 0
    while chunk := _next_items(context, after):
        context.lease.check()
        new = _missing(store, {content_key(item.caption.encode()): item for item in chunk})
        if new:
            captions = [item.caption for item in new]
            keys = stack_keys(content_key(caption.encode()) for caption in captions)
            store.add(keys, encoder.encode_captions(captions))
        after, done = chunk[-1].row, done + len(chunk)
        _show(context, "captions", before + (1 - before) * done / total)
    store.compact()


def _show(context: StageContext, what: str, share: float) -> None:
    context.lease.progress(round(share * STEPS), STEPS, what)


def _missing(store: FeatureStore, distinct: dict[bytes, Item]) -> list[Item]:
    is_missing = store.missing(stack_keys(distinct))
    return [item for item, is_new in zip(distinct.values(), is_missing, strict=True) if is_new]


def _mark_failed(context: StageContext, sha256: bytes, error: ImageError) -> None:
    """For every row of the collection with this content."""
    failed = {
        "status": ImageStatus.FAILED,
        "error_class": FetchClass(error.reason),
        "error_message": str(error).replace("\0", "\ufffd")[:500],
    }
    with transaction(context.engine) as session:
        mine = (Image.collection_id == context.collection_id, Image.sha256 == sha256)
        session.execute(update(Image).where(*mine).values(**failed))


def _count(context: StageContext) -> int:
    usable = (Image.collection_id == context.collection_id, Image.status == ImageStatus.SUCCESS)
    with transaction(context.engine) as session:
        return session.scalar(select(func.count()).select_from(Image).where(*usable)) or 0


def _next_items(context: StageContext, after: int) -> Sequence[Item]:
    chosen = (
        select(Pair.row, Pair.url, Pair.caption, Image.sha256, Pair.place)
        .join(Image, (Image.collection_id == Pair.collection_id) & (Image.row == Pair.row))
        .where(Pair.collection_id == context.collection_id, Pair.row > after, Image.status == ImageStatus.SUCCESS)
        .order_by(Pair.row)
        .limit(CHUNK)
    )
    with transaction(context.engine) as session:
        found = session.execute(chosen).all()
    return [Item(row, url, caption, sha256 or b"", place) for row, url, caption, sha256, place in found]
