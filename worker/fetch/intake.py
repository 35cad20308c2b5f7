"""One pair's image, wherever it is, to an outcome: bytes, decoded in a limited child, kept by content; or why not."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Self

from model.data.rows import FileError
from model.data.source import Source
from model.features.store import content_key
from service.config import Settings
from service.db.states import ImageStatus
from service.storage import Storage, write_by_content
from worker.fetch.client import HttpFetcher
from worker.fetch.decoding import Decoder, DecoderPool
from worker.fetch.errors import FetchClass, FetchError, class_named
from worker.fetch.files import local_path, read_file

READ_AT_ONCE = 8  # files in memory that wait for a decoder
MAX_MESSAGE_CHARACTERS = 500


@dataclass(frozen=True)
class Outcome:
    """The columns of `images`."""

    status: ImageStatus
    error_class: FetchClass | None = None
    error_message: str | None = None
    sha256: bytes | None = None
    width: int | None = None
    height: int | None = None


def failure(error: FetchError) -> Outcome:
    # A NUL cannot be stored, and a message may quote a hostile URL at length.
    message = str(error).replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:MAX_MESSAGE_CHARACTERS]
    return Outcome(ImageStatus.FAILED, error.error_class, message)


class Intake:
    """Use it with `async with`; `open_source` is called when the first pair has its image in the source."""

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        *,
        image_root: str | None = None,
        open_source: Callable[[], Source] | None = None,
        fetcher: HttpFetcher | None = None,
    ) -> None:
        self._settings = settings
        self._storage = storage
        self._image_root = image_root
        self._open_source = open_source
        self._fetcher = fetcher or HttpFetcher(settings)
        self._decoders = DecoderPool(settings.fetch_decoders)
        self._source_thread = ThreadPoolExecutor(1, thread_name_prefix="source")  # a source is not made for two
        self._room = asyncio.Semaphore(READ_AT_ONCE)

    async def __aenter__(self) -> Self:
        await self._fetcher.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._fetcher.__aexit__()
        self._source_thread.shutdown(cancel_futures=True)
        self._decoders.close()

    async def take(self, url: str, place: str | None = None) -> Outcome:
        """Never raises for what is wrong with the image."""
        async with AsyncExitStack() as held:
            try:
                path = None if place is not None else local_path(url, self._image_root)
                if place is not None:
                    await held.enter_async_context(self._room)
                    loop = asyncio.get_running_loop()
                    data = await loop.run_in_executor(self._source_thread, self._read_place, place)
                elif path is not None:
                    await held.enter_async_context(self._room)
                    data = await asyncio.to_thread(self._read_path, path)
                else:
                    data = await self._fetcher.get(url, held)
                # Files and sources stay where they are; only what came over the network is kept.
                is_kept = path is None and place is None
                return await self._decoders.run(partial(self._decode, data, is_kept))
            except FetchError as error:
                return failure(error)

    def _decode(self, data: bytes, is_kept: bool, decoder: Decoder) -> Outcome:
        decoded = decoder.decode(data)
        sha256 = content_key(data)
        if is_kept:
            write_by_content(self._storage.image(sha256), data)
        write_by_content(self._storage.thumbnail(sha256), decoded.thumbnail)
        return Outcome(ImageStatus.SUCCESS, sha256=sha256, width=decoded.width, height=decoded.height)

    def _read_path(self, path: Path) -> bytes:
        return read_file(path, self._settings.image_roots, self._settings.max_image_bytes)

    def _read_place(self, place: str) -> bytes:
        try:
            return self._source.read_image(place, self._settings.max_image_bytes)
        except FileError as error:
            raise FetchError(class_named(error.reason, FetchClass.UNREADABLE), str(error)) from error

    @cached_property
    def _source(self) -> Source:
        if self._open_source is None:
            raise FetchError(FetchClass.UNREADABLE, "the image should lie in the source, but there is none")
        return self._open_source()
