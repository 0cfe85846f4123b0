"""Settings shared by all tests, and the engines that hold tables for them."""

import contextlib
import gc
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

# Before NumPy is loaded, and for programs that tests start: on tables this small, threads that
# multiply matrices wait for each other several times longer than they work.
os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})

import ibis
import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

# A fixed seed: a run that fails on one machine fails on every machine.
settings.register_profile(
    "repeatable",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("repeatable")


COUNTED_CASES = 1
_CASES = Counter()


def pytest_addoption(parser):
    parser.addoption("--data", metavar="DIR", help="public benchmark tables, for tests/real")


def pytest_configure():
    """Keep files in memory, where there is room: to throw them away costs nothing there."""
    memory = Path("/dev/shm")  # noqa: S108 - pytest makes a folder of its own in it
    if memory.is_dir() and shutil.disk_usage(memory).free > 2**32:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))


def pytest_collection_finish():
    """Look for no garbage among the thousands of tests: they stay to the end."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish():
    gc.unfreeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Count no lines of tests that repeat them: tracing takes as long as they do.

    These are random tests, and all but the first cases of others. What they alone would reach
    counts as not reached.
    """
    function = item.nodeid.partition("[")[0]
    _CASES[function] += 1
    if _CASES[function] <= COUNTED_CASES and not (
        is_hypothesis_test(getattr(item, "obj", None))
        or item.get_closest_marker("statistical")
        or item.get_closest_marker("untraced")
    ):
        return (yield)
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.fixture(scope="session")
def data(request):
    """The folder of public tables; tests that need it are skipped without it."""
    folder = request.config.getoption("--data") or os.environ.get("UNDERSTUDY_DATA")
    if not folder:
        pytest.skip("needs public tables: pytest --data DIR, or UNDERSTUDY_DATA=DIR")
    return Path(folder)


@pytest.fixture
def untraced_threads():
    """Threads whose lines are not counted: CPython 3.11 lets one thread at a time set its tracer.

    Threads that start together die of it now and then, before they did anything.
    """
    tracer = threading.gettrace()
    threading.settrace(None)
    yield
    threading.settrace(tracer)


@pytest.fixture(scope="session")
def duckdb_engine():
    return ibis.duckdb.connect()


@pytest.fixture(scope="session")
def sqlite_engine():
    engine = ibis.sqlite.connect()
    yield engine
    engine.disconnect()


@pytest.fixture(scope="session")
def postgres_engine():
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server programs here (Debian: postgresql)")
    with _postgres_server(programs) as socket:
        engine = ibis.postgres.connect(host=socket, user="tester", database="postgres")
        yield engine
        engine.disconnect()


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def engine(request):
    """Each engine in turn."""
    return request.getfixturevalue(f"{request.param}_engine")


def _postgres_programs() -> Path | None:
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists()), None)


@contextlib.contextmanager
def _postgres_server(programs: Path):
    """A server of our own in a temporary folder, reached by a socket only."""
    with tempfile.TemporaryDirectory(prefix="understudy-pg-") as folder:
        owner = {}
        if os.geteuid() == 0:
            # The server refuses to run as root; any unprivileged account will do.
            try:
                account = pwd.getpwnam("postgres")
            except KeyError:
                account = pwd.getpwnam("nobody")
            os.chown(folder, account.pw_uid, account.pw_gid)
            owner = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        data = Path(folder) / "data"

        def run(*command):
            subprocess.run(command, check=True, capture_output=True, cwd=folder, **owner)

        run(programs / "initdb", "-D", data, "-A", "trust", "-U", "tester", "-E", "UTF8")
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = (programs / "pg_ctl", "-D", data, "-w", "-l", Path(folder) / "log")
        run(*control, "-o", options, "start")
        try:
            yield folder
        finally:
            run(*control, "-m", "immediate", "stop")
