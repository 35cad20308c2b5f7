"""The bytes of an image that was there when it was fetched: from the storage, a file, or the upload itself."""

from functools import cached_property

from model.data.rows import FileError
from model.data.source import Source
from model.encoders.images import ImageError
from model.features.store import content_key
from worker.fetch.errors import FetchError
from worker.fetch.files import local_path, read_file
from worker.stages.context import StageContext
from worker.stages.source import open_collection_source


class ImageBytes:
    """Safe to share between threads."""

    def __init__(self, context: StageContext) -> None:
        self._context = context
        self._storage, self._settings = context.storage, context.settings
        self._image_root = context.collection().read_options.get("image_root")

    @cached_property
    def _source(self) -> Source:
        """Most collections never need it."""
        return open_collection_source(self._context)

    def read(self, url: str, place: str | None, sha256: bytes) -> bytes:
        """ImageError where they are gone or have changed."""
        try:
            data = self._read(url, place, sha256)
        except (FetchError, FileError, OSError) as error:
            raise ImageError("truncated", f"The image was there when it was fetched, but not now: {error}") from error
        if content_key(data) != sha256:
            raise ImageError("truncated", "The file has changed since it was fetched.")
        return data

    def _read(self, url: str, place: str | None, sha256: bytes) -> bytes:
        if place is not None:
            return self._source.read_image(place, self._settings.max_image_bytes)
        path = local_path(url, self._image_root)
        if path is None:
            return self._storage.image(sha256).read_bytes()
        return read_file(path, self._settings.image_roots, self._settings.max_image_bytes)
