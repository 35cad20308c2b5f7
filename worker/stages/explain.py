"""Scored pairs -> why each was judged as it was, and what would fit the flagged ones; kept as files until they are
published. One pass over the pairs in blocks; a stage that is taken up again begins anew."""

import os
from collections.abc import Iterator
from typing import BinaryIO

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
from worker.stages.explain_files import EXPLANATIONS_FILE, copy_line, save_explained
from worker.stages.explain_inputs import Inputs, opened
from worker.stages.explain_language import Language, main_language
from worker.stages.explain_repair import Repairer
from worker.stages.explain_report import Tally, repair_report

# Below this nothing can be learned of what words look like.
LEAST_PAIRS = 20
# A pair that nobody trusts at all would leave some words with nothing to learn from.
LEAST_TRUST = 1e-3

Floats = npt.NDArray[np.float32]


def run(context: StageContext) -> None:
    torch.set_num_threads(context.settings.threads or 1)
    use_cores(len(os.sched_getaffinity(0)))
    folder = context.storage.run(context.run_id)
    with opened(context) as given:
        count = len(given.rows)
        shifts = _shifts(context, given)
        repairer = Repairer(given)
        tally, eme = Tally(), np.full((2, count), np.nan, np.float32)
        language = main_language(given.pairs.texts or ())
        with written_whole(folder / EXPLANATIONS_FILE) as file:
            if count >= LEAST_PAIRS:
                _write(context, file, given, _fitted(context, given, language), repairer, tally, eme)
        pairs = given.pairs
        found = duplicates(given.rows, pairs.image_ids, pairs.caption_ids, given.is_flagged)
        elements = tally.report(language) if count >= LEAST_PAIRS else None
        save_explained(folder, eme, elements, repair_report(shifts, found, repairer))
    context.lease.progress(count, count)
    with context.lease.completing():
        pass


def _shifts(context: StageContext, given: Inputs) -> list[Shift]:
    if given.vectors is None:
        return []
    count = len(given.rows)

    def show(fraction: float) -> None:
        context.lease.check()
        context.lease.progress(0, count, f"looking for shifted rows, {fraction:.0%}")

    pairs = given.pairs
    return find_shifts(
        *given.vectors, given.rows, pairs.image_ids, pairs.caption_ids, given.confidence, on_progress=show
    )


def _fitted(context: StageContext, given: Inputs, language: Language) -> Explainer:
    context.lease.check()
    context.lease.progress(0, len(given.rows), "learning what captions speak of and images show")
    trust = np.maximum(given.confidence, np.float32(LEAST_TRUST))
    return Explainer.fit(given.pairs, trust, given.vectors, read=language.read, seed=given.config.seed)


def _write(
    context: StageContext,
    file: BinaryIO,
    given: Inputs,
    explainer: Explainer,
    repairer: Repairer,
    tally: Tally,
    eme: Floats,
) -> None:
    """A line for every pair; `eme` is filled on the way, hard and soft."""
    count = len(given.rows)
    for start in range(0, count, BLOCK):
        context.lease.check()
        context.lease.progress(start, count, "comparing what captions claim with what images show")
        places = np.arange(start, min(start + BLOCK, count))
        repairs = repairer.best(places)
        for place, explanation in zip(places, explainer.explain(places), strict=True):
            eme[:, place] = list(_scores(explanation))
            tally.add(explanation, bool(given.is_flagged[place]))
            elements = pack_elements(explanation.caption_elements, explanation.image_elements)
            row = int(given.rows[place])
            file.write(copy_line(context.run_id, row, elements, repairs.get(int(place))))


def _scores(explanation: Explanation) -> Iterator[float]:
    for score in (explanation.eme, explanation.eme_soft):
        yield np.nan if score is None else score
