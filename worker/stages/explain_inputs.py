"""What explanations are made of: the collection's own pairs with their captions, how far each is trusted, and both
sides as the networks see them. Known mismatches that joined the training are in none of it."""

import logging
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sqlalchemy import select

from model.checkpoint import CheckpointMismatch
from model.config import RunConfig, parse_run_config
from model.data.texts import PackedTexts
from model.encoders.base import EncoderError
from model.errors import TrainingError
from model.pairs import Pairs
from model.probes import Probes
from model.trained import Trained
from service.db.session import transaction
from service.db.tables import Pair
from service.storage import written_whole
from worker.stages.borrow import CHECKPOINTS
from worker.stages.context import StageContext, lift_time_limit
from worker.stages.results import load_report, load_scores
from worker.stages.run_encoder import choose_encoder
from worker.stages.train import PROBES_FILE, load_pairs

log = logging.getLogger(__name__)

TEXTS_FILE = "explain-captions.utf8"  # only while the stage runs
READ_CHUNK = 10_000


@dataclass(frozen=True)
class Inputs:
    rows: npt.NDArray[np.int64]  # line numbers
    pairs: Pairs  # with texts
    confidence: npt.NDArray[np.float32]
    is_flagged: npt.NDArray[np.bool_]
    vectors: tuple[Any, Any] | None  # images and captions in one space; None where no network gives one
    config: RunConfig  # of the networks
    encode_texts: Callable[[list[str]], npt.NDArray[np.floating]] | None  # of the encoder that made both sides


@contextmanager
def opened(context: StageContext) -> Iterator[Inputs]:
    folder = context.storage.run(context.run_id)
    rows, pairs = load_pairs(context)
    scored, scores = load_scores(folder)
    if not np.array_equal(rows, scored):
        raise RuntimeError("the scores are of other rows than the pairs")
    recipe = load_report(folder)["recipe"]
    config = parse_run_config({name: value for name, value in recipe.items() if name != "why"})
    texts = folder / TEXTS_FILE
    try:
        if pairs.texts is None:
            pairs = replace(pairs, texts=_packed(context, texts, rows))
        vectors = _vectors(_trained(context, folder, config), pairs)
        yield Inputs(rows, pairs, scores.clean_confidence, ~scores.is_clean, vectors, config, _prompter(context, pairs))
    finally:
        texts.unlink(missing_ok=True)


def _packed(context: StageContext, path: Path, rows: npt.NDArray[np.int64]) -> PackedTexts:
    """The captions of these ascending rows, on disk."""
    ends, end, place = array("q"), 0, 0
    chosen = select(Pair.row, Pair.caption).where(Pair.collection_id == context.collection_id).order_by(Pair.row)
    with transaction(context.engine) as session, written_whole(path) as file:
        lift_time_limit(session)
        for row, caption in session.execute(chosen, execution_options={"yield_per": READ_CHUNK}):
            if place < len(rows) and row == rows[place]:
                end += file.write(caption.encode())
                ends.append(end)
                place += 1
    if place != len(rows):
        raise RuntimeError(f"{place:,} captions were found for {len(rows):,} pairs")
    return PackedTexts(path, np.array(ends, np.int64))


def _trained(context: StageContext, folder: Path, config: RunConfig) -> Trained | None:
    """The run's own networks, or those it borrowed where they are still there."""
    if not context.is_borrowing():
        return _networks(folder, config)
    lender = context.run().model_run_id
    if lender is None:
        return None
    try:
        return _networks(context.storage.run(lender), config)
    except (OSError, TrainingError, CheckpointMismatch) as error:
        log.warning("run %s: explained without the networks it borrowed: %s", context.run_id, error)
        return None


def _networks(folder: Path, config: RunConfig) -> Trained:
    learned = len(load_scores(folder)[0]) + len(Probes.load(folder / PROBES_FILE))
    return Trained.load(folder / CHECKPOINTS, config, learned, "cuda" if torch.cuda.is_available() else "cpu")


def _vectors(trained: Trained | None, pairs: Pairs) -> tuple[Any, Any] | None:
    if trained is not None and trained.gives_vectors:
        images, captions = trained.sources(pairs)
        return trained.vectors(0, images), trained.vectors(1, captions)
    return (pairs.images, pairs.captions) if pairs.is_joint else None


def _prompter(context: StageContext, pairs: Pairs) -> Callable[[list[str]], npt.NDArray[np.floating]] | None:
    """A joint encoder can say itself what a word looks like; what came with the upload names no encoder to ask."""
    if not pairs.is_joint:
        return None
    try:
        encoder, features = choose_encoder(context)
    except EncoderError as error:
        log.warning("run %s: explained without prompts: %s", context.run_id, error)
        return None
    return None if encoder is None or features.images.encoder is None else encoder.encode_captions
