"""Random numbers of a network while it learns: from a generator of its own, so that networks may learn side by side and
the outcome is the same as one after the other."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_own = threading.local()


def current() -> torch.Generator | None:
    """Whose random numbers are being drawn in this thread; None is torch's global generator."""
    return getattr(_own, "generator", None)


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    before = current()
    _own.generator = generator
    try:
        yield
    finally:
        _own.generator = before
