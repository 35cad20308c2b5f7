"""A clock on which hours pass at once; it notes every wait."""

import asyncio

from worker.fetch.clock import Clock

WALL = 1_800_000_000.0  # 2027-01-15 08:00:00 UTC


class FastClock(Clock):
    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return WALL

    async def sleep(self, seconds: float) -> None:
        end = self.time + seconds
        self.slept.append(seconds)
        await asyncio.sleep(0)
        self.time = max(self.time, end)

    def jitter(self) -> float:
        return 1.0
