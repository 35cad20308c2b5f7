"""Images over http(s), politely and safely: every hop is checked against robots.txt and the address guard, waits for
its host's turn, and is capped in bytes and in time."""

import asyncio
import socket
import ssl
from contextlib import AsyncExitStack
from importlib.metadata import version
from typing import Self

import aiohttp
from yarl import URL

from service.config import Settings
from worker.fetch import guard
from worker.fetch.answers import OK, REDIRECTS, faults_named, forbidding_directive, status_error
from worker.fetch.clock import Clock
from worker.fetch.errors import FetchClass, FetchError
from worker.fetch.hosts import Hosts
from worker.fetch.resolver import CheckedResolver, LookUp, make_connector
from worker.fetch.robots import AGENT, MAX_ROBOTS_BYTES, Robots

MAX_REDIRECTS = 3
# No format that is not decoded here, although many hosts would rather send AVIF.
ACCEPT = "image/jpeg,image/png,image/webp,image/gif,*/*;q=0.1"
PIECE_BYTES = 64 * 1024
BIG_BYTES = 2 * 2**20
BIG_AT_ONCE = 8  # bounds memory: this many bodies may grow to max_image_bytes, the others to BIG_BYTES


def user_agent(contact: str) -> str:
    return f"{AGENT}/{version(AGENT)}" + (f" (+{contact})" if contact else "")


class HttpFetcher:
    """Use it with `async with`. One for a whole pass: it remembers hosts, their rules and their faults."""

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None = None,
        look_up: LookUp = socket.getaddrinfo,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or Clock()
        self._hosts = Hosts(settings, self._clock)
        self._robots = Robots(self._clock, self._read_robots)
        self._room = asyncio.Semaphore(settings.fetch_concurrency)
        self._big_room = asyncio.Semaphore(BIG_AT_ONCE)
        self._resolver = CheckedResolver(allow_private=settings.fetch_private_addresses, look_up=look_up)
        self._trusted = trusted

    async def __aenter__(self) -> Self:
        settings = self._settings
        self._session = aiohttp.ClientSession(
            connector=make_connector(
                self._resolver,
                allow_private=settings.fetch_private_addresses,
                limit=settings.fetch_concurrency,
                ssl=self._trusted or True,
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=settings.fetch_connect_timeout_seconds),
            headers={"User-Agent": user_agent(settings.fetch_contact), "Accept": ACCEPT},
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,  # a proxy would resolve the name again, unchecked
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()
        await self._resolver.close()

    async def get(self, url: str, held: AsyncExitStack) -> bytes:
        """The bytes behind the URL; `held` is to be closed once they are no longer in memory."""
        attempt = 0
        while True:
            try:
                return await self._follow(_parsed(url), held, is_image=True)
            except FetchError as error:
                if not error.is_transient or attempt >= self._settings.fetch_retries:
                    raise
                if not error.is_busy:  # then the host's turn makes it wait
                    await self._clock.sleep(self._hosts.back_off(attempt))
                attempt += 1

    async def _read_robots(self, url: URL) -> bytes:
        async with AsyncExitStack() as held:
            return await self._follow(url, held, is_image=False)

    async def _follow(self, url: URL, held: AsyncExitStack, *, is_image: bool) -> bytes:
        loop = asyncio.get_running_loop()
        seconds = self._settings.fetch_timeout_seconds  # in requests, not in waiting for a turn
        for _ in range(MAX_REDIRECTS + 1):
            url = self._checked(url)
            if is_image and self._settings.fetch_respect_robots:
                rules = await self._robots.check(url)
                self._hosts.slow_down(_host(url), rules.crawl_delay)
            async with self._hosts.turn(_host(url)), AsyncExitStack() as hop:
                # Always after the host's turn: held while waiting for one, it could stop all others.
                await hop.enter_async_context(self._room)
                began = loop.time()
                answer = await self._ask(url, seconds, hop, is_image=is_image)
                seconds -= loop.time() - began
                if isinstance(answer, bytes):
                    await held.enter_async_context(hop.pop_all())
                    return answer
            url = answer
        raise FetchError(FetchClass.TOO_MANY_REDIRECTS, f"more than {MAX_REDIRECTS} redirects, the last to {url}")

    async def _ask(self, url: URL, seconds: float, hop: AsyncExitStack, *, is_image: bool) -> bytes | URL:
        try:
            with faults_named(url):
                async with asyncio.timeout(seconds), self._session.get(url, allow_redirects=False) as response:
                    if response.status in REDIRECTS and "Location" in response.headers:
                        answer: bytes | URL = url.join(URL(response.headers["Location"]))
                    elif is_image:
                        answer = await self._read_image(url, response, hop)
                    else:
                        self._check_status(url, response)
                        answer = await _read(response, MAX_ROBOTS_BYTES)
        except FetchError as error:
            self._hosts.failed(_host(url), error)
            raise
        self._hosts.answered(_host(url))
        return answer

    async def _read_image(self, url: URL, response: aiohttp.ClientResponse, hop: AsyncExitStack) -> bytes:
        self._check_status(url, response)
        tags = response.headers.getall("X-Robots-Tag", [])
        if directive := forbidding_directive(tags, AGENT, self._settings.fetch_disallowed_directives):
            raise FetchError(FetchClass.ROBOTS, f"{url} is marked '{directive}' in X-Robots-Tag")
        cap = self._settings.max_image_bytes
        body = b""
        if (response.content_length or 0) <= cap:
            body = await _read(response, min(BIG_BYTES, cap) + 1)
            if len(body) > BIG_BYTES:
                await hop.enter_async_context(self._big_room)
                body += await _read(response, cap + 1 - len(body))
        if len(body) > cap or (response.content_length or 0) > cap:
            raise FetchError(FetchClass.TOO_LARGE, f"{url} is larger than {cap:,} bytes")
        return body

    def _check_status(self, url: URL, response: aiohttp.ClientResponse) -> None:
        if response.status != OK:
            raise status_error(url, response.status, response.headers.get("Retry-After"), self._clock.wall())

    def _checked(self, url: URL) -> URL:
        """Scheme, host and port; another spelling of an address becomes the plain one."""
        if url.scheme not in ("http", "https") or not url.raw_host:
            raise FetchError(FetchClass.UNSUPPORTED_URL, f"not an http or https URL: {url}")
        address = guard.literal_address(url.raw_host)
        allow_private = self._settings.fetch_private_addresses
        if not allow_private and url.port not in guard.ALLOWED_PORTS:
            raise FetchError(FetchClass.BLOCKED_ADDRESS, f"port {url.port} is not 80 or 443: {url}")
        try:
            guard.check_all(url.raw_host, [address] if address else [], allow_private=allow_private)
        except guard.BlockedAddress as error:
            raise FetchError(FetchClass.BLOCKED_ADDRESS, str(error)) from error
        return url if address is None or ":" in address else url.with_host(address)


def _parsed(url: str) -> URL:
    try:
        return URL(url)
    except ValueError as error:
        raise FetchError(FetchClass.UNSUPPORTED_URL, f"not a URL: {url}: {error}") from error


def _host(url: URL) -> str:
    return url.raw_host or ""


async def _read(response: aiohttp.ClientResponse, cap: int) -> bytes:
    """At most `cap` bytes, counted after decompression, so that a small bomb cannot grow past it."""
    pieces, left = [], cap
    while left > 0 and (piece := await response.content.read(min(PIECE_BYTES, left))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)
