"""Rules of the house that a reader of the tree relies on."""

import ast
from pathlib import Path

import understudy

SOURCE = Path(understudy.__file__).parent
MODULES = {
    str(path.relative_to(SOURCE)): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")
}


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def attributes(tree):
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_secret_randomness_is_drawn_in_two_places_and_the_global_generator_nowhere():
    secret = {name for name, tree in MODULES.items() if "secrets" in imported(tree)}
    assert secret == {"privacy/people.py"}
    system = {name for name, tree in MODULES.items() if "urandom" in attributes(tree)}
    assert system == {"privacy/noise.py"}
    assert not [name for name, tree in MODULES.items() if "random" in imported(tree)]


def test_privacy_noise_is_drawn_in_one_place():
    drawers = {
        name
        for name, tree in MODULES.items()
        if any(module.startswith("opendp") for module in imported(tree))
    }
    assert drawers == {"privacy/noise.py"}
    # Elsewhere in the trusted core a numpy Generator may only start a network's weights, in public.
    generators = {
        name
        for name, tree in MODULES.items()
        if name.startswith("privacy/") and "default_rng" in attributes(tree)
    }
    assert generators == {"privacy/noise.py", "privacy/train.py"}


def test_nobody_prints_logs_or_warns_beside_the_command_line():
    for name, tree in MODULES.items():
        assert not {"logging", "warnings"} & set(imported(tree)), name
        calls = {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert "print" not in calls, name


def test_nothing_is_pickled():
    for name, tree in MODULES.items():
        assert not {"pickle", "shelve", "marshal", "joblib"} & set(imported(tree)), name


def test_files_are_written_in_few_places():
    ways = {"write_text", "write_bytes", "write_csv", "write", "fsync"}
    writers = {name for name, tree in MODULES.items() if ways & attributes(tree)}
    assert writers == {
        "schema_files.py",
        "cli.py",
        "privacy/disk.py",
        "privacy/ledger_file.py",
        "privacy/folder.py",
    }
