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


def test_secret_randomness_is_drawn_in_one_place_and_the_global_generator_nowhere():
    secret = {name for name, tree in MODULES.items() if "secrets" in imported(tree)}
    assert secret == {"privacy/people.py"}
    assert not [name for name, tree in MODULES.items() if "random" in imported(tree)]


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


def test_no_file_is_written_beside_the_schema_and_the_demo():
    writers = {
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and node.attr in {"write_text", "write_bytes", "write_csv"}
    }
    assert writers == {"schema_files.py", "cli.py"}
