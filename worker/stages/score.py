"""Trained networks -> one set of scores and what a report shows of them, kept as files until they are published."""

from model.trust import judge
from worker.stages import borrow
from worker.stages.context import StageContext
from worker.stages.results import save_report, save_scores
from worker.stages.train import load_learned, load_pairs, make_engine

STEPS = 1_000


def run(context: StageContext) -> None:
    if context.is_borrowing():
        borrow.run(context)
        return
    folder = context.storage.run(context.run_id)
    rows, pairs, probes = load_learned(context)
    engine = make_engine(context, pairs, probes)
    engine.fit()  # finished in the stage before: loads the last checkpoint
    verdict, scores = None, engine.scores()
    if len(probes):

        def show(fraction: float) -> None:
            context.lease.check()
            context.lease.progress(round(fraction * STEPS), STEPS, "comparing with neighbours and known mismatches")

        verdict = judge(engine, pairs, probes, show)
        scores = verdict.scores
    save_scores(folder, rows, scores)
    save_report(folder, engine.config, engine.reasons, scores, verdict)
    borrow.lend(folder, engine.config, load_pairs(context)[1], len(pairs), scores.clean_confidence)
    context.lease.progress(STEPS, STEPS)
    with context.lease.completing():
        pass
