"""URLs -> image bytes with a content hash. A row that fails has a class and a sentence; the others go on."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert

from model.encoders.images import ImageError, image_size
from model.features import content_key
from service.db import labels
from service.db.session import transaction
from service.db.states import ImageStatus
from service.db.tables import Image, Pair
from service.storage import written_whole
from worker.fetch.client import HttpFetcher
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.files import local_path, read_file
from worker.stages.context import StageContext, StageFailed

CHUNK = 500
THREADS = 16  # waiting on the network or the disk, not computing


def run(context: StageContext) -> None:
    collection = context.collection()
    if why := labels.why_labels_are_missing(collection, context.run_config()):
        raise StageFailed(labels.CODE, labels.TITLE, why)
    total, image_root = collection.accepted, collection.read_options.get("image_root")
    after, done = 0, 0
    with closing(HttpFetcher(context.settings)) as fetcher, ThreadPoolExecutor(THREADS) as pool:
        while chunk := _next_rows(context, after):
            context.lease.check()
            urls = list(dict.fromkeys(url for _, url in chunk))
            outcomes = dict(
                zip(urls, pool.map(lambda url: _fetch(context, fetcher, image_root, url), urls), strict=True)
            )
            _store(context, [{"row": row, **outcomes[url]} for row, url in chunk])
            after, done = chunk[-1][0], done + len(chunk)
            context.lease.progress(done, total)
    _require_some(context)
    with context.lease.completing():
        pass


def _next_rows(context: StageContext, after: int) -> list[tuple[int, str]]:
    """Pairs whose image was not dealt with yet, so that a restart and a second run go on where it stopped."""
    known = select(Image.row).where(Image.collection_id == Pair.collection_id, Image.row == Pair.row)
    rows = (
        select(Pair.row, Pair.url)
        .where(Pair.collection_id == context.collection_id, Pair.row > after, ~known.exists())
        .order_by(Pair.row)
        .limit(CHUNK)
    )
    with transaction(context.engine) as session:
        return [(row, url) for row, url in session.execute(rows)]


def _fetch(context: StageContext, fetcher: HttpFetcher, image_root: str | None, url: str) -> dict[str, Any]:
    context.lease.check()  # here too: a chunk of hosts that do not answer takes minutes
    try:
        path = local_path(url, image_root)
        if path is not None:
            data = read_file(path, context.settings.image_roots, context.settings.max_image_bytes)
        else:
            data = fetcher.get(url)
        width, height = image_size(data)
        sha256 = content_key(data)
        if path is None and not context.storage.image(sha256).exists():
            with written_whole(context.storage.image(sha256)) as file:
                file.write(data)
    except FetchError as error:
        return _outcome(ImageStatus.FAILED, error_class=error.error_class, error_message=str(error))
    except ImageError as error:
        return _outcome(ImageStatus.FAILED, error_class=FetchClass(error.reason), error_message=str(error))
    return _outcome(ImageStatus.SUCCESS, sha256=sha256, width=width, height=height)


def _outcome(status: ImageStatus, error_message: str | None = None, **known: Any) -> dict[str, Any]:
    columns = dict.fromkeys(("error_class", "sha256", "width", "height"))
    # A NUL cannot be stored, and a message may quote a hostile URL at length.
    readable = error_message and error_message.replace("\0", "\ufffd")[:500]
    return columns | known | {"status": status, "error_message": readable}


def _store(context: StageContext, outcomes: list[dict[str, Any]]) -> None:
    for outcome in outcomes:
        outcome["collection_id"] = context.collection_id
    with transaction(context.engine) as session:
        # Another run of the same collection may fetch at the same time; the first outcome stays.
        session.execute(insert(Image).on_conflict_do_nothing(), outcomes)


def _require_some(context: StageContext) -> None:
    counted = (
        select(Image.status, Image.error_class, func.count())
        .where(Image.collection_id == context.collection_id)
        .group_by(Image.status, Image.error_class)
    )
    with transaction(context.engine) as session:
        counts = session.execute(counted).all()
    if not any(status == ImageStatus.SUCCESS for status, _, _ in counts):
        classes = ", ".join(f"{error_class}: {count:,}" for _, error_class, count in counts)
        detail = f"Not one image could be read ({classes}). The messages are listed per pair with split=unscored."
        raise StageFailed("no_images", "No image could be read", detail)
