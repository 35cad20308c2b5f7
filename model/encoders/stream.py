"""Many image files through an encoder: reader processes prepare the next batch while the network works on this one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from PIL import Image

from model.encoders.base import Vectors
from model.encoders.images import ImageError, OpenedImage
from model.encoders.readers import ImageReaders

Item = TypeVar("Item")


@dataclass(frozen=True)
class EncodedBatch(Generic[Item]):
    items: list[Item]  # those that could be opened, in the order given
    sizes: list[tuple[int, int]]  # width and height of each, before resizing
    vectors: Vectors  # (n, D), or (n, R, D) of regions; row i belongs to items[i]
    failures: list[tuple[Item, ImageError]]


def encode_all(
    encode: Callable[[Sequence[Image.Image]], Vectors],
    items: Iterable[Item],
    read_item: Callable[[Item], bytes],
    readers: ImageReaders,
    batch: int = 64,
) -> Iterator[EncodedBatch[Item]]:
    """Every item ends in exactly one batch, as a vector or as a failure.

    `encode` is an encoder's `encode_images` or `encode_regions`. `read_item` gives the bytes of the file, in threads of
    this process; an ImageError of it is a failure like one of the decoder, anything else is raised.
    """
    remaining = iter(items)

    def start() -> list[tuple[Item, Future[OpenedImage | ImageError]]]:
        return [(item, readers.submit(partial(read_item, item))) for item in islice(remaining, batch)]

    current = start()
    while current:
        following = start()
        yield _encode(encode, [(item, future.result()) for item, future in current])
        current = following


def _encode(
    encode: Callable[[Sequence[Image.Image]], Vectors], results: list[tuple[Item, OpenedImage | ImageError]]
) -> EncodedBatch[Item]:
    opened = [(item, result) for item, result in results if isinstance(result, OpenedImage)]
    return EncodedBatch(
        items=[item for item, _ in opened],
        sizes=[(result.width, result.height) for _, result in opened],
        vectors=encode([result.image for _, result in opened]),
        failures=[(item, result) for item, result in results if isinstance(result, ImageError)],
    )
