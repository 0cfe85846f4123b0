"""Pieces of work that are done several at a time, each in a process of its own."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import TypeVar

from understudy.errors import BadInput

Piece = TypeVar("Piece")
Outcome = TypeVar("Outcome")
_TOLD = 20
"""After so many pieces it is told how it goes."""


def done_by_several(
    work: Callable[[Piece], Outcome], pieces: Sequence[Piece], jobs: int
) -> Iterator[Outcome]:
    """Outcomes as they come. Who stops it gets those that are there, and then the interruption."""
    if jobs < 1:
        msg = f"{jobs} processes; take at least one."
        raise BadInput(msg)
    if jobs == 1:
        yield from map(work, pieces)
        return
    context = get_context("spawn")
    # Nothing is ever sent: it breaks when this process ends, however it ends, or lets go of it.
    theirs, ours = context.Pipe(duplex=False)
    running: set[Future[Outcome]] = set()
    with ProcessPoolExecutor(jobs, context, be_one_of_several, (theirs,)) as pool:
        waiting = iter(pieces)
        try:
            while True:
                # Only as many as there are processes, so that few are lost.
                for piece in waiting:
                    with _held_back():
                        running.add(pool.submit(work, piece))
                    if len(running) == jobs:
                        break
                if not running:
                    return
                ended, running = wait(running, return_when=FIRST_COMPLETED)
                yield from _finished(ended)
        except KeyboardInterrupt:
            yield from _finished([one for one in running if one.done()])
            raise
        except BrokenProcessPool:
            yield from _finished([one for one in running if one.done() and not one.exception()])
            msg = (
                "A process was ended from outside, perhaps for lack of memory. "
                "Start the same command again, better with fewer --jobs."
            )
            raise BadInput(msg) from None
        finally:
            ours.close()
            pool.shutdown(wait=False, cancel_futures=True)


def timed(
    work: Callable[[Piece], Outcome],
    pieces: Sequence[Piece],
    jobs: int,
    tell: Callable[[str], None],
) -> Iterator[Outcome]:
    """The same, and now and then somebody is told how much is left."""
    start = time.monotonic()
    for done, outcome in enumerate(done_by_several(work, pieces, jobs), start=1):
        yield outcome
        if done % _TOLD == 0:
            left = (time.monotonic() - start) / done * (len(pieces) - done)
            tell(f"{done} of {len(pieces)} trials, about {left / 60:.0f} min left")


def be_one_of_several(line: Connection) -> None:
    """In a process beside others: no threads for sums, and no life without its parent."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - in the worker alone

    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)
    # An interruption is for the parent, who says when to end; from the start, see `_held_back`.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, args=(line,), daemon=True).start()


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """Interruptions wait for the end of the block; processes that start in it never see one."""
    # Another thread may take the signal, and Python would still interrupt the first one.
    first = threading.current_thread() is threading.main_thread()
    usual = signal.getsignal(signal.SIGINT)
    came: list[int] = []
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    if first:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        if first:
            signal.signal(signal.SIGINT, usual)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if came:
        raise KeyboardInterrupt


def _end_with_parent(line: Connection) -> None:
    wait_for([line])
    os._exit(1)


def _finished(ended: Collection[Future[Outcome]]) -> Iterator[Outcome]:
    """What came of them; those that broke come last, and raise."""
    for one in sorted(ended, key=lambda future: future.exception() is not None):
        yield one.result()
