"""The http fetcher against a real server on loopback that plays all kinds of hosts."""

import gzip
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from service.config import Settings
from worker.fetch.client import HttpFetcher
from worker.fetch.errors import FetchClass, FetchError

CAP = 10_000


class Host(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path = self.path.removeprefix("/")
        if path.startswith("status-"):
            self._answer(int(path[7:]))
        elif path.startswith("hop-"):
            left = int(path[4:])
            self._answer(302, headers={"Location": f"/hop-{left - 1}" if left else "/image"})
        elif path == "inside":
            self._answer(302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
        elif path == "bomb":
            self._answer(200, gzip.compress(bytes(100 * CAP)), {"Content-Encoding": "gzip"})
        elif path == "host":
            self._answer(200, self.headers["Host"].encode())
        elif path == "silent":
            released.wait(30)
        elif path == "liar":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"short")
        else:
            self._answer(200, b"image bytes")

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


released = threading.Event()


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Host) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def fetcher() -> Iterator[HttpFetcher]:
    fetcher = HttpFetcher(Settings(fetch_private_addresses=True, max_image_bytes=CAP, fetch_timeout_seconds=0.5))
    yield fetcher
    fetcher.close()


@pytest.fixture
def guarded() -> Iterator[HttpFetcher]:
    fetcher = HttpFetcher(Settings(fetch_private_addresses=False))
    yield fetcher
    fetcher.close()


def failure(fetcher: HttpFetcher, url: str) -> FetchClass:
    with pytest.raises(FetchError) as caught:
        fetcher.get(url)
    return caught.value.error_class


class TestGet:
    def test_bytes_arrive(self, fetcher: HttpFetcher, host: str) -> None:
        assert fetcher.get(f"{host}/image") == b"image bytes"

    def test_host_header_is_the_name_not_the_address(self, fetcher: HttpFetcher, host: str) -> None:
        port = host.rpartition(":")[2]
        assert fetcher.get(f"http://localhost:{port}/host") == f"localhost:{port}".encode()

    def test_three_redirects_are_followed(self, fetcher: HttpFetcher, host: str) -> None:
        assert fetcher.get(f"{host}/hop-2") == b"image bytes"

    def test_four_are_too_many(self, fetcher: HttpFetcher, host: str) -> None:
        assert failure(fetcher, f"{host}/hop-3") == FetchClass.TOO_MANY_REDIRECTS

    @pytest.mark.parametrize(
        ("status", "expected"), [(403, "403"), (404, "404"), (429, "429"), (500, "http_status"), (204, "http_status")]
    )
    def test_statuses_have_classes(self, fetcher: HttpFetcher, host: str, status: int, expected: str) -> None:
        assert failure(fetcher, f"{host}/status-{status}") == expected

    def test_a_bomb_is_cut_at_the_cap(self, fetcher: HttpFetcher, host: str) -> None:
        assert failure(fetcher, f"{host}/bomb") == FetchClass.TOO_LARGE

    def test_a_silent_host_times_out(self, fetcher: HttpFetcher, host: str) -> None:
        assert failure(fetcher, f"{host}/silent") == FetchClass.TIMEOUT

    def test_a_body_shorter_than_promised_is_unreadable(self, fetcher: HttpFetcher, host: str) -> None:
        assert failure(fetcher, f"{host}/liar") == FetchClass.UNREADABLE

    def test_a_closed_port_is_refused(self, fetcher: HttpFetcher) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        assert failure(fetcher, f"http://127.0.0.1:{port}/a.jpg") == FetchClass.REFUSED

    def test_plain_http_on_a_tls_port_is_a_tls_error(self, fetcher: HttpFetcher, host: str) -> None:
        assert failure(fetcher, host.replace("http:", "https:") + "/image") == FetchClass.TLS

    def test_an_unknown_host_is_a_dns_error(self, fetcher: HttpFetcher) -> None:
        assert failure(fetcher, "http://no-such-host.invalid/a.jpg") == FetchClass.DNS


class TestGuard:
    def test_loopback_is_blocked(self, guarded: HttpFetcher) -> None:
        assert failure(guarded, "http://127.0.0.1/a.jpg") == FetchClass.BLOCKED_ADDRESS

    def test_other_ports_are_blocked(self, guarded: HttpFetcher, host: str) -> None:
        assert failure(guarded, f"{host}/image") == FetchClass.BLOCKED_ADDRESS

    def test_other_schemes_are_refused(self, guarded: HttpFetcher) -> None:
        assert failure(guarded, "ftp://example.com/a.jpg") == FetchClass.UNSUPPORTED_URL
