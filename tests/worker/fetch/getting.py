"""Ways to get URLs with a fetcher of given settings, and a name server that says what a test wants."""

import asyncio
import socket
from contextlib import AsyncExitStack
from typing import Any

from service.config import Settings
from worker.fetch.client import HttpFetcher
from worker.fetch.errors import FetchClass, FetchError

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
