"""What the sources made of a folder share: a description, images by place, and one Pair or Reject for each row."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from model.data.checks import BadRow, rejected
from model.data.folders.folder import Folder
from model.data.folders.listing import Listing
from model.data.rows import FileError, Pair, Reject
from model.data.source import ImageSource, ReadOptions, SourceFeatures

MEMBER_URL = "member:"  # before a name: the image came with the source and has no address of its own


class FolderSource(ABC):
    format: str
    images: ImageSource

    def __init__(self, folder: Folder, listing: Listing, options: ReadOptions) -> None:
        self.folder = folder
        self.listing = listing
        self.options = options

    @abstractmethod
    def rows(self) -> Iterator[Pair | Reject]: ...

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """What `describe` adds for this format."""

    def describe(self) -> dict[str, Any]:
        found: dict[str, Any] = {"format": self.format, "images": str(self.images), "container": self.folder.kind}
        if self.listing.ignored:
            found["ignored"] = dict(sorted(self.listing.ignored.items()))
        return found | self.details()

    def read_image(self, place: str, max_bytes: int) -> bytes:
        if self.images is not ImageSource.MEMBERS:
            raise FileError("no_images", f"{self.folder.label} ({self.format}) holds no image files.")
        return self.folder.read_place(place, max_bytes)

    def features(self) -> SourceFeatures:
        raise FileError("no_features", f"{self.folder.label} ({self.format}) holds no features.")


def judged(row: int, offset: int, text: bytes | str, make: Callable[[], Pair]) -> Pair | Reject:
    """The pair, or why there is none."""
    try:
        return make()
    except BadRow as fault:
        shown = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        reason, detail = fault.fault
        # It may quote the source: what no database stores is left out.
        safe = detail.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
        return rejected(row, offset, shown, (reason, safe))
