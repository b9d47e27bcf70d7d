"""The machine that measures: what it is, and whether it is quiet."""

import os
import pathlib
import platform
import time

QUIET = 0.1  # the part of all processors that others may use where a block begins


def processor():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} processors"


def busy_share(seconds=0.5):
    """The part of all processor time that anyone used for the next moment."""
    def read():
        fields = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return sum(fields), fields[3] + fields[4]
    total, idle = read()
    time.sleep(seconds)
    later_total, later_idle = read()
    return 1 - (later_idle - idle) / max(1, later_total - total)


def wait_for_quiet(quiet_timeout):
    deadline = time.monotonic() + quiet_timeout
    share = busy_share()
    while share > QUIET and time.monotonic() < deadline:
        share = busy_share()
    return share


def copying_rate(megabytes=128):
    """Gigabytes a second that one processor moves, read and written: low where others use the memory."""
    source, target = bytearray(megabytes << 20), bytearray(megabytes << 20)
    target[:] = source
    begin = time.perf_counter()
    target[:] = source
    return 2 * len(source) / (time.perf_counter() - begin) / 1e9
