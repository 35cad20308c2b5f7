"""Features of the collection's pairs -> trained networks, checkpointed every epoch in the run's folder."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from sqlalchemy import select

from model.config import MIN_PAIRS
from model.engine import Engine, Progress, Stopped, TrainingError
from model.features import content_key, stack_keys
from model.pairs import Pairs
from service.db.session import transaction
from service.db.states import ImageStatus
from service.db.tables import Image, Pair
from service.storage import written_whole
from worker import lease
from worker.stages.context import StageContext, StageFailed, lift_time_limit
from worker.stages.encode import make_stores, read_features_file

# Which pairs take part, frozen when training starts: a later retry of failed images must not move them.
PAIRS_FILE = "pairs.npz"
READ_CHUNK = 10_000
STEPS = 1_000  # progress is shown in thousandths


def run(context: StageContext) -> None:
    folder = context.storage.run(context.run_id)
    if not (folder / PAIRS_FILE).exists():
        _freeze_pairs(context, folder / PAIRS_FILE)
    _, pairs = load_pairs(context)
    if len(pairs.image_ids) < MIN_PAIRS:
        raise _too_few(len(pairs.image_ids))
    try:
        make_engine(context, pairs).fit()
    except Stopped:
        raise lease.Stopped(context.lease.stop_cause) from None
    except TrainingError as error:
        raise StageFailed("training_failed", "Training did not succeed", str(error)) from error
    with context.lease.completing():
        pass


def make_engine(context: StageContext, pairs: Pairs) -> Engine:
    # One thread by default: the networks are small, and two were slower (31 s against 24 s for 4,000 pairs on two
    # idle cores), besides getting in the way of everything else on the machine.
    torch.set_num_threads(context.settings.threads or 1)

    def show(progress: Progress) -> None:
        message = f"{progress.phase}, epoch {progress.epoch} of {progress.epochs}"
        context.lease.progress(round(progress.fraction * STEPS), STEPS, message)

    return Engine(
        pairs,
        context.run_config(),
        folder=context.storage.run(context.run_id) / "checkpoints",
        device="cuda" if torch.cuda.is_available() else "cpu",
        on_progress=show,
        should_stop=context.lease.should_stop,
    )


def load_pairs(context: StageContext) -> tuple[npt.NDArray[np.int64], Pairs]:
    """The frozen pairs with their features; rows are line numbers of the uploaded file."""
    with np.load(context.storage.run(context.run_id) / PAIRS_FILE, allow_pickle=False) as arrays:
        rows, image_keys, caption_keys = arrays["row"], arrays["image_key"], arrays["caption_key"]
    if not len(rows):
        raise _too_few(0)
    images, captions = make_stores(context.storage, read_features_file(context.storage.run(context.run_id)))
    views = images.view(image_keys), captions.view(caption_keys)
    return rows, Pairs(*views, _content_ids(image_keys), _content_ids(caption_keys))


def _freeze_pairs(context: StageContext, path: Path) -> None:
    chosen = (
        select(Pair.row, Image.sha256, Pair.caption)
        .join(Image, (Image.collection_id == Pair.collection_id) & (Image.row == Pair.row))
        .where(Pair.collection_id == context.collection_id, Image.status == ImageStatus.SUCCESS)
        .order_by(Pair.row)
    )
    rows: list[int] = []
    image_keys, caption_keys = bytearray(), bytearray()
    with transaction(context.engine) as session:
        lift_time_limit(session)
        for row, sha256, caption in session.execute(chosen, execution_options={"yield_per": READ_CHUNK}):
            rows.append(row)
            image_keys += sha256 or b""
            caption_keys += content_key(caption.encode())
    with written_whole(path) as file:
        np.savez(
            file,
            row=np.array(rows, np.int64),
            image_key=stack_keys([bytes(image_keys)]),
            caption_key=stack_keys([bytes(caption_keys)]),
        )


def _content_ids(keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Small numbers that are equal where the content is equal."""
    _, ids = np.unique(np.ascontiguousarray(keys).view("V32").ravel(), return_inverse=True)
    return ids.astype(np.int64)


def _too_few(count: int) -> StageFailed:
    return StageFailed(
        "too_few_pairs",
        "Too few pairs to train",
        f"{count} pairs have a readable image; training needs at least {MIN_PAIRS}. "
        "The reasons are listed per pair with status=failed.",
    )
