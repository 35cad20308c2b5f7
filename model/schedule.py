"""The course of the learning rate over the epochs of a training."""

import math
from collections.abc import Sequence

from model.config import RunConfig
from model.training import Phase


def rate_share(config: RunConfig, plan: Sequence[tuple[Phase, int]], at: int) -> float:
    """Share of the full learning rate in epoch `at` of the plan of (phase, epoch in it).

    As in the papers, a warm-up keeps the full rate and is not counted; fresh networks start the course anew.
    """
    if config.schedule == "constant" or not plan[at][0].is_scheduled:
        return 1.0
    begins = [number for number, (phase, epoch) in enumerate(plan) if phase.fresh_networks and epoch == 0]
    start = max((begin for begin in begins if begin <= at), default=0)
    end = min((begin for begin in begins if begin > at), default=len(plan))
    past, total = (sum(phase.is_scheduled for phase, _ in plan[start:stop]) for stop in (at, end))
    if config.schedule == "step":
        return float(0.1 ** (past // config.schedule_epochs))
    return 0.5 * (1 + math.cos(math.pi * past / total))
