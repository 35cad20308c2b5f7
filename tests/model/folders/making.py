"""Files for the tests of folders and archives, made on the spot."""

import gzip
import io
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from model.data.folders.detect import open_folder
from model.data.rows import Pair, Reject
from model.data.source import ReadOptions, Source

CONTAINERS = ["directory", "tar", "tar.gz", "tar.zst", "zip", "stored zip"]
Members = dict[str, bytes]


def tar_of(members: Members, *others: tarfile.TarInfo) -> bytes:
    """A tar in memory; `others` are entries without content: links, devices."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for info in others:
            tar.addfile(info)
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_of(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def pack(members: Members, container: str, at: Path) -> Path:
    """The members in a directory or an archive; its name says nothing about what it is."""
    path = at / "upload"
    if container == "directory":
        for name, data in members.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
        return path
    if container.endswith("zip"):
        data = zip_of(members, zipfile.ZIP_STORED if "stored" in container else zipfile.ZIP_DEFLATED)
    else:
        data = tar_of(members)
        if container == "tar.gz":
            data = gzip.compress(data)
        if container == "tar.zst":
            data = zstandard.ZstdCompressor().compress(data)
    path.write_bytes(data)
    return path


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=allow_pickle)
    return out.getvalue()


def npz(*, compressed: bool = False, **arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    if compressed:
        np.savez_compressed(out, **arrays)
    else:
        np.savez(out, **arrays)
    return out.getvalue()


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


def opened(path: Path, **options: Any) -> Source:
    return open_folder(path, ReadOptions(**options), path.parent / "scratch")


def pairs_of(source: Source) -> list[Pair]:
    """All rows, which must all be pairs."""
    found = list(source.rows())
    assert all(isinstance(item, Pair) for item in found), found
    return [item for item in found if isinstance(item, Pair)]


def rejects_of(source: Source) -> list[Reject]:
    return [item for item in source.rows() if isinstance(item, Reject)]


def image_of(source: Source, pair: Pair) -> bytes:
    assert pair.place is not None
    return source.read_image(pair.place, 1 << 20)
