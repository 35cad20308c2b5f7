"""The child that decodes images from strangers: `python -m worker.fetch.decoder`, a socket as its standard input.

Image bytes in, size and thumbnail out, in frames. It can write no file and has no secret; memory and time per image are
limited. Whatever a hostile image does to it, the parent sees a class for that image and starts another child.
"""

import io
import resource
import socket
import struct
import sys

from PIL import Image

from model.encoders.images import ImageError, open_image

MEMORY_BYTES = 3 * 2**30  # the largest picture that is let through, with transparency, takes about 1 GB
CPU_SECONDS = 30
THUMBNAIL_SIDE = 256
THUMBNAIL_QUALITY = 80
MAX_REPLY_BYTES = 4 * 2**20  # far more than a thumbnail takes

LENGTH = struct.Struct("!I")
REPLY = struct.Struct("!?III")  # is it an image, width, height, length of what follows: the thumbnail or why not
SEPARATOR = "\0"  # between the class and the sentence of why not


def main() -> None:
    _limit(resource.RLIMIT_AS, MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    with socket.socket(fileno=sys.stdin.fileno()) as connection:
        while header := read_exactly(connection, LENGTH.size):
            data = read_exactly(connection, LENGTH.unpack(header)[0])
            _allow_cpu_seconds(CPU_SECONDS)
            connection.sendall(_answer(data))


def read_exactly(connection: socket.socket, count: int) -> bytes:
    """Nothing at all where the other side has gone."""
    data = bytearray(count)
    view, done = memoryview(data), 0
    while done < count:
        received = connection.recv_into(view[done:])
        if not received:
            return b""
        done += received
    return bytes(data)


def _answer(data: bytes) -> bytes:
    try:
        opened = open_image(data)
        thumbnail = _thumbnail(opened.image)
    except ImageError as error:
        why = f"{error.reason}{SEPARATOR}{error}".encode("utf-8", "replace")
        return REPLY.pack(False, 0, 0, len(why)) + why
    return REPLY.pack(True, opened.width, opened.height, len(thumbnail)) + thumbnail


def _thumbnail(image: Image.Image) -> bytes:
    """Made of pixels only: nothing of the file, no profile, place or comment, comes along."""
    image.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Image.Resampling.BILINEAR)
    image.info.clear()
    file = io.BytesIO()
    image.save(file, "JPEG", quality=THUMBNAIL_QUALITY)
    return file.getvalue()


def _limit(kind: int, amount: int) -> None:
    resource.setrlimit(kind, (amount, amount))


def _allow_cpu_seconds(seconds: int) -> None:
    """From now on: the limit counts from the start of the process, which has decoded others before."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


if __name__ == "__main__":
    main()
