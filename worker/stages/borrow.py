"""Networks of one run for the pairs of another. `lend` keeps what judging needs, at the end of a run's own scoring;
`run` is the score stage of a run that borrows: new pairs -> scores and what a report shows of them."""

import logging
import os
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from model.checkpoint import CheckpointMismatch
from model.config import RunConfig
from model.errors import TrainingError
from model.judge import Judge
from model.pairs import Pairs
from model.trained import Trained
from model.transfer import LEAST_CALIBRATED, Judgement, judge_new
from service.storage import written_whole
from worker.stages.context import StageContext, StageFailed
from worker.stages.frozen import PAIRS_FILE, freeze_pairs
from worker.stages.results import save_report, save_scores
from worker.stages.run_features import RunFeatures
from worker.stages.train import load_pairs

log = logging.getLogger(__name__)

JUDGE_FILE = "judge.npz"
REFUSAL_FILE = "cannot_judge.txt"  # why there is no judge; published with the run
CHECKPOINTS = "checkpoints"  # the folder that the train stage writes
STEPS = 1_000


def lend(folder: Path, config: RunConfig, pairs: Pairs, learned: int, confidence: npt.NDArray[np.float32]) -> None:
    """`config` is the one that was trained with, `pairs` are the collection's own; `learned` counts the probes too."""
    trained = Trained.load(folder / CHECKPOINTS, config, learned, _device())
    try:
        judge = Judge.fit(trained, pairs, confidence)
    except TrainingError as error:
        log.warning("%s: these networks cannot be lent: %s", folder, error)  # the run itself is as good as any
        with written_whole(folder / REFUSAL_FILE) as file:
            file.write(str(error).encode())
        return
    with written_whole(folder / JUDGE_FILE) as file:
        judge.save(file, learned)


def why_not_lent(folder: Path) -> str | None:
    """Known when the run is published, so that nobody uploads new pairs in vain."""
    refusal = folder / REFUSAL_FILE
    return refusal.read_text() if refusal.exists() else None


def run(context: StageContext) -> None:
    folder = context.storage.run(context.run_id)
    lender = _lender(context)
    torch.set_num_threads(context.settings.threads or 1)
    if not (folder / PAIRS_FILE).exists():
        freeze_pairs(context, folder)
    rows, pairs = load_pairs(context)

    def show(fraction: float) -> None:
        context.lease.check()
        context.lease.progress(round(fraction * STEPS), STEPS, "comparing with the pairs that were learned")

    try:
        judge = Judge.load(lender / JUDGE_FILE, lender / CHECKPOINTS, _device())
    except (OSError, TrainingError, CheckpointMismatch) as error:
        # Where the server keeps its files is no business of its users.
        told = str(error).replace(f"{lender}{os.sep}", "")
        raise _gone(f"its files cannot be read: {told}") from error
    try:
        judgement = judge_new(judge, pairs, show)
    except TrainingError as error:
        raise _unlike(str(error)) from error
    verdict, config = judgement.verdict, judge.witnesses.trained.config
    save_scores(folder, rows, verdict.scores)
    save_report(folder, config, _reasons(judgement, len(pairs)), verdict.scores, verdict, judgement.drift)
    context.lease.progress(STEPS, STEPS)
    with context.lease.completing():
        pass


def _lender(context: StageContext) -> Path:
    """The folder of the run whose networks judge."""
    model_run_id = context.run().model_run_id
    if model_run_id is None:
        raise _gone("it was deleted")
    lender = context.storage.run(model_run_id)
    if not (lender / JUDGE_FILE).exists():
        raise _gone(f"the worker finds no {JUDGE_FILE} of it")
    own, learned = RunFeatures.load(context.storage.run(context.run_id)), RunFeatures.load(lender)
    if own != learned:
        raise _unlike(f"the run learned from {_words(learned)}, the new pairs have {_words(own)}")
    return lender


def _reasons(judgement: Judgement, count: int) -> list[str]:
    trained = "nothing was trained: the networks are those of another run"
    if judgement.is_calibrated:
        return [trained, "the confidence is calibrated on the new pairs, with mismatches made of them"]
    if count < LEAST_CALIBRATED:
        why = f"too few pairs to calibrate ({count:,}, and at least {LEAST_CALIBRATED} are needed)"
    else:
        why = "the images or captions are too much alike to make mismatches of them, so nothing could be calibrated"
    return [
        trained,
        f"{why}: the confidence is that of the run that was trained, and a little too low, as its own pairs were "
        "learned and these were not",
    ]


def _words(features: RunFeatures) -> str:
    sides = (("images", features.images), ("captions", features.captions))
    return " and ".join(f"{name} of {side.encoder or 'the upload'} {side.shape or ''}".strip() for name, side in sides)


def _device() -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def _gone(why: str) -> StageFailed:
    detail = f"The run whose networks were to judge these pairs is of no use any more: {why}. Start a run of its own."
    return StageFailed("model_gone", "The networks are gone", detail)


def _unlike(why: str) -> StageFailed:
    return StageFailed("features_do_not_fit", "The networks cannot read these pairs", f"{why}.")
