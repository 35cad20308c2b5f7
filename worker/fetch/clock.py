"""All waiting of the fetcher and its only dice, in one place, so that a test can let hours pass at once."""

import asyncio
import random
import time


class Clock:
    def now(self) -> float:
        """Seconds from some beginning; never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, to compare with the dates that hosts name."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def jitter(self) -> float:
        """Between 0.5 and 1.5, so that what failed together does not come back together."""
        return 0.5 + random.random()
