"""Xids of one GPU as they happen, one number a line, until this program is told to end: python xid_events.py INDEX.

NVML tells them to who listens at that moment and keeps none, and the kernel's log is closed to most users. A program
of its own, for the same reason as survey.py. It ends with the process that started it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

import pynvml

_PR_SET_PDEATHSIG = 1
_WAIT_MILLISECONDS = 100


def main(index: int) -> None:
    """Listen to the GPU that NVML counts as `index`; say `listening` first."""
    told_to_end: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told_to_end.append(number))
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    pynvml.nvmlInit()
    events = pynvml.nvmlEventSetCreate()
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    pynvml.nvmlDeviceRegisterEvents(handle, pynvml.nvmlEventTypeXidCriticalError, events)
    _say("listening")
    while os.getppid() == parent:
        last = bool(told_to_end)  # what happened before that is still taken in
        try:
            _say(str(pynvml.nvmlEventSetWait(events, _WAIT_MILLISECONDS).eventData))
        except pynvml.NVMLError as error:
            if error.value != pynvml.NVML_ERROR_TIMEOUT:
                raise
            if last:
                return


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
