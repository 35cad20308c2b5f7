"""Child processes end with the command that started them, also when that one is killed."""

import ctypes
import os
import signal
import sys

from service.config import Settings

PR_SET_PDEATHSIG = 1


def follow_parent(settings: Settings) -> None:
    """Ask the kernel for SIGTERM when the parent dies; only for children that `follow_parent` was set for."""
    if not settings.follow_parent or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:  # it died before the kernel was asked
        os.kill(os.getpid(), signal.SIGTERM)
