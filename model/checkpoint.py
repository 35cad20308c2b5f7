"""Save and resume: one sealed file per epoch, the newest two kept.

A file is the sha256 of its payload in hex, a newline, and the payload, so a torn or altered file is known
before anything in it is read.
"""

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

_KEEP = 2
_PATTERN = "checkpoint-*.pt"
_SEAL = 64  # hex digits of a sha256


class CheckpointMismatch(Exception):
    """The folder holds checkpoints of another run."""


def save(folder: Path, number: int, state: dict[str, Any]) -> Path:
    """Write checkpoint `number`, there whole or not at all, and drop those before the last two."""
    folder.mkdir(parents=True, exist_ok=True)
    buffer = io.BytesIO()
    torch.save(state, buffer)
    payload = buffer.getbuffer()
    path = folder / f"checkpoint-{number:06d}.pt"
    partial = folder / f".{path.name}.{os.getpid()}.tmp"
    with partial.open("wb") as file:
        file.write(hashlib.sha256(payload).hexdigest().encode() + b"\n")
        file.write(payload)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    _sync_folder(folder)
    for old in sorted(folder.glob(_PATTERN))[:-_KEEP]:
        old.unlink(missing_ok=True)
    return path


def load_newest(folder: Path, config_hash: str, pairs: int) -> dict[str, Any] | None:
    """The newest checkpoint whose seal holds, or None; that of another run is refused."""
    for path in sorted(folder.glob(_PATTERN), reverse=True):
        state = _read(path)
        if state is None:
            continue
        if state["config_hash"] != config_hash:
            raise CheckpointMismatch(f"{path.name} was made with another configuration; use another folder")
        if state["pairs"] != pairs:
            # Not how many: known mismatches are counted with them, and are nobody's business.
            raise CheckpointMismatch(f"{path.name} belongs to a collection of another size; use another folder")
        return state
    return None


def _read(path: Path) -> dict[str, Any] | None:
    content = path.read_bytes()
    seal, payload = content[:_SEAL], content[_SEAL + 1 :]
    if hashlib.sha256(payload).hexdigest().encode() != seal:
        return None
    state: dict[str, Any] = torch.load(io.BytesIO(payload), weights_only=True, map_location="cpu")
    return state


def _sync_folder(folder: Path) -> None:
    """A rename is safe against a power cut only once its folder is on disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
