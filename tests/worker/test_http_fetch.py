"""The http fetcher against a real server on loopback that plays all kinds of hosts."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
import trustme

from tests.worker.fetch.clock import FastClock
from tests.worker.fetch.getting import GUARDED, IMPATIENT, OPEN, PERSISTENT, Names, class_of, failure, get, get_all
from tests.worker.fetch_server import FetchServer, fetch_server, jpeg
from worker.fetch import client, guard
from worker.fetch.client import user_agent
from worker.fetch.errors import FetchClass
from worker.fetch.resolver import CheckedResolver, make_connector


@pytest.fixture
def host() -> Iterator[FetchServer]:
    with fetch_server() as server:
        yield server


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

    def test_a_body_shorter_than_promised_is_asked_for_again(self, host: FetchServer) -> None:
        error = failure(OPEN, f"{host.url}/short")
        assert (error.error_class, error.is_transient) == (FetchClass.TRUNCATED, True)


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
