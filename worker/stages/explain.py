"""Scored pairs -> why each was judged as it was, and what would fit the flagged ones; kept as files until they are
published. One pass over the pairs in blocks; a stage that is taken up again begins anew, except for what a detector
has seen."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import numpy as np
import numpy.typing as npt
import torch

from model.elements.eme import Explanation
from model.elements.explain import BLOCK, Explainer
from model.neighbours import use_cores
from model.repair.duplicates import duplicates
from model.repair.shifts import Shift, find_shifts
from service.db.explanations import pack_elements
from service.storage import written_whole
from worker.stages.context import StageContext
from worker.stages.explain_detect import Detections, detections
from worker.stages.explain_files import EXPLANATIONS_FILE, copy_line, save_explained
from worker.stages.explain_inputs import Inputs, opened
from worker.stages.explain_language import main_language
from worker.stages.explain_repair import Repairs
from worker.stages.explain_report import Tally, repair_report

# Below this nothing can be learned of what words look like.
LEAST_PAIRS = 20
# A pair that nobody trusts at all would leave some words with nothing to learn from.
LEAST_TRUST = 1e-3

Floats = npt.NDArray[np.float32]
Show = Callable[[int, str], None]  # how many pairs are done, and what is being done
Explain = Callable[[npt.NDArray[np.int64]], list[Explanation]]  # pairs by their places


def run(context: StageContext) -> None:
    torch.set_num_threads(context.settings.threads or 1)
    use_cores(len(os.sched_getaffinity(0)))
    with opened(context) as given, detections(context, given) as seen:
        count = len(given.rows)

        def show(done: int, message: str) -> None:
            context.lease.check()
            context.lease.progress(done, count, message)

        explain(given, context.storage.run(context.run_id), context.run_id, show, seen)
    context.lease.progress(count, count)
    with context.lease.completing():
        pass


def explain(given: Inputs, folder: Path, run_id: UUID, show: Show, seen: Detections | None = None) -> None:
    """Everything but the job around it: what is given -> files in the folder."""
    count, pairs = len(given.rows), given.pairs
    shifts, repairs = _shifts(given, show), Repairs(given, partial(show, 0))
    eme, elements = np.full((2, count), np.nan, np.float32), None
    with written_whole(folder / EXPLANATIONS_FILE) as file:
        if count >= LEAST_PAIRS:
            show(0, "learning what captions speak of and images show")
            language, tally = main_language(pairs.texts or ()), Tally()
            explainer = Explainer.fit(
                pairs,
                np.maximum(given.confidence, np.float32(LEAST_TRUST)),
                given.vectors,
                read=language.read,
                encode_texts=given.encode_texts,
                seed=given.config.seed,
            )
            line = partial(copy_line, run_id)
            _write(file, line, given, partial(_explained, explainer, seen), repairs, tally, eme, show)
            elements = tally.report(language, seen.report() if seen else None)
    repeated = duplicates(given.rows, pairs.image_ids, pairs.caption_ids, given.is_flagged)
    save_explained(folder, eme, elements, repair_report(shifts, repeated, repairs))


def _shifts(given: Inputs, show: Show) -> list[Shift]:
    if given.vectors is None:
        return []
    ids = given.pairs.image_ids, given.pairs.caption_ids

    def progressed(fraction: float) -> None:
        show(0, f"looking for shifted rows, {fraction:.0%}")

    return find_shifts(*given.vectors, given.rows, *ids, given.confidence, on_progress=progressed)


def _explained(explainer: Explainer, seen: Detections | None, places: npt.NDArray[np.int64]) -> list[Explanation]:
    return explainer.explain(places, seen.of(places) if seen else None)


def _write(
    file: BinaryIO,
    line: Callable[[int, dict[str, Any], dict[str, Any] | None], bytes],
    given: Inputs,
    explain: Explain,
    repairs: Repairs,
    tally: Tally,
    eme: Floats,
    show: Show,
) -> None:
    """A line for every pair; `eme` is filled on the way, hard and soft."""
    count = len(given.rows)
    for start in range(0, count, BLOCK):
        show(start, "comparing what captions claim with what images show")
        places = np.arange(start, min(start + BLOCK, count))
        for place, explanation in zip(places.tolist(), explain(places), strict=True):
            scores = explanation.eme, explanation.eme_soft
            eme[:, place] = [np.nan if score is None else score for score in scores]
            tally.add(explanation, bool(given.is_flagged[place]))
            elements = pack_elements(explanation.caption_elements, explanation.image_elements)
            file.write(line(int(given.rows[place]), elements, repairs.of(place)))
