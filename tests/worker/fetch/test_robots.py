import asyncio

import pytest
from yarl import URL

from tests.worker.fetch.clock import FastClock
from worker.fetch import robots as module
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.robots import Robots, Rules

PAGE = URL("http://a.test/private/x.jpg")


class Hosts:
    """What the origins answer when they are asked for robots.txt."""

    def __init__(self, answer: bytes | FetchError) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def read(self, url: URL) -> bytes:
        self.asked.append(str(url))
        await asyncio.sleep(0)
        if isinstance(self.answer, FetchError):
            raise self.answer
        return self.answer


def check(answer: bytes | FetchError, url: URL = PAGE) -> Rules:
    return asyncio.run(Robots(FastClock(), Hosts(answer).read).check(url))


def failed(error_class: FetchClass, status: int | None = None) -> FetchError:
    return FetchError(error_class, f"it failed: {error_class}", status=status)


class TestCheck:
    @pytest.mark.parametrize(
        "text",
        [
            b"User-agent: *\nDisallow: /private/",
            b"\xef\xbb\xbfUser-agent: *\nDisallow: /",
            b"User-agent: pairsift\nDisallow: /*.jpg$\n\nUser-agent: *\nAllow: /",
            b"User-agent: other\nUser-agent: PairSift\nDisallow: /private",
            b"user agent pairsift\ndisallow /private",
        ],
    )
    def test_what_is_forbidden_to_us_is_not_asked_for(self, text: bytes) -> None:
        with pytest.raises(FetchError, match=r"robots\.txt of a\.test does not allow") as caught:
            check(text)
        assert caught.value.error_class == FetchClass.ROBOTS

    @pytest.mark.parametrize(
        "text",
        [
            b"",
            b"User-agent: *\nDisallow: /other/",
            b"User-agent: otherbot\nDisallow: /",
            b"User-agent: *\nDisallow: /\n\nUser-agent: pairsift\nAllow: /",
            b"<html>what robots?</html>",
            b"\xff\xfe\x00garbage",
        ],
    )
    def test_everything_else_is_allowed(self, text: bytes) -> None:
        assert check(text).why_forbidden is None

    @pytest.mark.parametrize(
        "error",
        [
            failed(FetchClass.NOT_FOUND, 404),
            failed(FetchClass.FORBIDDEN, 403),
            failed(FetchClass.HTTP_STATUS, 410),
            failed(FetchClass.TOO_MANY_REDIRECTS),
        ],
    )
    def test_a_missing_file_allows_everything(self, error: FetchError) -> None:
        assert check(error).parsed is None

    @pytest.mark.parametrize(
        "error",
        [
            failed(FetchClass.HTTP_STATUS, 503),
            failed(FetchClass.HTTP_STATUS, 500),
            failed(FetchClass.RATE_LIMITED, 429),
            failed(FetchClass.UNREADABLE),
        ],
    )
    def test_a_host_that_cannot_say_forbids_everything_for_now(self, error: FetchError) -> None:
        with pytest.raises(FetchError, match=r"robots\.txt of a\.test could not be read, which forbids all") as caught:
            check(error)
        assert caught.value.error_class == FetchClass.ROBOTS

    @pytest.mark.parametrize("error_class", [FetchClass.DNS, FetchClass.REFUSED, FetchClass.TIMEOUT, FetchClass.TLS])
    def test_a_host_that_is_not_there_keeps_its_own_class(self, error_class: FetchClass) -> None:
        with pytest.raises(FetchError) as caught:
            check(failed(error_class))
        assert caught.value.error_class == error_class

    def test_crawl_delay_is_given(self) -> None:
        assert check(b"User-agent: *\nCrawl-delay: 2.5").crawl_delay == 2.5
        assert check(b"").crawl_delay == 0.0

    def test_many_agents_with_many_rules_take_no_memory_of_their_product(self) -> None:
        """In 200 kB, 10,000 agents by 5,000 rules are 50 million, if every agent gets its own list."""
        agents = b"".join(b"User-agent: %d\n" % number for number in range(10_000))
        rules = b"".join(b"Disallow: /%d\n" % number for number in range(5_000))
        parsed = check(agents + rules, URL("http://a.test/1")).parsed
        assert parsed is not None
        assert len(parsed._user_agents) == 1


class TestCache:
    def test_an_origin_is_asked_once_for_many_at_a_time(self) -> None:
        hosts = Hosts(b"")
        robots = Robots(FastClock(), hosts.read)

        async def many() -> None:
            await asyncio.gather(*(robots.check(URL(f"http://a.test/{number}.jpg")) for number in range(20)))

        asyncio.run(many())
        assert hosts.asked == ["http://a.test/robots.txt"]

    def test_scheme_and_port_make_another_origin(self) -> None:
        hosts = Hosts(b"")
        robots = Robots(FastClock(), hosts.read)

        async def three() -> None:
            for url in ("http://a.test/1", "https://a.test/1", "http://a.test:8080/1"):
                await robots.check(URL(url))

        asyncio.run(three())
        assert len(hosts.asked) == 3

    def test_a_host_that_could_not_say_is_asked_again_later(self) -> None:
        clock, hosts = FastClock(), Hosts(failed(FetchClass.HTTP_STATUS, 503))
        robots = Robots(clock, hosts.read)
        for _ in range(2):
            with pytest.raises(FetchError):
                asyncio.run(robots.check(PAGE))
        hosts.answer = b""
        clock.time += module.BAD_SECONDS
        asyncio.run(robots.check(PAGE))
        assert len(hosts.asked) == 2

    def test_what_is_kept_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "MAX_CACHED_BYTES", 1000)
        hosts = Hosts(b"#" * 300)
        robots = Robots(FastClock(), hosts.read)

        async def many() -> None:
            for number in (*range(20), 19, 0):
                await robots.check(URL(f"http://{number}.test/a"))

        asyncio.run(many())
        assert len(robots._known) == 3
        assert len(hosts.asked) == 21  # the first of all was forgotten, the last was not
