"""Many image files through an encoder: a few threads open the next batch while the network works on this one."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Generic, TypeVar

from model.encoders.base import Encoder, Vectors
from model.encoders.images import ImageError, OpenedImage

Item = TypeVar("Item")


@dataclass(frozen=True)
class EncodedBatch(Generic[Item]):
    items: list[Item]  # those that could be opened, in the order given
    sizes: list[tuple[int, int]]  # width and height of each, before resizing
    vectors: Vectors  # (n, D), row i belongs to items[i]
    failures: list[tuple[Item, ImageError]]


def encode_all(
    encoder: Encoder,
    items: Iterable[Item],
    open_item: Callable[[Item], OpenedImage],
    batch: int = 64,
    readers: int = 2,
) -> Iterator[EncodedBatch[Item]]:
    """Every item ends in exactly one batch, as a vector or as a failure. `open_item` runs in the readers."""
    remaining = iter(items)

    def prepare(item: Item) -> OpenedImage | ImageError:
        # Resized at once: full pictures in waiting would fill the memory.
        try:
            opened = open_item(item)
        except ImageError as error:
            return error
        return OpenedImage(encoder.prepare_image(opened.image), opened.width, opened.height)

    with ThreadPoolExecutor(readers, "open-image") as pool:

        def start() -> list[tuple[Item, Future[OpenedImage | ImageError]]]:
            return [(item, pool.submit(prepare, item)) for item in islice(remaining, batch)]

        current = start()
        while current:
            following = start()
            yield _encode(encoder, [(item, future.result()) for item, future in current])
            current = following


def _encode(encoder: Encoder, results: list[tuple[Item, OpenedImage | ImageError]]) -> EncodedBatch[Item]:
    opened = [(item, result) for item, result in results if isinstance(result, OpenedImage)]
    return EncodedBatch(
        items=[item for item, _ in opened],
        sizes=[(result.width, result.height) for _, result in opened],
        vectors=encoder.encode_images([result.image for _, result in opened]),
        failures=[(item, result) for item, result in results if isinstance(result, ImageError)],
    )
