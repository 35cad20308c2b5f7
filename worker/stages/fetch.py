"""Images of the pairs -> a content hash and a size each, or a class and a sentence of why not. Whatever was dealt with
before is not touched, so a restart and a second run go on where it stopped."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

from sqlalchemy import func, select, update

from model.data.rows import FileError
from model.data.source import Source
from service.db.fit import brings_features, misfit
from service.db.session import transaction
from service.db.tables import Image, Stage
from worker.fetch.features import feature_outcomes
from worker.fetch.intake import Intake, Outcome
from worker.fetch.plan import Plan, Wanted, open_plan, share_outcomes, store_outcomes
from worker.stages.context import StageContext, StageFailed
from worker.stages.run_detector import check_detector
from worker.stages.run_encoder import check_encoder
from worker.stages.source import open_collection_source

PAGE = 1000  # rows from and to the database at a time
WINDOW = 4 * PAGE  # pairs under way; most of them wait for the turn of their host, and hold nothing
TICK_SECONDS = 0.05


def run(context: StageContext) -> None:
    collection = context.collection()
    if missing := misfit(collection, context.run_config(), learns=not context.is_borrowing()):
        raise StageFailed(missing.code, missing.title, missing.detail)
    check_encoder(context)
    check_detector(context)
    with transaction(context.engine) as session:
        share_outcomes(session, context.collection_id)
    with open_plan(context.engine, context.collection_id) as plan:
        work = Pass(context, plan, collection.accepted)
        if brings_features(collection):
            _take_features(work)
        else:
            asyncio.run(_fetch(work, collection.read_options.get("image_root")))
    with transaction(context.engine) as session:
        share_outcomes(session, context.collection_id)
    counts = _counts(context)
    _require_some(counts)
    with context.lease.completing() as session:
        mine = Stage.id == context.lease.claim.stage_id
        session.execute(update(Stage).where(mine).values(message=_share(counts, collection.accepted)))


class Pass:
    """One run over the plan: what comes out of it goes to the database page by page, with the progress."""

    def __init__(self, context: StageContext, plan: Plan, total: int) -> None:
        self.context = context
        self.plan = plan
        self._total = total
        self._counts = _counts(context)

    def store(self, page: Sequence[tuple[Wanted, Outcome]]) -> None:
        if not page:
            return
        with transaction(self.context.engine) as session:
            store_outcomes(session, self.context.collection_id, page)
        for wanted, outcome in page:
            self._counts[outcome.error_class] += wanted.copies
        self.context.lease.progress(min(self._counts.total(), self._total), self._total, self._message())

    def _message(self) -> str:
        """1,200 of 5,000, 37 failed: 404 20, timeout 17"""
        failed = [(name, count) for name, count in self._counts.most_common() if name is not None]
        message = f"{self._counts.total():,} of {self._total:,}"
        if failed:
            classes = ", ".join(f"{name} {count:,}" for name, count in failed)
            message += f", {sum(count for _, count in failed):,} failed: {classes}"
        return message


async def _fetch(work: Pass, image_root: str | None) -> None:
    context = work.context
    open_source = partial(_open_source, context)
    async with Intake(context.settings, context.storage, image_root=image_root, open_source=open_source) as intake:
        crew = Crew(work, intake)
        try:
            while await crew.top_up():
                await asyncio.sleep(TICK_SECONDS)
                context.lease.check()
                await asyncio.to_thread(work.store, crew.take_results())
        finally:
            await crew.dismiss()
            await asyncio.to_thread(work.store, crew.take_results())


class Crew:
    """The tasks under way, one for each image, and what they brought."""

    def __init__(self, work: Pass, intake: Intake) -> None:
        self._work = work
        self._intake = intake
        self._tasks: set[asyncio.Task[None]] = set()
        self._results: list[tuple[Wanted, Outcome]] = []
        self._fault: BaseException | None = None
        self._is_more = True

    async def top_up(self) -> bool:
        """Start tasks while there is room and work; False once all is done. Raises what a task raised."""
        if self._fault is not None:
            raise self._fault
        if self._is_more and len(self._tasks) <= WINDOW - PAGE:
            page = await asyncio.to_thread(self._work.plan.next, PAGE)
            self._is_more = len(page) == PAGE
            for wanted in page:
                task = asyncio.create_task(self._take(wanted))
                self._tasks.add(task)
                task.add_done_callback(self._ended)
        return self._is_more or bool(self._tasks) or self._fault is not None

    def take_results(self) -> list[tuple[Wanted, Outcome]]:
        results, self._results = self._results, []
        return results

    async def dismiss(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _take(self, wanted: Wanted) -> None:
        outcome = await self._intake.take(wanted.url, wanted.place)
        self._results.append((wanted, outcome))  # not in one line: the list is another one after the wait

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._fault = task.exception()


def _take_features(work: Pass) -> None:
    features = _open_source(work.context).features().images
    while page := work.plan.next(PAGE):
        work.context.lease.check()
        work.store(list(zip(page, feature_outcomes(features, page), strict=True)))


def _open_source(context: StageContext) -> Source:
    try:
        return open_collection_source(context)
    except FileError as error:
        raise StageFailed(error.reason, "The source cannot be read again", str(error)) from error


def _counts(context: StageContext) -> Counter[str | None]:
    """Pairs by class of failure; None stands for success."""
    counted = (
        select(Image.error_class, func.count())
        .where(Image.collection_id == context.collection_id)
        .group_by(Image.error_class)
    )
    with transaction(context.engine) as session:
        counts: dict[str | None, int] = dict(iter(session.execute(counted)))
        return Counter(counts)


def _require_some(counts: Counter[str | None]) -> None:
    if not counts[None]:
        classes = ", ".join(f"{error_class}: {count:,}" for error_class, count in counts.most_common())
        detail = f"Not one image could be read ({classes}). The messages are listed per pair with split=unscored."
        raise StageFailed("no_images", "No image could be read", detail)


def _share(counts: Counter[str | None], total: int) -> str:
    share = counts[None] / total if total else 0.0
    return f"{counts[None]:,} of {total:,} images ({share:.1%})".replace("%)", " %)")
