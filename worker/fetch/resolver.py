"""Names to addresses, once and checked: aiohttp connects to what this resolver returned, so a name that changes its
mind between the check and the connection gains nothing. The Host header and TLS still carry the name."""

import asyncio
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aiohttp import AddrInfoType, TCPConnector
from aiohttp.abc import AbstractResolver, ResolveResult

from worker.fetch import guard

LookUp = Callable[..., list[tuple[Any, ...]]]  # as socket.getaddrinfo

THREADS = 32  # a dead name server answers none of them for seconds
CACHE_SECONDS = 60


class CheckedResolver(AbstractResolver):
    def __init__(self, *, allow_private: bool, look_up: LookUp = socket.getaddrinfo) -> None:
        self._allow_private = allow_private
        self._look_up = look_up
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="dns")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._pool, self._search, host, port, family)
        guard.check_all(host, [str(entry[4][0]) for entry in found], allow_private=self._allow_private)
        flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        return [
            ResolveResult(hostname=host, host=entry[4][0], port=port, family=entry[0], proto=entry[2], flags=flags)
            for entry in found
        ]

    async def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _search(self, host: str, port: int, family: socket.AddressFamily) -> list[tuple[Any, ...]]:
        try:
            return self._look_up(host, port, family=family, type=socket.SOCK_STREAM)
        except UnicodeError as error:  # a label too long for DNS
            raise socket.gaierror(socket.EAI_NONAME, f"not a host name: {error}") from error


def make_connector(resolver: CheckedResolver, *, allow_private: bool, limit: int, **options: Any) -> TCPConnector:
    def checked_socket(info: AddrInfoType) -> socket.socket:
        # The last word before a connection, whatever way its address came: aiohttp asks no resolver for literals.
        guard.check_all(str(info[4][0]), [str(info[4][0])], allow_private=allow_private)
        return socket.socket(family=info[0], type=info[1], proto=info[2])

    return TCPConnector(
        resolver=resolver, ttl_dns_cache=CACHE_SECONDS, limit=limit, socket_factory=checked_socket, **options
    )
