"""A few limited child processes that decode; a thread each. (Plain subprocesses: a Celery child is a daemon, whose
multiprocessing children are refused.)"""

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from worker.fetch.decoder import LENGTH, MAX_REPLY_BYTES, REPLY, SEPARATOR, read_exactly
from worker.fetch.errors import FetchClass, FetchError, class_named

WALL_SECONDS = 60.0  # a child that neither answers nor uses its processor time
COMMAND = (sys.executable, "-m", "worker.fetch.decoder")

Result = TypeVar("Result")


@dataclass(frozen=True)
class Decoded:
    width: int
    height: int
    thumbnail: bytes  # JPEG


class Decoder:
    """One child, started when it is needed and again after it died. For one thread at a time."""

    def __init__(self, command: tuple[str, ...] = COMMAND, wall_seconds: float = WALL_SECONDS) -> None:
        self._command = command
        self._wall_seconds = wall_seconds
        self._child: subprocess.Popen[bytes] | None = None
        self._connection: socket.socket | None = None

    def decode(self, data: bytes) -> Decoded:
        """FetchError with the class of what is wrong with the image."""
        try:
            is_image, width, height, payload = self._ask(data)
        except (OSError, EOFError) as error:
            status = self.close()
            what = f"Decoding the image ended in a fault, with too much memory or after too long ({error or status})."
            raise FetchError(FetchClass.DECODER_CRASHED, what) from error
        if is_image:
            return Decoded(width, height, payload)
        reason, _, message = payload.decode("utf-8", "replace").partition(SEPARATOR)
        raise FetchError(class_named(reason, FetchClass.DECODER_CRASHED), message)

    def _ask(self, data: bytes) -> tuple[bool, int, int, bytes]:
        connection = self._connection or self._start()
        connection.sendall(LENGTH.pack(len(data)) + data)
        header = read_exactly(connection, REPLY.size)
        if not header:
            raise EOFError
        is_image, width, height, length = REPLY.unpack(header)
        # The child may be in the hands of the image it decoded: memory is not promised on its word.
        if length > MAX_REPLY_BYTES or not (payload := read_exactly(connection, length)):
            raise EOFError
        return is_image, width, height, payload

    def close(self) -> int | None:
        """End the child; its exit status, negative for a signal."""
        if self._child is None or self._connection is None:
            return None
        self._connection.close()  # a healthy child ends when it has nobody to read from
        try:
            status = self._child.wait(0.5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            status = self._child.wait()
        self._child = self._connection = None
        return status

    def _start(self) -> socket.socket:
        self._connection, theirs = socket.socketpair()
        self._connection.settimeout(self._wall_seconds)
        with theirs:
            # The same modules, one thread, and none of the settings: they hold secrets. A session of its own, so that
            # Ctrl-C does not look like a crash of the decoder.
            environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
            self._child = subprocess.Popen(
                self._command, stdin=theirs.fileno(), stderr=subprocess.DEVNULL, env=environment, start_new_session=True
            )
        return self._connection


class DecoderPool:
    """Runs functions that need a Decoder in as many threads as there are decoders."""

    def __init__(self, count: int) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="decoder")
        self._mine = threading.local()
        self._all: list[Decoder] = []

    async def run(self, work: Callable[[Decoder], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, work)

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        for decoder in self._all:
            decoder.close()

    def _run(self, work: Callable[[Decoder], Result]) -> Result:
        if not hasattr(self._mine, "decoder"):
            self._mine.decoder = Decoder()
            self._all.append(self._mine.decoder)
        return work(self._mine.decoder)
