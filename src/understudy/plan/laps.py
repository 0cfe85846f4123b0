"""How long a part of the work took, and what this program held at its peak meanwhile."""

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_STATUS = Path("/proc/self/status")
_STAT = Path("/proc/self/stat")
_STARTED = 19
"""Which field behind a program's name tells when it was started."""
_FORGET = Path("/proc/self/clear_refs")


@dataclass
class Lap:
    """A part of the work, filled in when it is done."""

    seconds: float = 0.0
    peak: int | None = None
    """Bytes; None where the system does not tell."""
    before: int | None = None
    """What was held when it began; where the system tells peaks alone, the last one."""

    @property
    def grown(self) -> int:
        """By how much more was held than before."""
        if self.peak is None or self.before is None:
            return 0
        return max(self.peak - self.before, 0)


@contextlib.contextmanager
def lap() -> Iterator[Lap]:
    """Measure what is done inside."""
    with contextlib.suppress(OSError):
        _FORGET.write_text("5")  # from here on a peak is that of this part alone
    found, began = Lap(before=_held()), time.perf_counter()
    yield found
    found.seconds, found.peak = time.perf_counter() - began, _peak()


def age() -> float:
    """Seconds since this program was started; where the system does not tell, those it worked."""
    if not _STAT.is_file() or not hasattr(time, "CLOCK_BOOTTIME"):
        return time.process_time()
    after_name = _STAT.read_text().rpartition(")")[2].split()
    started = int(after_name[_STARTED]) / os.sysconf("SC_CLK_TCK")
    return max(time.clock_gettime(time.CLOCK_BOOTTIME) - started, time.process_time())


def _held() -> int | None:
    return _status("VmRSS:") if _STATUS.is_file() else _peak()


def _peak() -> int | None:
    """The peak of this process, as far as the system tells it."""
    if _STATUS.is_file():
        # What getrusage tells begins with the size of the program that started this one.
        return _status("VmHWM:")
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 - not there on every system

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _status(name: str) -> int | None:
    found = [line for line in _STATUS.read_text().splitlines() if line.startswith(name)]
    return 1024 * int(found[0].split()[1]) if found else None
