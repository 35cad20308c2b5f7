"""The http fetcher against a real server on loopback that plays all kinds of hosts."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest
import trustme

from service.config import Settings
from tests.worker.fetch.clock import FastClock
from tests.worker.fetch_server import FetchServer, fetch_server, jpeg
from worker.fetch import client, guard
from worker.fetch.client import HttpFetcher, user_agent
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.resolver import CheckedResolver, make_connector

CAP = 100_000
OPEN = Settings(
    fetch_private_addresses=True,
    max_image_bytes=CAP,
    fetch_timeout_seconds=5,
    fetch_host_delay_seconds=0,
    fetch_respect_robots=False,
    fetch_retries=0,
)
IMPATIENT = OPEN.model_copy(update={"fetch_timeout_seconds": 0.3})
PERSISTENT = OPEN.model_copy(update={"fetch_retries": 2})
POLITE = OPEN.model_copy(update={"fetch_respect_robots": True})
GUARDED = OPEN.model_copy(update={"fetch_private_addresses": False})


@pytest.fixture(scope="module")
def running() -> Iterator[FetchServer]:
    with fetch_server() as server:
        yield server


@pytest.fixture
def host(running: FetchServer) -> FetchServer:
    running.hits.clear()
    running.agents.clear()
    running.most_at_once, running.robots = 0, (404, "")
    return running


def get_all(settings: Settings, urls: list[str], **parts: Any) -> list[bytes | FetchError]:
    async def one(fetcher: HttpFetcher, url: str) -> bytes | FetchError:
        async with AsyncExitStack() as held:
            try:
                return await fetcher.get(url, held)
            except FetchError as error:
                return error

    async def all_of_them() -> list[bytes | FetchError]:
        async with HttpFetcher(settings, **parts) as fetcher:
            return await asyncio.gather(*(one(fetcher, url) for url in urls))

    return asyncio.run(all_of_them())


def get(settings: Settings, url: str, **parts: Any) -> bytes:
    answer = get_all(settings, [url], **parts)[0]
    assert isinstance(answer, bytes), answer
    return answer


def failure(settings: Settings, url: str, **parts: Any) -> FetchError:
    answer = get_all(settings, [url], **parts)[0]
    assert isinstance(answer, FetchError)
    return answer


def class_of(settings: Settings, url: str, **parts: Any) -> FetchClass:
    return failure(settings, url, **parts).error_class


class Names:
    """A name server that gives one list of addresses after the other, and the last one for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def look_up(self, host: str, port: int, **_: object) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


class TestGet:
    def test_bytes_arrive(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.url}/image/1.jpg") == jpeg(1)

    def test_compressed_bytes_are_unpacked(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.url}/packed") == jpeg(4)

    def test_content_type_is_not_believed(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.url}/typed") == jpeg(1)

    def test_host_header_is_the_name_not_the_address(self, host: FetchServer) -> None:
        answer = get(OPEN, f"{host.at('a.test')}/echo/Host", look_up=Names(["127.0.0.1"]).look_up)
        assert answer == f"a.test:{host.port}".encode()

    def test_hosts_learn_who_asks_and_whom_to_write_to(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_contact": "mailto:data@lab.example"})
        get(settings, f"{host.url}/image/1.jpg")
        (agent,) = host.agents
        assert agent == user_agent("mailto:data@lab.example")
        assert agent.startswith("pairsift/")
        assert agent.endswith(" (+mailto:data@lab.example)")

    def test_odd_spelling_of_an_address_is_understood(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.at('127.1')}/image/1.jpg") == jpeg(1)

    @pytest.mark.parametrize(("status", "expected"), [(403, "403"), (404, "404"), (429, "429"), (500, "http_status")])
    def test_statuses_have_classes(self, host: FetchServer, status: int, expected: str) -> None:
        assert class_of(OPEN, f"{host.url}/status/{status}") == expected

    def test_a_closed_port_is_refused(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        assert class_of(OPEN, f"http://127.0.0.1:{port}/a.jpg") == FetchClass.REFUSED

    @pytest.mark.parametrize("url", ["ftp://a.test/a.jpg", "http://", "http://[::1/a.jpg", "http://a.test:99999/x"])
    def test_what_is_no_web_address_is_refused(self, url: str) -> None:
        assert class_of(OPEN, url) == FetchClass.UNSUPPORTED_URL

    @pytest.mark.parametrize(("code", "retried"), [(socket.EAI_NONAME, 1), (socket.EAI_AGAIN, 3)])
    def test_an_unknown_host_is_a_dns_error_retried_if_temporary(self, code: int, retried: int) -> None:
        asked: list[str] = []

        def look_up(name: str, *_: object, **__: object) -> list[tuple[Any, ...]]:
            asked.append(name)
            raise socket.gaierror(code, "no answer")

        parts = {"look_up": look_up, "clock": FastClock()}
        assert class_of(PERSISTENT, "http://a.test/a.jpg", **parts) == FetchClass.DNS
        assert asked == ["a.test"] * retried

    def test_a_label_too_long_for_a_name_server_is_a_dns_error(self) -> None:
        assert class_of(OPEN, f"http://{'x' * 70}.test/a.jpg") == FetchClass.DNS


class TestLimits:
    @pytest.mark.parametrize("path", ["bomb", "endless", "promised"])
    def test_a_body_is_cut_at_the_cap(self, host: FetchServer, path: str) -> None:
        assert class_of(OPEN, f"{host.url}/{path}") == FetchClass.TOO_LARGE

    def test_a_body_of_just_the_cap_is_taken(self, host: FetchServer) -> None:
        body = jpeg(1)
        settings = [OPEN.model_copy(update={"max_image_bytes": len(body) - missing}) for missing in (0, 1)]
        assert get(settings[0], f"{host.url}/image/1.jpg") == body
        assert class_of(settings[1], f"{host.url}/image/1.jpg") == FetchClass.TOO_LARGE

    def test_big_bodies_take_turns_and_arrive_whole(self, host: FetchServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(client, "BIG_BYTES", 100)
        monkeypatch.setattr(client, "BIG_AT_ONCE", 1)
        urls = [f"{host.url}/image/{number}.jpg" for number in range(12)]
        assert get_all(OPEN, urls) == [jpeg(number) for number in range(12)]

    @pytest.mark.parametrize("path", ["silent", "drip"])
    def test_a_host_that_takes_too_long_is_cut_off(self, host: FetchServer, path: str) -> None:
        assert class_of(IMPATIENT, f"{host.url}/{path}") == FetchClass.TIMEOUT

    def test_a_body_shorter_than_promised_is_unreadable(self, host: FetchServer) -> None:
        assert class_of(OPEN, f"{host.url}/short") == FetchClass.UNREADABLE


class TestRedirects:
    def test_three_are_followed(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.url}/hop/2") == jpeg(1)

    def test_four_are_too_many(self, host: FetchServer) -> None:
        assert class_of(OPEN, f"{host.url}/hop/3") == FetchClass.TOO_MANY_REDIRECTS
        assert host.asked == 4

    @pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://a.test/x", "data:image/png;base64,AAAA"])
    def test_other_schemes_are_not_followed(self, host: FetchServer, target: str) -> None:
        assert class_of(OPEN, f"{host.url}/to?url={target}") == FetchClass.UNSUPPORTED_URL

    def test_a_loop_ends(self, host: FetchServer) -> None:
        assert class_of(OPEN, f"{host.url}/loop") == FetchClass.TOO_MANY_REDIRECTS
        assert host.asked == 4


class TestTls:
    def test_plain_http_on_a_tls_port_is_a_tls_error(self, host: FetchServer) -> None:
        assert class_of(OPEN, host.url.replace("http:", "https:") + "/image/1.jpg") == FetchClass.TLS

    def test_certificate_must_be_trusted_and_for_the_name(self) -> None:
        authority = trustme.CA()
        theirs, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
        authority.issue_cert("a.test").configure_cert(theirs)
        authority.configure_trust(ours)
        names = {"look_up": Names(["127.0.0.1"]).look_up}
        with fetch_server(theirs) as server:
            assert class_of(OPEN, f"{server.at('a.test')}/image/1.jpg", **names) == FetchClass.TLS
            assert get(OPEN, f"{server.at('a.test')}/image/1.jpg", trusted=ours, **names) == jpeg(1)
            assert class_of(OPEN, f"{server.at('b.test')}/image/1.jpg", trusted=ours, **names) == FetchClass.TLS


class TestGuard:
    @pytest.mark.parametrize(
        "name", ["127.0.0.1", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "127.1", "[::1]", "localhost"]
    )
    def test_inner_hosts_are_blocked_however_they_are_written(self, name: str) -> None:
        assert class_of(GUARDED, f"http://{name}/a.jpg") == FetchClass.BLOCKED_ADDRESS

    def test_other_ports_are_blocked(self, host: FetchServer) -> None:
        assert class_of(GUARDED, "http://8.8.8.8:6379/") == FetchClass.BLOCKED_ADDRESS

    def test_a_name_with_one_inner_address_is_blocked(self) -> None:
        names = Names(["8.8.8.8", "127.0.0.1"])
        assert class_of(GUARDED, "http://a.test/a.jpg", look_up=names.look_up) == FetchClass.BLOCKED_ADDRESS

    @pytest.fixture
    def outer(self, host: FetchServer, monkeypatch: pytest.MonkeyPatch) -> FetchServer:
        """The test's host, as if 127.0.0.1 alone were a public address: tests reach no real one."""
        real = guard.is_public
        monkeypatch.setattr(guard, "ALLOWED_PORTS", {80, 443, host.port})
        monkeypatch.setattr(guard, "is_public", lambda address: str(address) == "127.0.0.1" or real(address))
        return host

    def test_a_name_that_changes_its_answer_is_resolved_once(self, outer: FetchServer) -> None:
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        urls = [f"{outer.at('a.test')}/image/{number}.jpg" for number in range(10)]
        assert get_all(GUARDED, urls, look_up=names.look_up) == [jpeg(number) for number in range(10)]
        assert names.asked == ["a.test"]

    def test_a_name_that_came_to_lead_inside_is_blocked(self, outer: FetchServer) -> None:
        names = Names(["127.0.0.1"], ["127.0.0.2"])
        assert get(GUARDED, f"{outer.at('a.test')}/image/1.jpg", look_up=names.look_up) == jpeg(1)
        error = failure(GUARDED, f"{outer.at('a.test')}/image/1.jpg", look_up=names.look_up)
        assert str(error) == "a.test leads to 127.0.0.2, which is not a public address"
        assert error.error_class == FetchClass.BLOCKED_ADDRESS

    @pytest.mark.parametrize(
        "target",
        ["http://169.254.169.254/latest", "http://2852039166/", "http://10.0.0.1/", "//[::1]/", "http://127.0.0.1:22/"],
    )
    def test_a_redirect_inside_is_blocked(self, outer: FetchServer, target: str) -> None:
        assert class_of(GUARDED, f"{outer.url}/to?url={target}") == FetchClass.BLOCKED_ADDRESS
        assert outer.asked == 1

    def test_an_address_that_no_resolver_saw_is_checked_before_it_is_connected_to(self) -> None:
        async def connect() -> None:
            resolver = CheckedResolver(allow_private=False)
            connector = make_connector(resolver, allow_private=False, limit=1)
            async with aiohttp.ClientSession(connector=connector) as session:
                await session.get("http://127.0.0.1/")

        with pytest.raises(aiohttp.ClientConnectorError) as caught:
            asyncio.run(connect())
        assert isinstance(caught.value.os_error, guard.BlockedAddress)


class TestRobots:
    def test_forbidden_pages_are_not_asked_for(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\nDisallow: /image/2")
        answers = get_all(POLITE, [f"{host.url}/image/{number}.jpg" for number in (1, 2)])
        assert answers[0] == jpeg(1)
        assert isinstance(answers[1], FetchError)
        assert answers[1].error_class == FetchClass.ROBOTS
        assert host.hits == {"/robots.txt": 1, "/image/1.jpg": 1}

    def test_target_of_a_redirect_is_checked_too(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\nDisallow: /image/")
        assert class_of(POLITE, f"{host.url}/hop/0") == FetchClass.ROBOTS
        assert host.hits["/image/1.jpg"] == 0

    @pytest.mark.parametrize(("status", "is_allowed"), [(404, True), (401, True), (500, False), (503, False)])
    def test_status_of_the_file_decides(self, host: FetchServer, status: int, is_allowed: bool) -> None:
        host.robots = (status, "")
        answer = get_all(POLITE, [f"{host.url}/image/1.jpg"], clock=FastClock())[0]
        assert isinstance(answer, bytes) is is_allowed
        assert host.hits["/image/1.jpg"] == is_allowed

    def test_only_the_first_half_megabyte_counts(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\n" + "#" * 600_000 + "\nDisallow: /")
        assert get(POLITE, f"{host.url}/image/1.jpg") == jpeg(1)

    def test_crawl_delay_is_kept(self, host: FetchServer) -> None:
        host.robots = (200, "User-agent: *\nCrawl-delay: 4")
        clock = FastClock()
        get_all(POLITE, [f"{host.url}/image/{number}.jpg" for number in range(5)], clock=clock)
        assert clock.time == 1000.0 + 4 * 4

    def test_marked_image_is_left(self, host: FetchServer) -> None:
        error = failure(OPEN, f"{host.url}/tagged?tag=nofollow&tag=otherbot: noai&tag=noimageai")
        assert error.error_class == FetchClass.ROBOTS
        assert "'noimageai' in X-Robots-Tag" in str(error)

    def test_mark_for_another_robot_is_not_for_us(self, host: FetchServer) -> None:
        assert get(OPEN, f"{host.url}/tagged?tag=otherbot: noai") == jpeg(3)

    def test_marks_can_be_chosen(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_disallowed_directives": ()})
        assert get(settings, f"{host.url}/tagged?tag=noai") == jpeg(3)


class TestPoliteness:
    def test_one_host_gets_few_requests_at_once(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_host_concurrency": 3})
        get_all(settings, [f"{host.url}/image/{number}.jpg" for number in range(30)])
        assert host.most_at_once <= 3
        assert host.asked == 30

    def test_all_hosts_together_get_no_more_than_the_total(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_concurrency": 2})
        urls = [f"{host.at(f'h{number}.test')}/image/{number}.jpg" for number in range(30)]
        get_all(settings, urls, look_up=Names(["127.0.0.1"]).look_up)
        assert host.most_at_once <= 2
        assert host.asked == 30

    @pytest.mark.parametrize(("header", "waited"), [("?Retry-After=30", 30.0), ("", 1.0)])
    @pytest.mark.parametrize("status", [429, 503])
    def test_busy_host_is_asked_again_after_its_time(
        self, host: FetchServer, status: int, header: str, waited: float
    ) -> None:
        clock = FastClock()
        assert get(PERSISTENT, f"{host.url}/busy/{status}/1{header}", clock=clock) == jpeg(2)
        assert clock.slept == [waited]
        assert host.asked == 2

    def test_whole_host_waits_not_only_the_page(self, host: FetchServer) -> None:
        settings = PERSISTENT.model_copy(update={"fetch_host_concurrency": 1})
        clock = FastClock()
        urls = [f"{host.url}/busy/429/1?Retry-After=50", f"{host.url}/image/1.jpg"]
        assert get_all(settings, urls, clock=clock) == [jpeg(2), jpeg(1)]
        assert clock.time >= 1050
        assert clock.slept[0] == 50.0

    def test_host_that_asks_for_an_hour_is_left_alone(self, host: FetchServer) -> None:
        clock = FastClock()
        error = failure(PERSISTENT, f"{host.url}/busy/429/9?Retry-After=3600", clock=clock)
        assert (error.error_class, host.asked, clock.slept) == (FetchClass.RATE_LIMITED, 1, [])
        assert "left alone for this run" in str(error)

    def test_passing_faults_are_tried_again_with_growing_pauses(self, host: FetchServer) -> None:
        clock = FastClock()
        assert class_of(PERSISTENT, f"{host.url}/status/502", clock=clock) == FetchClass.HTTP_STATUS
        assert (host.asked, clock.slept) == (3, [1.0, 2.0])

    @pytest.mark.parametrize("path", ["status/404", "status/403", "status/410", "bomb", "short"])
    def test_lasting_faults_are_not_tried_again(self, host: FetchServer, path: str) -> None:
        clock = FastClock()
        failure(PERSISTENT, f"{host.url}/{path}", clock=clock)
        assert (host.asked, clock.slept) == (1, [])

    def test_dead_host_is_given_up(self, host: FetchServer) -> None:
        settings = OPEN.model_copy(update={"fetch_host_failures": 5, "fetch_host_concurrency": 1})
        answers = get_all(settings, [f"{host.url}/status/500?n={number}" for number in range(20)], clock=FastClock())
        assert host.asked == 5
        assert {str(answer.error_class) for answer in answers if isinstance(answer, FetchError)} == {"http_status"}
        assert sum("given up for this run after 5 failures in a row" in str(answer) for answer in answers) == 15
