"""Politeness: how many requests a host gets at once and how soon after one another, when it is left alone for a
while, and when it is given up for the rest of the run."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from service.config import Settings
from worker.fetch.clock import Clock
from worker.fetch.errors import FetchError

MAX_HOSTS = 50_000  # remembered at once; those not heard of for longest are forgotten
MAX_CRAWL_DELAY_SECONDS = 10.0
BACK_OFF_SECONDS = 1.0  # doubled with every failure


@dataclass(eq=False)
class Host:
    gate: asyncio.Semaphore
    delay: float
    next_start: float = 0.0
    users: int = 0
    failures: int = 0  # in a row
    given_up: FetchError | None = None


class Hosts:
    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._hosts: OrderedDict[str, Host] = OrderedDict()

    @asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        """Inside, one request may be made. FetchError if the host was given up."""
        host = self._host(name)
        host.users += 1
        try:
            _refuse_if_given_up(host)  # here too: thousands of tasks need not line up for nothing
            async with host.gate:
                await self._wait(host)
                yield
        finally:
            host.users -= 1

    def slow_down(self, name: str, crawl_delay: float) -> None:
        host = self._host(name)
        host.delay = max(host.delay, min(crawl_delay, MAX_CRAWL_DELAY_SECONDS))

    def answered(self, name: str) -> None:
        self._host(name).failures = 0

    def failed(self, name: str, error: FetchError) -> None:
        host = self._host(name)
        if not error.is_of_host:
            host.failures = 0
            return
        host.failures += 1
        wait = self._wait_after(host, error) if error.is_busy else 0.0
        host.next_start = max(host.next_start, self._clock.now() + wait)
        if wait > self._settings.fetch_max_wait_seconds:
            self._give_up(host, error, f"{name} asks to wait {wait:,.0f} seconds and is left alone for this run")
        elif host.failures >= self._settings.fetch_host_failures:
            self._give_up(host, error, f"{name} is given up for this run after {host.failures} failures in a row")

    def back_off(self, attempt: int) -> float:
        return float(BACK_OFF_SECONDS * 2**attempt * self._clock.jitter())

    def _wait_after(self, host: Host, error: FetchError) -> float:
        """What the host asked for; if it said nothing, longer from time to time, but never so long as to give up."""
        if error.retry_after is not None:
            return error.retry_after
        return min(self.back_off(host.failures - 1), self._settings.fetch_max_wait_seconds)

    async def _wait(self, host: Host) -> None:
        while (ahead := host.next_start - self._clock.now()) > 0:
            await self._clock.sleep(ahead)
            _refuse_if_given_up(host)
        _refuse_if_given_up(host)
        host.next_start = self._clock.now() + host.delay

    def _give_up(self, host: Host, error: FetchError, why: str) -> None:
        if host.given_up is None:
            host.given_up = FetchError(error.error_class, f"{why}; the last: {error}")

    def _host(self, name: str) -> Host:
        host = self._hosts.get(name)
        if host is None:
            gate = asyncio.Semaphore(self._settings.fetch_host_concurrency)
            host = self._hosts[name] = Host(gate, self._settings.fetch_host_delay_seconds)
            self._forget_old()
        self._hosts.move_to_end(name)
        return host

    def _forget_old(self) -> None:
        while len(self._hosts) > MAX_HOSTS:
            idle = next((name for name, host in self._hosts.items() if not host.users), None)
            if idle is None:
                return
            del self._hosts[idle]


def _refuse_if_given_up(host: Host) -> None:
    if host.given_up is not None:
        raise FetchError(host.given_up.error_class, str(host.given_up))
