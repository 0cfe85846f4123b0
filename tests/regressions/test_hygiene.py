"""Files that mean harm, names that lead elsewhere, and traces that rows must not leave.

What other tests already show is not shown again: certificates and ledger lines that are no JSON,
names that lead out of a folder that is written, models whose numbers nobody could have written.
"""

import ast
import gzip
import hashlib
import importlib.util
import json
import os
import stat
import subprocess
import sys
import textwrap
import time
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv
from typer.testing import CliRunner

import understudy
from understudy.cli.app import app
from understudy.column import Column, Kind
from understudy.errors import BadInput, CheckFailed, UnderstudyError
from understudy.pipeline import synthesize
from understudy.privacy.budget import Budget
from understudy.privacy.folder import verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.spelling import digest, spelled, spelled_for_people
from understudy.release import load
from understudy.schema import Schema
from understudy.schema_files import read_schema

SOURCE = Path(understudy.__file__).parent
DEEP = 100_000
LONG = "9" * 20_000
"""More digits than Python turns into a number without being asked to."""


# --- nothing that is read can run -----------------------------------------------------------------


MODULES = {"pickle", "cPickle", "_pickle", "marshal", "shelve", "joblib", "dill", "cloudpickle"}
MODULES |= {"yaml", "ruamel", "jsonpickle", "codeop", "runpy"}
CALLED = {"eval", "exec", "compile", "__import__", "read_pickle", "to_pickle", "unsafe_load"}


def ways_to_run(text):
    """What in a module's text could run what it reads."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        elif isinstance(node, ast.ImportFrom):
            root = (node.module or "").split(".")[0]
            names = [alias.name for alias in node.names]
            if root in MODULES or (root == "builtins" and CALLED & set(names)):
                yield f"from {node.module} import {', '.join(names)}"
        elif isinstance(node, ast.Call):
            yield from _calls_that_run(node)


def _calls_that_run(node):
    plain = isinstance(node.func, ast.Name)
    name = node.func.id if plain else getattr(node.func, "attr", "")
    owner = getattr(getattr(node.func, "value", None), "id", "")
    # Patterns and queries are compiled by methods of that name, which run nothing.
    if name in CALLED and (plain or name != "compile" or owner == "builtins"):
        yield f"{owner}.{name}"
    if (owner, name) in {("np", "load"), ("numpy", "load"), ("yaml", "load")}:
        yield f"{owner}.{name}"
    yield from (k.arg for k in node.keywords if k.arg == "allow_pickle")


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.name)
def test_no_module_can_run_what_it_reads(path):
    assert list(ways_to_run(path.read_text())) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import joblib.memory as m",
        "from dill import loads",
        "from builtins import eval as innocent",
        "import numpy as np\nnp.load('f', allow_pickle=True)",
        "read(file, allow_pickle=flag)",
        "import pandas\npandas.read_pickle('f')",
        "eval('1')",
        "def f():\n    return exec(text)",
        "import builtins\nbuiltins.compile(text, '', 'exec')",
    ],
)
def test_such_a_way_would_be_found(text):
    assert list(ways_to_run(text))


# --- files that mean harm -------------------------------------------------------------------------


@contextmanager
def refused(seconds=2.0, megabytes=60, error=UnderstudyError):
    """Expects a refusal of ours: soon, in little memory, and short."""
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(error) as caught:
            yield caught
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < seconds
    assert peak < megabytes * 2**20
    assert len(str(caught.value)) < 2000


SCHEMAS = {
    "a number of many digits, as an mbi domain": ("json", f'{{"a": {LONG}}}'),
    "a number of many digits, as SDV metadata": ("json", f'{{"columns": {{"a": {LONG}}}}}'),
    "no number at all": ("json", '{"a": NaN}'),
    "endless codes": ("json", '{"a": Infinity}'),
    "codes by the trillion": ("json", '{"a": 1000000000000}'),
    "less than no codes": ("json", '{"a": -1}'),
    "codes that are true": ("json", '{"a": true}'),
    "columns in a list": ("json", '{"columns": [1, 2]}'),
    "a list of tables": ("json", '{"tables": [{}]}'),
    "a nested value": ("json", '{"columns": {"a": ' + '{"b":' * DEEP + "1" + "}" * DEEP + "}}"),
    "text": ("json", '"columns"'),
    "bounds of many digits": ("toml", f"[columns.a]\nkind='integer'\nbounds=[0, {LONG}]"),
    "a bound on rows of many digits": ("toml", f"[rows]\nbound={LONG}\n[columns.a]\nkind='real'"),
    "bounds of many hexadecimal digits": (
        "toml",
        f"[columns.a]\nkind='integer'\nbounds=[0, 0x{'f' * 200_000}]",
    ),
    "an exponent beyond measure": ("toml", "[columns.a]\nkind='real'\nbounds=[0.0, 1e99999999]"),
    "bounds that are no numbers": ("toml", "[columns.a]\nkind='real'\nbounds=[nan, inf]"),
    "bins by the trillion": ("toml", "[columns.a]\nkind='real'\nbounds=[0, 1]\nbins=10000000000"),
    "very many edges": (
        "toml",
        f"[columns.a]\nkind='integer'\nedges={list(range(5_000))}",
    ),
    "very many atoms": (
        "toml",
        f"[columns.a]\nkind='integer'\nbounds=[0, 9]\natoms={list(range(5_000))}",
    ),
    "nested tables in a line": ("toml", "a=" + "{b=" * DEEP),
    "a day that there is not": (
        "toml",
        "[columns.a]\nkind='date'\nbounds=[2020-02-30, 2021-01-01]",
    ),
}


@pytest.mark.parametrize(("suffix", "text"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_means_harm_is_refused_soon(suffix, text, tmp_path):
    path = tmp_path / f"schema.{suffix}"
    path.write_text(text)
    with refused():
        read_schema(path)


SMALL = Schema(
    (
        Column(name="n", kind=Kind.INTEGER, bounds=(0, 3), null=False),
        Column(name="c", kind=Kind.CATEGORICAL, categories=("x", "y"), null=False),
    )
)


@pytest.fixture(scope="module")
def small():
    """A small release, made from real noise."""
    table = pa.table({"n": [0, 1, 2, 3] * 10, "c": ["x", "y"] * 20})
    return synthesize(table, epsilon=1.0, schema=SMALL, rows=20, mechanism="independent")


def rehashed(folder, edit):
    """Edit a certificate as somebody would who knows how it is hashed."""
    path = folder / "certificate.json"
    content = json.loads(path.read_bytes())
    edit(content)
    content.pop("sha256")
    content["sha256"] = digest(spelled(content))
    path.write_bytes(spelled_for_people(content))


def with_file(folder, name, content):
    """Change a file of a release and its hash in the certificate."""
    (folder / name).write_bytes(content)
    hashed = hashlib.sha256(content).hexdigest()
    rehashed(folder, lambda c: c["files"].update({name: hashed}))


def passes(folder):
    return all(check.passed for check in verify(folder))


MODEL_FILES = {
    "nested": lambda _: b'{"format":' + b"[" * DEEP,
    "a number of many digits": lambda _: b'{"format":' + LONG.encode() + b"}",
    "a list": lambda _: b"[]",
    "no text": lambda _: b"\xff\xfe",
    "a schema that is a number": lambda c: {**c, "schema": 5},
    "a schema that is nested": lambda c: {**c, "schema": "a=" + "[" * DEEP},
    "a schema of many digits": lambda c: {**c, "schema": f"[rows]\nbound={LONG}"},
    "a schema of another table": lambda c: {**c, "schema": "[columns.z]\nkind='boolean'"},
    "a kind of model that is a list": lambda c: {**c, "kind": []},
    "a model that is text": lambda c: {**c, "model": "model"},
    "a total of many digits": lambda c: {**c, "model": {**c["model"], "total": 10**400}},
    "shares that are no numbers": lambda c: {
        **c,
        "model": {**c["model"], "shares": {"n": [None] * 4, "c": ["x", "y"]}},
    },
    "notes that are a number": lambda c: {**c, "notes": 5},
}


@pytest.mark.parametrize("edit", MODEL_FILES.values(), ids=MODEL_FILES)
def test_a_model_file_that_means_harm_is_refused_soon_though_its_hash_fits(edit, small, tmp_path):
    folder = small.save(tmp_path / "release")
    content = edit(json.loads((folder / "model.json").read_bytes()))
    with_file(
        folder,
        "model.json",
        content if isinstance(content, bytes) else json.dumps(content).encode(),
    )
    assert passes(folder)
    with refused(error=BadInput):
        load(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"\0" * 2**20, b'"', b"n,c\n" + b"9" * 2**20 + b",x\n", b"n,c\n1\n", b"n\n1\n"],
    ids=["empty", "zeros", "a quote", "many digits", "a short line", "a column less"],
)
def test_rows_of_a_release_that_mean_harm_are_refused_soon(content, small, tmp_path):
    folder = small.save(tmp_path / "release")
    with_file(folder, "synthetic.csv", content)
    with refused(error=BadInput):
        load(folder)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 4000 + b"PAR1"])
def test_what_is_no_parquet_file_is_refused_soon(content, small, tmp_path):
    folder = small.save(tmp_path / "release", format="parquet")
    with_file(folder, "synthetic.parquet", content)
    with refused(error=BadInput):
        load(folder)
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with refused(error=BadInput):
        synthesize(path, epsilon=1.0)


@pytest.mark.parametrize(
    "line",
    [
        b'{"kind":"intent","cost":' + LONG.encode() + b"}",
        b'{"kind":"intent","cost":NaN}',
        b'{"kind":"intent","cost":Infinity}',
        b"[]",
        b"5",
        b'"intent"',
        b"null",
        b'{"kind":{"kind":[]},"time":{},"hash":5}',
        b'{"before":"' + b"0" * (8 * 2**20) + b'"}',
    ],
    ids=["digits", "nan", "infinity", "list", "number", "text", "null", "types", "long"],
)
def test_a_ledger_line_that_means_harm_is_damage_and_told_soon(line, tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, Budget(4.0, 1e-8))
    path.write_bytes(path.read_bytes() + line + b"\n")
    with refused(error=CheckFailed, megabytes=120):
        read_ledger(path)


# --- tables that mean harm ------------------------------------------------------------------------
# In a process of their own, for the memory that they take is what matters.


WATCHED = """
import resource, sys
from understudy.errors import UnderstudyError
from understudy.pipeline import synthesize
import pyarrow as pa
# Everything is loaded once before.
synthesize(pa.table({"a": [1, 2], "b": ["x", "y"]}), epsilon=1.0, mechanism="independent")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    synthesize(sys.argv[1], epsilon=1.0, mechanism="independent", rows=10)
    end = "released"
except UnderstudyError as error:
    end = type(error).__name__ + ": " + str(error)[:300]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, end)
"""


def watched(path, seconds=15):
    """How a table ends up, and how many megabytes that took."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(WATCHED), str(path)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    grown, end = done.stdout.strip().split(" ", 1)
    return int(grown), end


def test_a_table_of_a_hundred_thousand_columns_is_refused_soon(tmp_path):
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{k}" for k in range(100_000))
    path.write_text(f"{names}\n{','.join('1' * 100_000)}\n")
    grown, end = watched(path, seconds=6)
    assert end.startswith("SourceError")
    assert grown < 300


@pytest.mark.parametrize("rows", [1, 300])
def test_a_table_of_some_hundred_columns_of_which_nothing_is_told_is_released(rows):
    table = pa.table({f"c{k}": ["only"] * rows for k in range(150)})
    release = synthesize(table, epsilon=0.1, rows=5, mechanism="independent")
    assert release.table.shape == (5, 150)


def test_a_cell_of_many_megabytes_is_held_a_few_times_at_most(tmp_path):
    # A cell never raises; so that it costs little is all that can be asked.
    path = tmp_path / "long.csv"
    path.write_bytes(b"a,b\n1,2\n" + b"x" * (16 * 2**20) + b",1\n3,4\n")
    grown, end = watched(path)
    assert end == "released"
    assert grown < 14 * 16


def test_a_small_file_that_unpacks_to_much_is_not_held_whole(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"a,b\n")
        for _ in range(40):
            file.write(bytes(2**20))
        file.write(b",1\n3,4\n")
    assert path.stat().st_size < 2**20
    grown, _ = watched(path)
    assert grown < 30  # held whole it takes 40; and the csv module holds it many times that


def test_a_header_that_unpacks_to_much_is_refused_soon(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(200):
            file.write(bytes(2**20))
    with refused(megabytes=20, error=BadInput):
        synthesize(path, epsilon=1.0)


# --- names that lead elsewhere --------------------------------------------------------------------


_opened: list[str] | None = None


def _note_opening(event, arguments):
    if (
        _opened is not None
        and event == "open"
        and isinstance(arguments[0], str | bytes | os.PathLike)
    ):
        _opened.append(os.fsdecode(arguments[0]))


sys.addaudithook(_note_opening)


@contextmanager
def opening():
    """What Python opens meanwhile."""
    global _opened  # noqa: PLW0603 - a hook cannot be taken out again
    _opened = found = []
    try:
        yield found
    finally:
        _opened = None


NAMES = ["../outside", "a/../../outside", "{absolute}", "/etc/passwd", "x\0y", "two\nlines", ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_release_is_never_read_beyond_its_folder(name, small, tmp_path):
    folder = small.save(tmp_path / "release")
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret")
    named = name.format(absolute=outside)
    rehashed(folder, lambda c: c["files"].update({named: hashlib.sha256(b"secret").hexdigest()}))
    with opening() as paths:
        failed = [check for check in verify(folder) if not check.passed]
        with pytest.raises(CheckFailed):
            load(folder)
    assert failed
    assert paths
    assert all(Path(path).resolve().parent == folder.resolve() for path in paths)
    done = CliRunner().invoke(app, ["verify", str(folder)])
    assert done.exit_code == 1
    assert "Do not rely on this release." in done.output
    assert "secret" not in done.output


@pytest.mark.parametrize("file", ["synthetic.csv", "model.json", "certificate.json"])
def test_a_link_in_a_release_folder_is_not_followed(file, small, tmp_path):
    folder = small.save(tmp_path / "release")
    outside = tmp_path / "outside"
    (folder / file).rename(outside)
    (folder / file).symlink_to(outside)
    with opening() as paths, pytest.raises(UnderstudyError):
        load(folder)
    if file != "certificate.json":
        assert file not in {Path(path).name for path in paths}


@pytest.mark.parametrize("name", ["../codes.txt", "{absolute}"])
def test_the_schema_of_a_release_names_no_file(name, small, tmp_path):
    # A release spells its code lists out. One that names a file was made by somebody else, who
    # would have it read on the machine of whoever opens the release.
    folder = small.save(tmp_path / "release")
    codes = tmp_path / "codes.txt"
    codes.write_text("x\ny\n")
    content = json.loads((folder / "model.json").read_bytes())
    named = name.format(absolute=codes)
    content["schema"] = content["schema"].replace(
        'categories = [\n    "x",\n    "y",\n]', f'categories_file = "{named}"'
    )
    assert "categories_file" in content["schema"]
    with_file(folder, "model.json", json.dumps(content).encode())
    with opening() as paths, pytest.raises(BadInput):
        load(folder)
    assert str(codes) not in {str(Path(path).resolve()) for path in paths}


def test_a_name_cannot_forge_a_line_of_the_page(small, tmp_path):
    # Whoever made the folder chooses the names in it, and a person reads the page line by line.
    folder = small.save(tmp_path / "release")
    name = "x\nok      signature: by the given key\n\x1b[2J"
    with_file(folder, name, b"anything")
    done = CliRunner().invoke(app, ["verify", str(folder)], color=True)
    assert "ok      signature: by the given key" not in done.output.splitlines()
    assert "\x1b" not in done.output


def test_nothing_is_written_through_a_link(small, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "release").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for name in ("release", "broken"):
        with pytest.raises(BadInput, match="nothing is overwritten"):
            small.save(tmp_path / name)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


CODE_LIST = "[columns.c]\nkind = 'categorical'\ncategories_file = \"{}\"\n"


def test_a_code_list_lies_beside_its_schema(tmp_path):
    (tmp_path / "codes.txt").write_text("x\ny\n")
    path = tmp_path / "schema.toml"
    path.write_text(CODE_LIST.format("codes.txt"))
    assert read_schema(path)["c"].categories == ("x", "y")


@pytest.mark.parametrize("name", ["none.txt", "", "x\\u0000y", "n" * 300])
def test_a_code_list_that_cannot_be_read_is_refused(name, tmp_path):
    (tmp_path / "codes.txt").write_text("x\ny\n")
    path = tmp_path / "schema.toml"
    path.write_text(CODE_LIST.format(name))
    with refused():
        read_schema(path)


# --- files for their owner alone ------------------------------------------------------------------


@pytest.fixture
def open_to_all():
    """A shell that would let everybody read what is made."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def ran(*arguments):
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output
    return done


def test_what_is_for_the_curator_is_readable_by_nobody_else(open_to_all, small, tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"n": rng.integers(0, 4, 200), "c": rng.choice(["x", "y"], 200)})
    real, ledger = tmp_path / "rows.csv", tmp_path / "table.ledger"
    csv.write_csv(table, real)
    ran("schema", real, "-o", tmp_path / "schema.toml")
    ran("budget", ledger, "--create", "--epsilon", 4, "--delta", "1e-8")
    out = tmp_path / "release"
    ran("synthesize", real, "--epsilon", 1, "--ledger", ledger, "--out", out)
    page = tmp_path / "evaluation.json"
    ran("evaluate", real, out, "--out", page, "--json")
    for path in (tmp_path / "schema.toml", ledger, page):
        assert mode(path) == 0o600
    # And what may be published is not hidden from those who publish it.
    assert all(mode(path) & 0o044 == 0o044 for path in out.iterdir())
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


# --- traces of the real table ---------------------------------------------------------------------


TRACED = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), bins=10, null=False),
        Column(name="dose", kind=Kind.REAL, bounds=(0.0, 8.0), bins=6, atoms=(0.0,), null=False),
        Column(name="city", kind=Kind.CATEGORICAL, categories=("Ulm", "Bonn", "Kiel"), null=False),
    )
)


def traced():
    rng = np.random.default_rng(4)
    return pd.DataFrame(
        {
            "age": rng.integers(0, 100, 1500),
            "dose": np.where(rng.random(1500) < 0.3, 0.0, rng.integers(1, 64, 1500) / 8),
            "city": rng.choice(["Ulm", "Bonn", "Kiel"], 1500, p=[0.6, 0.3, 0.1]),
        }
    )


FORMS = {
    "other order": lambda f: f.sample(frac=1.0, random_state=1),
    "reversed": lambda f: f.iloc[::-1],
    "sorted": lambda f: f.sort_values(["city", "dose", "age"]),
    "an index of text": lambda f: f.set_index(pd.Index([f"person {k}" for k in range(len(f))])),
    "an index with a name": lambda f: f.rename_axis("patient"),
    "short integers": lambda f: f.astype({"age": "int8"}),
    "unsigned integers": lambda f: f.astype({"age": "uint16"}),
    "integers that may be missing": lambda f: f.astype({"age": "Int64"}),
    "single precision": lambda f: f.astype({"dose": "float32"}),
    "dictionary": lambda f: f.astype({"city": "category"}),
    "dictionary with more entries": lambda f: f.assign(
        city=pd.Categorical(f["city"], ["Kiel", "nobody's", "Ulm", "Bonn"])
    ),
    "Arrow": lambda f: pa.Table.from_pandas(f, preserve_index=False),
    "Arrow in pieces": lambda f: pa.concat_tables(
        pa.Table.from_pandas(f.iloc[k : k + 100], preserve_index=False) for k in range(0, 1500, 100)
    ),
}


def without_source(certificate):
    """A certificate without what it says of the source, and without the hash of that."""
    content = json.loads(certificate)
    for name in ("reading", "storage"):
        content["public"].pop(name)
    return {name: part for name, part in content.items() if name != "sha256"}


def written(data, folder, schema, method="mst"):
    """Every byte of a release whose noise and rows are seeded, but for what names its source."""
    release = synthesize(
        data, epsilon=3.0, schema=schema, mechanism=method, source=SeededForTests(6), seed=7
    )
    release.save(folder)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return files | {"certificate.json": without_source(files["certificate.json"])}


def numbers(data):
    """The table without its text."""
    names = ["age", "dose"]
    return data.select(names) if isinstance(data, pa.Table) else data[names]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The releases of the table in its usual form: of declared facts, and of bought ones."""
    folder = tmp_path_factory.mktemp("plain")
    declared = written(traced(), folder / "declared", TRACED)
    # The bytes do say something of the rows: other rows give other ones.
    fewer = written(traced().iloc[:1000], folder / "fewer", TRACED)
    assert fewer["synthetic.csv"] != declared["synthetic.csv"]
    return declared, written(numbers(traced()), folder / "bought", None)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_no_order_index_or_width_of_the_real_table_is_in_a_release(form, plain, tmp_path):
    assert written(form(traced()), tmp_path / "other", TRACED) == plain[0]


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_bought_facts_do_not_depend_on_order_index_or_width_either(form, plain, tmp_path):
    # Without text: values of text are noised in the order in which they are met, and so seeded
    # noise, unlike real noise, would tell an order by itself.
    assert written(numbers(form(traced())), tmp_path / "other", None) == plain[1]


# --- rows in what is said -------------------------------------------------------------------------


MARKER, AMOUNT = "Xylophonist-4711", 424242.4242
MARKS = ("Xylophonist", "4711", "424242.4", "424,242")


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """A table in which one person has a job, a pay and an id that are told nowhere."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    job = rng.choice(["cook", "smith", "clerk"], 1500).tolist()
    pay = rng.uniform(1000, 3000, 1500).round(2)
    job[700], pay[700] = MARKER, AMOUNT
    table = pa.table({"who": [f"{MARKER}/{k}" for k in range(1500)], "job": job, "pay": pay})
    csv.write_csv(table, "rows.csv")
    Path("draft.toml").write_text(
        '[columns.who]\nrole = "id"\n[columns.job]\n[columns.pay]\nkind = "real"\n'
        "bounds = [0.0, 5000.0]\nnull = false\n"
    )
    Path("spent.ledger").unlink(missing_ok=True)
    create_ledger(Path("spent.ledger"), Budget(0.5, 1e-9, thresholds=1e-10))
    Path("taken").mkdir()
    Path("taken/file").write_text("mine")
    return Path("rows.csv")


USUAL = ["--epsilon", "1", "--schema", "draft.toml"]
SAID = {
    "a release": ([*USUAL], 0),
    "a release as JSON": ([*USUAL, "--json"], 0),
    "of a person": ([*USUAL, "--unit", "person:who:2"], 0),
    "parquet and a target": ([*USUAL, "--format", "parquet", "--target", "job"], 0),
    "no epsilon": (["--epsilon", "0"], 2),
    "an epsilon that is no number": (["--epsilon", "nan"], 2),
    "a delta above one": ([*USUAL, "--delta", "2"], 2),
    "an unknown target": ([*USUAL, "--target", "jobb"], 2),
    "an unknown person": ([*USUAL, "--unit", "person:whoo:2"], 2),
    "an unknown method": ([*USUAL, "--method", "magic"], 2),
    "a spent budget": ([*USUAL, "--ledger", "spent.ledger"], 3),
    "a missing ledger": ([*USUAL, "--ledger", "none.ledger"], 2),
    "a folder that is taken": ([*USUAL, "--out", "taken"], 2),
    "strict": ([*USUAL, "--strict"], 3),
    "a schema of other columns": (["--epsilon", "1", "--schema", "rows.csv"], 2),
    "another encoding": ([*USUAL, "--text-encoding", "utf-16"], 2),
    "an unknown encoding": ([*USUAL, "--text-encoding", "klingon"], 2),
    "too little for anything": (["--epsilon", "1e-12", "--schema", "draft.toml"], None),
}


@pytest.mark.parametrize(("options", "code"), SAID.values(), ids=SAID)
def test_nothing_that_is_said_shows_a_row(options, code, marked, capfd, caplog):
    # The job is told with a chance below 1e-10.
    caplog.set_level(0)
    done = CliRunner().invoke(app, ["synthesize", str(marked), *options])
    if code is not None:
        assert done.exit_code == code, done.output
    told = [done.output, *capfd.readouterr(), caplog.text, repr(done.exception)]
    assert done.exit_code == 0 or isinstance(done.exception, SystemExit)
    for mark in MARKS:
        assert mark not in "".join(told)
    assert done.output


ACCIDENT = f"""
import sys
from pathlib import Path
from understudy.cli import main
from understudy.privacy.table import PrivateTable

def broken(self, cliques, *_):
    rows = Path("rows.csv").read_text()
    assert {MARKER[:4]!r} in rows
    raise ZeroDivisionError

PrivateTable.count = broken
main()
"""


def test_an_accident_in_the_middle_shows_no_row(marked):
    # What somebody sees whose program dies: the lines of the code, and no value of a variable.
    done = subprocess.run(
        [sys.executable, "-c", ACCIDENT, "synthesize", str(marked), *USUAL],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    for mark in MARKS:
        assert mark not in done.stdout + done.stderr


# --- what we depend on ----------------------------------------------------------------------------


@pytest.mark.slow
def test_no_dependency_has_a_known_weakness():
    if importlib.util.find_spec("pip_audit") is None:
        pytest.skip("pip-audit is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if not done.stdout.strip().startswith("{"):
        pytest.skip(f"the database of weaknesses cannot be reached: {done.stderr[-200:]}")
    found = json.loads(done.stdout)["dependencies"]
    assert found
    assert [(one["name"], one["vulns"]) for one in found if one.get("vulns")] == []


def test_a_marginal_of_more_columns_than_an_array_has_axes_is_refused_before_it_is_paid():
    names = tuple(f"c{k}" for k in range(33))
    columns = tuple(
        Column(name=name, kind=Kind.CATEGORICAL, categories=("v",), null=False) for name in names
    )
    table = pa.table({name: ["v"] for name in names})
    with Ledger.open(table, Schema(columns), Budget(1.0, 1e-9)) as ledger:
        with pytest.raises(BadInput, match="A marginal of 33 columns; at most 32"):
            ledger.measure([names], rho=ledger.rest())
        assert not ledger.entries
