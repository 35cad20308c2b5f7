"""Features of the collection's pairs -> trained networks, checkpointed every epoch in the run's folder."""

import os

import numpy as np
import numpy.typing as npt
import torch

from model.config import MIN_PAIRS
from model.engine import Engine, Progress, Stopped, TrainingError
from model.neighbours import use_cores
from model.pairs import Pairs
from model.probes import Probes, make_probes, with_probes
from model.trust import adviser
from service.db.fit import brings_features, chosen_encoder
from worker import lease
from worker.stages.context import StageContext, StageFailed
from worker.stages.frozen import PAIRS_FILE, freeze_pairs, load_frozen
from worker.stages.run_features import open_features

PROBES_FILE = "probes.npz"
JOINT_FORMATS = ("clip-retrieval", "datacomp")  # features of CLIP, both sides
STEPS = 1_000  # progress is shown in thousandths


def run(context: StageContext) -> None:
    folder = context.storage.run(context.run_id)
    if not (folder / PAIRS_FILE).exists():
        freeze_pairs(context, folder)
    _, pairs = load_pairs(context)
    _need_enough(pairs)
    probes = make_probes(pairs, context.run_config().probe_share, context.run_config().seed)
    probes.save(folder / PROBES_FILE)
    try:
        make_engine(context, with_probes(pairs, probes), probes).fit()
    except Stopped:
        raise lease.Stopped(context.lease.stop_cause) from None
    except TrainingError as error:
        raise StageFailed("training_failed", "Training did not succeed", str(error)) from error
    with context.lease.completing():
        pass


def load_learned(context: StageContext) -> tuple[npt.NDArray[np.int64], Pairs, Probes]:
    """Rows of the collection's pairs; what the networks learned from, which is these and behind them the probes."""
    rows, pairs = load_pairs(context)
    probes = Probes.load(context.storage.run(context.run_id) / PROBES_FILE)
    return rows, with_probes(pairs, probes), probes


def make_engine(context: StageContext, pairs: Pairs, probes: Probes) -> Engine:
    """`pairs` with these probes behind them."""
    # One thread for each network: they are small, and two threads for one of them were slower (31 s against 24 s for
    # 4,000 pairs on two idle cores). Set in every stage, as products differ in their last digit with the number.
    torch.set_num_threads(context.settings.threads or 1)
    use_cores(len(os.sched_getaffinity(0)))

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
        is_concurrent=len(os.sched_getaffinity(0)) > 1,
        adviser=adviser(pairs, probes),
    )


def load_pairs(context: StageContext) -> tuple[npt.NDArray[np.int64], Pairs]:
    """The frozen pairs with their features; rows are line numbers of the uploaded file."""
    frozen = load_frozen(context.storage.run(context.run_id))
    if not len(frozen.rows):
        raise _too_few(0)
    images, captions = open_features(context, frozen)
    pairs = Pairs(
        images,
        captions,
        _content_ids(frozen.image_keys),
        _content_ids(frozen.caption_keys),
        frozen.texts,
        frozen.labels,
        frozen.anchors,
        is_joint=images.shape[1:] == captions.shape[1:] and _is_joint(context),
    )
    return frozen.rows, pairs


def _is_joint(context: StageContext) -> bool:
    """Whether one encoder made both sides, in one space if they have one width."""
    collection, config = context.collection(), context.run_config()
    if brings_features(collection):
        return (collection.format or {}).get("format") in JOINT_FORMATS
    return chosen_encoder(collection, config).startswith("open_clip:") and not config.regions


def _content_ids(keys: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Small numbers that are equal where the content is equal."""
    _, ids = np.unique(np.ascontiguousarray(keys).view("V32").ravel(), return_inverse=True)
    return ids.astype(np.int64)


def _need_enough(pairs: Pairs) -> None:
    """Before probes join: a training on little but these would succeed, and mean nothing."""
    count = len(pairs)
    if count < MIN_PAIRS:
        raise _too_few(count)
    refused = 0 if pairs.anchors is None else int(np.count_nonzero(pairs.anchors < 0))
    if count - refused < MIN_PAIRS:
        raise _too_few_left(count, refused)


def _too_few(count: int) -> StageFailed:
    return StageFailed(
        "too_few_pairs",
        "Too few pairs to train",
        f"{count} pairs have a readable image; training needs at least {MIN_PAIRS}. "
        "The reasons are listed per pair with status=failed.",
    )


def _too_few_left(count: int, refused: int) -> StageFailed:
    return StageFailed(
        "too_few_pairs",
        "Reviews leave too few pairs to train",
        f"Reviews call {refused:,} of {count:,} pairs with a readable image a mismatch. Nothing is learned from these, "
        f"which leaves {count - refused:,}; training needs at least {MIN_PAIRS}. Change or delete some of these "
        "reviews, and start a new run.",
    )
