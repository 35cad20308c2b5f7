import asyncio

import pytest

from service.config import Settings
from tests.worker.fetch.clock import FastClock
from worker.fetch import hosts as module
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.hosts import Hosts

REFUSED = FetchError(FetchClass.REFUSED, "nobody there", is_transient=True)
NOT_FOUND = FetchError(FetchClass.NOT_FOUND, "no such page", status=404)


def busy(retry_after: float | None) -> FetchError:
    return FetchError(
        FetchClass.RATE_LIMITED, "too many", status=429, is_transient=True, is_busy=True, retry_after=retry_after
    )


def make(clock: FastClock, delay: float = 0.0, at_once: int = 4, failures: int = 3) -> Hosts:
    settings = Settings(
        fetch_host_delay_seconds=delay,
        fetch_host_concurrency=at_once,
        fetch_host_failures=failures,
        fetch_max_wait_seconds=100,
    )
    return Hosts(settings, clock)


async def ask(hosts: Hosts, name: str = "a.test") -> None:
    async with hosts.turn(name):
        await asyncio.sleep(0)


class TestTurn:
    def test_no_more_than_allowed_are_inside_at_once(self) -> None:
        hosts, inside, seen = make(FastClock(), at_once=2), [0], []

        async def one() -> None:
            async with hosts.turn("a.test"):
                inside[0] += 1
                seen.append(inside[0])
                await asyncio.sleep(0)
                inside[0] -= 1

        async def many() -> None:
            await asyncio.gather(*(one() for _ in range(10)))

        asyncio.run(many())
        assert max(seen) == 2
        assert len(seen) == 10

    def test_starts_are_apart_by_the_delay(self) -> None:
        clock = FastClock()
        hosts, starts = make(clock, delay=0.5), []

        async def one() -> None:
            async with hosts.turn("a.test"):
                starts.append(clock.now())

        async def many() -> None:
            await asyncio.gather(*(one() for _ in range(6)))

        asyncio.run(many())
        assert starts == [1000.0, 1000.5, 1001.0, 1001.5, 1002.0, 1002.5]

    def test_other_hosts_do_not_wait(self) -> None:
        clock = FastClock()
        hosts = make(clock, delay=50)

        async def two() -> None:
            await ask(hosts, "a.test")
            await ask(hosts, "b.test")

        asyncio.run(two())
        assert clock.slept == []

    def test_crawl_delay_slows_a_host_down_up_to_a_cap(self) -> None:
        clock = FastClock()
        hosts = make(clock)

        async def two() -> None:
            for name, delay in (("a.test", 3.0), ("b.test", 1e9)):
                hosts.slow_down(name, delay)
                await ask(hosts, name)
                await ask(hosts, name)

        asyncio.run(two())
        assert clock.slept == [3.0, module.MAX_CRAWL_DELAY_SECONDS]


class TestFailed:
    def test_busy_host_is_left_alone_as_long_as_it_asked(self) -> None:
        clock = FastClock()
        hosts = make(clock)

        async def scenario() -> None:
            await ask(hosts)
            hosts.failed("a.test", busy(60))
            await ask(hosts)

        asyncio.run(scenario())
        assert clock.slept == [60.0]

    def test_busy_host_that_names_no_time_gets_longer_and_longer(self) -> None:
        clock = FastClock()
        hosts = make(clock, failures=9)

        async def scenario() -> None:
            for _ in range(8):
                hosts.failed("a.test", busy(None))
                await ask(hosts)

        asyncio.run(scenario())
        assert clock.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0]

    def test_host_that_asks_for_too_long_is_not_asked_again(self) -> None:
        clock = FastClock()
        hosts = make(clock)
        hosts.failed("a.test", busy(3600))
        with pytest.raises(FetchError, match=r"a\.test asks to wait 3,600 seconds and is left alone") as caught:
            asyncio.run(ask(hosts))
        assert caught.value.error_class == FetchClass.RATE_LIMITED
        assert clock.slept == []

    def test_host_is_given_up_after_failures_in_a_row(self) -> None:
        hosts = make(FastClock())
        for _ in range(3):
            asyncio.run(ask(hosts))
            hosts.failed("a.test", REFUSED)
        with pytest.raises(FetchError, match="given up for this run after 3 failures in a row; the last: nobody there"):
            asyncio.run(ask(hosts))

    @pytest.mark.parametrize("answer", ["success", "404"])
    def test_an_answer_in_between_starts_the_count_again(self, answer: str) -> None:
        hosts = make(FastClock())
        for _ in range(5):
            hosts.failed("a.test", REFUSED)
            hosts.failed("a.test", REFUSED)
            if answer == "success":
                hosts.answered("a.test")
            else:
                hosts.failed("a.test", NOT_FOUND)
        asyncio.run(ask(hosts))
        hosts.failed("a.test", REFUSED)
        hosts.failed("a.test", REFUSED)
        hosts.failed("a.test", REFUSED)
        with pytest.raises(FetchError):
            asyncio.run(ask(hosts))


class TestMemory:
    def test_hosts_not_heard_of_for_longest_are_forgotten(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_HOSTS", 10)
        hosts = make(FastClock())

        async def scenario() -> None:
            async with hosts.turn("in-use.test"):
                for number in range(50):
                    await ask(hosts, f"{number}.test")

        asyncio.run(scenario())
        kept = list(hosts._hosts)
        assert len(kept) == 10
        assert kept[0] == "in-use.test"
        assert kept[-1] == "49.test"
