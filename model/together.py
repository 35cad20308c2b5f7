"""Several pieces of work at the same time, each in a thread, watched from the one that started them."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import torch

_POLL_SECONDS = 0.1

Work = Callable[[threading.Event], None]


def run_together(works: Sequence[Work], watch: Callable[[], None]) -> None:
    """Each gets an event that tells it to end early: when another one fails, or when `watch`, which is called again
    and again, raises. The first error is raised here."""
    threads, is_over = torch.get_num_threads(), threading.Event()

    def run(work: Work) -> None:
        torch.set_num_threads(threads)  # a new thread would take all cores
        work(is_over)

    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(run, work) for work in works]
        try:
            while (state := wait(running, _POLL_SECONDS, FIRST_EXCEPTION)).not_done:
                if any(future.exception() for future in state.done):
                    break
                watch()
        finally:
            is_over.set()
    for future in running:
        future.result()
