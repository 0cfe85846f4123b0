"""Releases that are killed at a chosen system call, for the test of crash safety.

Started as a program it loads everything once and then reads orders, one JSON object per line. For
each it forks a child (no engine is open before the fork), lets the child make a release, and
answers how the child ended. A child that is told to die kills itself, as nothing else is as sure
to be at the right place: with SIGKILL, before or after one of its system calls, or when a write
has written only some of its bytes. Whatever a child has received it notes at once in a log of
its own, so that the test knows what was truly spent.
"""

import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import pwd
import signal
import sys
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import opendp.prelude
import pyarrow as pa

from understudy.column import Column, Kind
from understudy.errors import UnderstudyError
from understudy.privacy import noise
from understudy.privacy.account import Account
from understudy.privacy.accountant import gaussian_scale
from understudy.privacy.budget import Budget
from understudy.privacy.events import Gaussian
from understudy.privacy.folder import publish
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, open_release
from understudy.privacy.scores import L1Distance
from understudy.privacy.unit import Record
from understudy.schema import Schema

SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), null=False),
        Column(name="sex", kind=Kind.CATEGORICAL, categories=("f", "m"), null=False),
    )
)
TABLE = pa.table({"age": [20, 40, 40, 60] * 5, "sex": ["f", "m"] * 10})
RELEASE = Budget(0.5, 1e-9)
EPSILON = 0.0625
"""Of the one selection in a release; exact in binary."""
SECONDS = 60
"""No child takes longer, unless it waits for a lock that should be gone."""
_BY_PATH = ("open", "link", "unlink", "rename", "replace", "mkdir", "rmdir")
_BY_HANDLE = ("write", "pread", "fsync", "ftruncate", "close")
# The real ones, for what the tests themselves write.
_open, _write, _fstat = os.open, os.write, os.fstat


class Log:
    """A file to which a process adds lines, each with one call that nothing buffers."""

    def __init__(self, path):
        self._handle = _open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __call__(self, **facts):
        _write(self._handle, json.dumps(facts).encode() + b"\n")


class Watch:
    """Counts the system calls on files in one folder, and dies at one of them if told to."""

    def __init__(self, folder, log, death):
        self._folder = os.fspath(folder)
        self._log = log
        self._death = death or {}
        self._count = 0
        self._paths = {}

    def install(self):
        for name in _BY_PATH:
            setattr(os, name, self._by_path(name, getattr(os, name)))
        for name in _BY_HANDLE:
            setattr(os, name, self._by_handle(name, getattr(os, name)))
        fcntl.flock = self._by_handle("flock", fcntl.flock)
        io.open = self._opening(io.open)

    def step(self, name, run, data=None):
        """One call: count it, and die before it, in it or after it."""
        place, self._count = self._count, self._count + 1
        when = self._death["when"] if self._death.get("call") == place else None
        if not self._death:
            self._log(call=name, size=None if data is None else len(data))
        if when == "before":
            die()
        if when == "part":
            run(bytes(data)[: self._death["size"]])
            die()
        result = run() if data is None else run(data)
        if when == "after":
            die()
        return result

    def _ours(self, path):
        return not isinstance(path, int) and os.fspath(path).startswith(self._folder)

    def _by_path(self, name, real):
        def call(path, *rest, **named):
            if not self._ours(path):
                return real(path, *rest, **named)
            result = self.step(name, lambda: real(path, *rest, **named))
            if name == "open":
                self._paths[result] = Path(path).name
            return result

        return call

    def _by_handle(self, name, real):
        def call(handle, *rest):
            if handle not in self._paths:
                return real(handle, *rest)
            if name == "write":
                return self.step(name, lambda data: real(handle, data), rest[0])
            result = self.step(name, lambda: real(handle, *rest))
            if name == "fsync":
                # What a power failure would leave, should it come next.
                self._log(synced=self._paths[handle], size=_fstat(handle).st_size)
            if name == "close":
                del self._paths[handle]
            return result

        return call

    def _opening(self, real):
        def call(path, mode="r", *rest, **named):
            if not self._ours(path):
                return real(path, mode, *rest, **named)
            if not set("wxa") & set(mode):
                return self.step(f"open {mode}", lambda: real(path, mode, *rest, **named))
            file = self.step(f"open {mode}", lambda: _File(path, mode))
            file.watch = self
            self._paths[file.fileno()] = Path(path).name
            return file

        return call


class _File(io.FileIO):
    """A file whose every write is a system call of its own."""

    watch = None

    def write(self, data):
        return self.watch.step("write", super().write, data)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def make_release(log, ledger, folder):
    """A small release; everything that it asks for and receives is noted at once."""
    with Ledger.open(TABLE, SCHEMA, RELEASE, file=ledger) as opened:
        rho = opened.rest() / 4
        log(asked=str(rho))
        (age,) = opened.measure([("age",)], rho=rho)
        received(log, age)
        # A little more than its formula, for costs are rounded up.
        chosen_rho = Fraction(EPSILON) ** 2 / 8
        log(asked=str(chosen_rho + Fraction(1, 2**90)))
        candidates = [
            L1Distance((name,), np.zeros(opened.domain.shape((name,)))) for name in ("age", "sex")
        ]
        place = opened.select(candidates, epsilon=EPSILON)
        log(received=str(chosen_rho), noise=None)
        rho = opened.rest() / 2
        log(asked=str(rho))
        (pair,) = opened.measure([("age", "sex")], rho=rho)
        received(log, pair)
        certificate = opened.close()
        files = {
            "measurements.json": json.dumps([age.values.tolist(), pair.values.tolist()]).encode(),
            "choice.txt": b"age" if place == 0 else b"sex",
        }
        publish(folder, files, certificate)
        log(published=True)
        opened.end()


def received(log, measurement):
    """What was truly spent follows from the noise: one record moves one cell by one."""
    rho = 1 / (2 * Fraction(measurement.scale) ** 2)
    log(received=str(rho), noise=sha256(measurement.values.tobytes()).hexdigest())


def do_release(log, order):
    make_release(log, Path(order["ledger"]), Path(order["folder"]))


def do_create(log, order):
    create_ledger(Path(order["ledger"]), Budget(4.0, 1e-8))
    log(created=True)


def do_refused(log, order):
    """What can be written in a folder by somebody who may only read it."""
    os.chdir(order["folder"])  # its parents may be closed to others
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
    attempts = {
        "create": lambda: create_ledger(Path("new.ledger"), Budget(4.0, 1e-8)),
        "release": lambda: make_release(log, Path("table.ledger"), Path("release")),
        "publish": lambda: publish(Path("release"), {}, free_certificate()),
    }
    for name, attempt in attempts.items():
        with outcome(log, name):
            attempt()


def free_certificate():
    with Ledger.open(TABLE, SCHEMA, RELEASE) as opened:
        return opened.close()


def do_shared(log, order):
    """A release is open while its process forks; both halves ask for more than half of it."""
    release = open_release(Path(order["ledger"]), RELEASE, str(Record()))
    account = Account.open(RELEASE, file=release)
    event = Gaussian(gaussian_scale(Fraction(1), RELEASE.rho * 6 / 10), Fraction(1))
    pid = os.fork()
    with outcome(log, "child" if pid == 0 else "parent"):
        account.debit(event, {})
        log(received=str(1 / (2 * Fraction(event.scale) ** 2)), noise=None)
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    release.close()


@contextlib.contextmanager
def outcome(log, name):
    """Note how something ended, and go on."""
    try:
        yield
        log(outcome=name, error=None)
    except (UnderstudyError, OSError) as error:
        log(outcome=name, error=type(error).__name__)


DO = {
    "release": do_release,
    "create": do_create,
    "refused": do_refused,
    "shared": do_shared,
}


def child(order, place):
    """What a forked process does; it never returns."""
    code = 1
    try:
        signal.alarm(SECONDS)
        log = Log(order["logs"][place])
        order["folder"] = order["folders"][place]
        with outcome(log, "all"):
            if "watched" in order:
                Watch(order["watched"], log, order.get("death")).install()
            DO[order["do"]](log, order)
        code = 0
    finally:
        # No clean-up: a process that dies does not get to it either.
        os._exit(code)


def run(order):
    """Fork the order's processes, let them start together, and wait for all of them."""
    gate, start = os.pipe()
    pids = []
    for place in range(len(order["logs"])):
        pid = os.fork()
        if pid == 0:
            os.close(start)
            os.read(gate, 1)  # returns when the last writer closes it
            child(order, place)
        pids.append(pid)
    os.close(gate)
    os.close(start)
    codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]
    return {"codes": codes}


def warm_up(folder):
    """Load what the first release loads, which a child finds out."""
    pid = os.fork()
    if pid == 0:
        known = set(sys.modules)
        try:
            create_ledger(folder / "warm.ledger", Budget(4.0, 1e-8))
            make_release(Log(folder / "warm.log"), folder / "warm.ledger", folder / "warm")
            (folder / "modules").write_text("\n".join(set(sys.modules) - known))
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    for name in (folder / "modules").read_text().split():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    opendp.prelude.enable_features("contrib")
    # A generator that kept bits in store would now hand the same ones to every child.
    noise.with_gaussian_noise(np.zeros(3, np.int64), 10.0, noise.OsRandom())
    gc.freeze()  # so that children share what is loaded, instead of copying it page by page


def main(folder):
    warm_up(Path(folder))
    tell({"ready": True})
    for line in sys.stdin:
        tell(run(json.loads(line)))


def tell(answer):
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
