"""The source that a collection was made of, opened as the user asked: by ingest first, later again for its images."""

from pathlib import Path

from model.data.source import ReadOptions, Source
from model.data.sources import open_source
from service.db.tables import Collection
from worker.stages.context import StageContext, StageFailed


def open_collection_source(context: StageContext) -> Source:
    """FileError where the source cannot be read, StageFailed where it must not be."""
    collection = context.collection()
    upload = context.storage.upload(collection.id)
    folder = collection.read_options.get("folder")
    if folder is None and not upload.exists():
        raise FileNotFoundError(f"the upload {upload} is not in the storage")  # a disk may come back: tried again
    path = upload if folder is None else allowed_path(context, Path(folder))
    try:
        return open_source(path, read_options(collection), scratch=context.storage.unpacked(collection.id))
    except PermissionError as error:
        detail = f"The worker may not read it: {error}. Give it leave, or upload the file."
        raise StageFailed("no_permission", "The path may not be read", detail) from error


def read_options(collection: Collection) -> ReadOptions:
    asked = dict(collection.read_options)
    asked.pop("folder", None)
    allow_paths = asked.pop("image_root", None) is not None
    return ReadOptions(**asked, allow_paths=allow_paths)


def is_allowed(context: StageContext, real: Path) -> bool:
    """Whether the operator lets users name a path on this machine; its links must have been followed before."""
    return any(real.is_relative_to(root.resolve()) for root in context.settings.image_roots)


def allowed_path(context: StageContext, path: Path) -> Path:
    real = path.resolve()
    if not is_allowed(context, real):
        detail = f"{path} is not below a folder in PAIRSIFT_IMAGE_ROOTS on the worker; upload it instead."
        raise StageFailed("blocked_path", "The path may not be read", detail)
    if not real.exists():
        raise StageFailed("no_such_path", "There is no such file or folder", f"The worker finds nothing at {path}.")
    return real
