"""What is being done, told on stderr while it is being done."""

import contextlib
import time
from collections.abc import Callable, Iterator

from understudy.privacy.steps_told import StepsTold, WorkDone
from understudy.spoken import plain_console


@contextlib.contextmanager
def told_steps(*, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that tells a step: a line each, with a sign of life on a terminal.

    No times are told and no amounts of work, for they may depend on rows; but who watches a
    terminal, and has a clock anyway, is told how long steps still take. Nothing keeps that.
    """
    if quiet:
        yield lambda _: None
        return
    console = plain_console(stderr=True)
    if not console.is_terminal:
        yield lambda step: console.print(f"{step} …", soft_wrap=True)
        return
    with console.status("Starting", spinner="dots") as status:
        left, began = TimeLeft(), time.monotonic()

        def tell(step: str) -> None:
            if isinstance(step, StepsTold):
                status.update(left.told(step))
                return
            if isinstance(step, WorkDone):
                status.update(f"{step} ({time.monotonic() - began:.0f} s)")
                return
            console.print(f"{step} …")
            status.update("Working")

        yield tell


class TimeLeft:
    """How long steps still take, by how long those before them took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began: tuple[int, int, float] | None = None

    def told(self, step: StepsTold) -> str:
        """The steps, and the time that the others will take once two of them were told."""
        now = self._clock()
        if self._began is None or self._began[0] >= step.done or self._began[1] != step.whole:
            self._began = (step.done, step.whole, now)  # another run
            return str(step)
        first, whole, then = self._began
        seconds = (now - then) / (step.done - first) * (whole - step.done)
        if seconds < 1:
            return str(step)
        minutes = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"  # noqa: PLR2004
        return f"{step}, about {minutes} left"
