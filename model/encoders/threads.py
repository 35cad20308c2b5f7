"""Batches in threads: each runs whole batches by itself. Without barriers, others on the machine cost little."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import torch


def in_threads(run: Callable[[int], None], starts: Iterable[int], threads: int) -> None:
    """`run` for every start; what it raises is raised here. Within it, torch keeps to the thread it is called in."""
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, "encode", torch.set_num_threads, (1,)) as pool:
            list(pool.map(run, starts))
    finally:
        torch.set_num_threads(before)  # the pool's setting would pass on to threads made later
