"""Where files lie under the storage folder, and how they get there: whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import UUID, uuid4


class Storage:
    def __init__(self, root: Path) -> None:
        self.root = root

    def upload(self, collection_id: UUID) -> Path:
        return self.root / "uploads" / str(collection_id)

    def unpacked(self, collection_id: UUID) -> Path:
        """A folder for what readers have to unpack before they can use it."""
        return self.root / "unpacked" / str(collection_id)

    def image(self, sha256: bytes) -> Path:
        digest = sha256.hex()
        return self.root / "images" / digest[:2] / digest

    def thumbnail(self, sha256: bytes) -> Path:
        """A small JPEG of the image with this content, made here."""
        digest = sha256.hex()
        return self.root / "thumbnails" / digest[:2] / digest

    def features(self, encoder_identity: str, side: str) -> Path:
        return self.root / "features" / encoder_identity / side

    def feature_cache(self, encoder_identity: str, side: str) -> Path:
        """Copies of features that lie elsewhere; any of them may go."""
        return self.root / "feature-cache" / encoder_identity / side

    def run(self, run_id: UUID) -> Path:
        return self.root / "runs" / str(run_id)

    def export(self, export_id: UUID) -> Path:
        return self.root / "exports" / str(export_id)


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name only when complete and on disk; after an exception it is not there."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
        finish_file(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_by_content(target: Path, data: bytes) -> None:
    """A file named by its content. It is not forced to disk, which for millions of small files would take hours: one
    that a power cut tore does not have its hash when it is read, and writing it again mends it."""
    temporary = target.with_name(f"{target.name}.{uuid4().hex}.tmp")
    try:
        try:
            temporary.write_bytes(data)
        except FileNotFoundError:  # seldom: there are 256 folders
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def finish_file(temporary: Path, target: Path) -> None:
    """Give a complete file its name so that it survives a power cut: file to disk, rename, folder to disk."""
    _sync(temporary)
    temporary.replace(target)
    _sync(target.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
