"""Images and captions -> features, once per content hash. Each chunk becomes a shard of the store, so a
restart goes on with the first chunk that is not there yet."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select, update

from model.encoders.base import Encoder, load_encoder
from model.encoders.images import ImageError, OpenedImage, open_image
from model.encoders.stream import encode_all
from model.features import FeatureStore, content_key, stack_keys
from service.db.session import transaction
from service.db.states import ImageStatus
from service.db.tables import Image, Pair
from service.storage import Storage, written_whole
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.files import local_path, read_file
from worker.stages.context import StageContext

CHUNK = 1024
# Says to the later stages where the features are, without loading the encoder again.
FEATURES_FILE = "features.json"


@dataclass(frozen=True)
class Item:
    row: int
    url: str
    caption: str
    sha256: bytes


def run(context: StageContext) -> None:
    encoder = load_encoder(context.run_config().encoder, context.settings.threads)
    images, captions = make_stores(context.storage, _describe(encoder))
    total, done, after = _count(context), 0, 0
    while chunk := _next_items(context, after):
        _encode_images(context, encoder, images, chunk, done, total)
        _encode_captions(encoder, captions, chunk)
        after, done = chunk[-1].row, done + len(chunk)
        context.lease.progress(done, total)
    path = context.storage.run(context.run_id) / FEATURES_FILE
    with written_whole(path) as file:
        file.write(json.dumps(_describe(encoder)).encode())
    with context.lease.completing():
        pass


def read_features_file(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / FEATURES_FILE).read_text()))


def make_stores(storage: Storage, features: dict[str, Any]) -> tuple[FeatureStore, FeatureStore]:
    """The stores of images and of captions."""
    identity = features["encoder"]
    return (
        FeatureStore(storage.features(identity, "images"), features["image_width"]),
        FeatureStore(storage.features(identity, "captions"), features["caption_width"]),
    )


def _describe(encoder: Encoder) -> dict[str, Any]:
    widths = {"image_width": encoder.image_width, "caption_width": encoder.caption_width}
    return {"encoder": encoder.identity, **widths}


def _encode_images(
    context: StageContext, encoder: Encoder, store: FeatureStore, chunk: Sequence[Item], done: int, total: int
) -> None:
    distinct = {item.sha256: item for item in chunk}
    missing = store.missing(stack_keys(distinct))
    new = [item for item, is_missing in zip(distinct.values(), missing, strict=True) if is_missing]
    root = context.collection().read_options.get("image_root")
    keys, vectors = [], []
    for batch in encode_all(encoder, new, lambda item: _open(context, root, item)):
        context.lease.check()
        keys += [item.sha256 for item in batch.items]
        vectors.append(batch.vectors)
        for item, error in batch.failures:
            _mark_failed(context, item.sha256, error)
        context.lease.progress(done + len(keys), total, "images")
    if keys:
        store.add(stack_keys(keys), np.concatenate(vectors))


def _encode_captions(encoder: Encoder, store: FeatureStore, chunk: Sequence[Item]) -> None:
    distinct = {content_key(item.caption.encode()): item.caption for item in chunk}
    missing = store.missing(stack_keys(distinct))
    new = [entry for entry, is_missing in zip(distinct.items(), missing, strict=True) if is_missing]
    if new:
        store.add(stack_keys(key for key, _ in new), encoder.encode_captions([caption for _, caption in new]))


def _open(context: StageContext, image_root: str | None, item: Item) -> OpenedImage:
    try:
        path = local_path(item.url, image_root)
        if path is None:
            data = context.storage.image(item.sha256).read_bytes()
        else:
            data = read_file(path, context.settings.image_roots, context.settings.max_image_bytes)
    except (FetchError, OSError) as error:
        raise ImageError("truncated", f"The image was there when it was fetched, but not now: {error}") from error
    if content_key(data) != item.sha256:
        raise ImageError("truncated", "The file has changed since it was fetched.")
    return open_image(data)


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


def _next_items(context: StageContext, after: int) -> list[Item]:
    chosen = (
        select(Pair.row, Pair.url, Pair.caption, Image.sha256)
        .join(Image, (Image.collection_id == Pair.collection_id) & (Image.row == Pair.row))
        .where(Pair.collection_id == context.collection_id, Pair.row > after, Image.status == ImageStatus.SUCCESS)
        .order_by(Pair.row)
        .limit(CHUNK)
    )
    with transaction(context.engine) as session:
        return [Item(row, url, caption, sha256 or b"") for row, url, caption, sha256 in session.execute(chosen)]
