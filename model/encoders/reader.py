"""A process that turns image files into pictures of a network's size: `python -m model.encoders.reader PREPARATION`.

It answers one request after the other on its standard streams, and ends when its input does. `readers.py` starts it.
"""

import json
import resource
import signal
import struct
import sys
from typing import BinaryIO

from model.encoders.images import ImageError, open_image
from model.encoders.prepare import Preparation

READY = b"\x01"
REQUEST = struct.Struct("<Q")  # length of the file
ANSWER = struct.Struct("<?IIQ")  # is a picture; width and height before resizing; length of what follows
SECONDS = 60  # of processor time for one image: far more than the largest allowed one takes
MEMORY_BYTES = 2 * 2**30  # the largest allowed image takes a quarter of it


def main() -> None:
    # A stop is for the process that asks: were this one to end first, its image would seem to be at fault.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    preparation = Preparation(**json.loads(sys.argv[1]))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    try:
        _send(answers, READY)
        while header := requests.read(REQUEST.size):
            _limit_time()
            _send(answers, *_answer(requests.read(*REQUEST.unpack(header)), preparation))
    except BrokenPipeError:
        sys.stdout = None  # nobody reads any more; the interpreter would complain that it cannot flush


def _answer(data: bytes, preparation: Preparation) -> tuple[bytes, bytes]:
    try:
        opened = open_image(data, preparation.enough)
        pixels = preparation.apply(opened.image).tobytes()
    except (ImageError, MemoryError) as caught:
        error = caught if isinstance(caught, ImageError) else ImageError("too_many_pixels", "Too large for the memory.")
        body = json.dumps([error.reason, str(error)]).encode()
        return ANSWER.pack(False, 0, 0, len(body)), body
    return ANSWER.pack(True, opened.width, opened.height, len(pixels)), pixels


def _send(stream: BinaryIO, *parts: bytes) -> None:
    for part in parts:
        stream.write(part)
    stream.flush()


def _limit_time() -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit = int(used.ru_utime + used.ru_stime) + SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
