"""Reader processes: image files are decoded and resized there while the network works here.

Plain child processes, since those of `multiprocessing` may not be started where the work is itself a pool's child.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Self

from PIL import Image

from model.encoders.images import ImageError, OpenedImage
from model.encoders.prepare import Preparation
from model.encoders.reader import ANSWER, READY, REQUEST

PIPE_BYTES = 2**18  # most files and all answers of usual size pass without waiting
TRIES = 2  # a process may end through no fault of its image; one that ends twice over the same image is at fault


class ImageReaders:
    """Started at the first image, one process for each core unless told otherwise. A context: leaving it ends them."""

    def __init__(self, preparation: Preparation, processes: int | None = None) -> None:
        self._preparation = preparation
        self._threads = ThreadPoolExecutor(processes or len(os.sched_getaffinity(0)), "read-image")
        self._mine = threading.local()  # each thread talks to one process
        self._all: list[_Reader] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._threads.shutdown(cancel_futures=True)
        for reader in self._all:
            reader.end()

    def submit(self, read: Callable[[], bytes]) -> Future[OpenedImage | ImageError]:
        """The picture, prepared, with its size before; or why there is none. `read` runs in a thread of ours."""
        return self._threads.submit(self._open, read)

    def _open(self, read: Callable[[], bytes]) -> OpenedImage | ImageError:
        try:
            data = read()
            for _ in range(TRIES):
                try:
                    return self._reader().open(data)
                except ReaderEndedError as ended:
                    self._all.remove(self._mine.reader)
                    del self._mine.reader
                    reason = ended
            raise ImageError("truncated", f"Decoding the image ended the process that did it ({reason}).")
        except ImageError as error:
            return error

    def _reader(self) -> "_Reader":
        if not hasattr(self._mine, "reader"):
            self._mine.reader = _Reader(self._preparation)
            self._all.append(self._mine.reader)
        reader: _Reader = self._mine.reader
        return reader


class ReaderEndedError(RuntimeError):
    pass


class _Reader:
    def __init__(self, preparation: Preparation) -> None:
        self._size = preparation.size
        self._process = subprocess.Popen(
            [sys.executable, "-m", "model.encoders.reader", json.dumps(asdict(preparation))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pipesize=PIPE_BYTES,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        if self._answers.read(len(READY)) != READY:
            self.end()
            raise RuntimeError(f"A process to read images did not start (exit code {self._process.returncode}).")

    def open(self, data: bytes) -> OpenedImage:
        with suppress(BrokenPipeError):  # the missing answer says the same
            self._requests.write(REQUEST.pack(len(data)))
            self._requests.write(data)
            self._requests.flush()
        is_picture, width, height, length = ANSWER.unpack(self._read(ANSWER.size))
        body = self._read(length)
        if not is_picture:
            raise ImageError(*json.loads(body))
        return OpenedImage(Image.frombytes("RGB", (self._size, self._size), body), width, height)

    def end(self) -> None:
        self._process.kill()  # it holds nothing that could be lost
        self._process.wait()
        self._answers.close()
        with suppress(BrokenPipeError):  # bytes that were never sent
            self._requests.close()

    def _read(self, size: int) -> bytes:
        data = self._answers.read(size)
        if len(data) < size:
            self.end()
            raise ReaderEndedError(f"exit code {self._process.returncode}")
        return data
