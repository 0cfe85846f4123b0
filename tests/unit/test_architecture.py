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


def calls(tree):
    """Functions that are called by their plain name."""
    return {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def attributes(tree):
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def test_secret_randomness_is_drawn_in_three_places_and_the_global_generator_nowhere():
    secret = {name for name, tree in MODULES.items() if "secrets" in imported(tree)}
    # Of a comparison it decides which rows are left out.
    assert secret == {"experiments/compare/plan.py", "privacy/people.py"}
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
        # Models that have not converged warn, and are a reader's models all the same.
        silenced = {"curator/models.py": {"warnings"}}.get(name, set())
        assert {"logging", "warnings"} & set(imported(tree)) == silenced, name
        assert "print" not in calls(tree), name


def test_scikit_learn_is_for_the_curators_models_alone():
    users = {
        name
        for name, tree in MODULES.items()
        if any(module.split(".")[0] in {"sklearn", "scipy"} for module in imported(tree))
    }
    assert users
    # And for what reads rows as they are, which promises nothing.
    assert all(name.startswith(("curator/", "twostage/")) for name in users)


def test_nothing_is_pickled():
    for name, tree in MODULES.items():
        assert not {"pickle", "shelve", "marshal", "joblib"} & set(imported(tree)), name


def test_files_are_written_in_few_places():
    ways = {"write_text", "write_bytes", "write_csv", "write_table", "write", "fsync", "mkdir"}
    writers = {name for name, tree in MODULES.items() if ways & attributes(tree)}
    assert writers == {
        "schema_files.py",
        "curator/anonymeter_script.py",
        "curator/audit/command.py",
        "curator/internal.py",
        "curator/second_opinion.py",
        "experiments/compare/store.py",
        "experiments/first_release.py",
        "experiments/written.py",
        "plan/laps.py",  # asks the system to forget a peak of memory
        "plan/made_up_rows.py",
        "privacy/disk.py",
        "privacy/ledger_file.py",
        "privacy/folder.py",
        "release.py",
        "table_files.py",
    }
    # A release opens no file: it leaves through the folder that is written whole.
    for name in ("release.py", "table_files.py"):
        assert "open" not in calls(MODULES[name]) | attributes(MODULES[name])
    assert "publish" in calls(MODULES["release.py"])


def test_only_the_curators_writer_and_the_ledger_make_files_for_their_owner_alone():
    makers = {
        name
        for name, tree in MODULES.items()
        if any(isinstance(node, ast.Constant) and node.value == 0o600 for node in ast.walk(tree))
    }
    assert makers == {"curator/internal.py", "privacy/disk.py"}


def test_rows_are_drawn_by_generators_that_somebody_handed_over():
    makers = {name for name, tree in MODULES.items() if "default_rng" in attributes(tree)}
    assert makers == {
        "curator/audit/one_run.py",
        "curator/evaluation.py",
        "curator/space.py",
        "curator/trials.py",
        "experiments/adult.py",
        "experiments/demo.py",
        *(f"experiments/dpdsyn/{name}.py" for name in ("split", "trial")),
        *(f"experiments/lk2ss/{name}.py" for name in ("marketing", "nonlinear", "real")),
        "experiments/prism/benchmarks.py",
        "experiments/privci/folds.py",
        *(f"experiments/reps/{name}.py" for name in ("made", "split", "tables")),
        "experiments/walkthrough.py",
        *(
            f"mechanisms/{name}.py"
            for name in ("copula", "dpdsyn", "kernel_labels", "lk2ss", "tailored")
        ),
        "plan/made_up_rows.py",
        "privacy/noise.py",
        "privacy/train.py",
        "pipeline.py",  # how many rows have a value in each column: of a model, by a fixed seed
        "protection.py",
        "synthetic_rows.py",
    }


def test_mechanisms_and_models_touch_neither_files_nor_consoles_nor_what_lies_behind_a_ledger():
    for name, tree in MODULES.items():
        if not name.startswith(("mechanisms/", "model/", "select/")):
            continue
        modules = {module.split(".")[0] for module in imported(tree)}
        arithmetic = {"fractions", "functools", "heapq", "itertools", "math", "numpy", "statistics"}
        plain = {"understudy", "collections", "dataclasses", "enum", "typing"}
        assert modules <= plain | arithmetic, name
        assert "open" not in calls(tree), name
        assert not {"_core", "_account", "_table"} & attributes(tree), name


SILENT = {"cli/__init__.py", "cli/exits.py", "cli/papers.py"}


def test_nobody_speaks_to_a_console_but_pages_progress_and_the_command_line():
    speakers = {
        name
        for name, tree in MODULES.items()
        if any(
            module.split(".")[0] in {"rich", "typer"} or module.startswith("understudy.spoken")
            for module in imported(tree)
        )
    }
    assert speakers == {
        *(name for name in MODULES if name.startswith("cli/") and name not in SILENT),
        "curator/audit/text.py",
        "curator/evaluation_text.py",
        "experiments/compare/text.py",
        "experiments/first_release.py",
        "experiments/walkthrough.py",
        "ledger_page.py",
        "plan_page.py",
        "progress.py",
        "release_page.py",
        "spoken.py",
    }


OTHER_PROGRAMS = {
    "curator/second_opinion.py": {"subprocess"},  # anonymeter lives in a Python of its own
    "curator/audit/command.py": {"subprocess"},  # whatever is to be audited
}


def test_nothing_reaches_for_the_network_or_another_program():
    for name, tree in MODULES.items():
        reached = {"socket", "urllib", "http", "requests", "webbrowser", "subprocess", "ctypes"}
        found = reached & {module.split(".")[0] for module in imported(tree)}
        assert found == OTHER_PROGRAMS.get(name, set()), name
        assert not {"eval", "exec", "compile", "__import__"} & calls(tree), name


DPDSYN = ("aims", "arms", "document", "found", "printed", "split", "trial", "twelve")
LK2SS = ("aims", "document", "found", "marketing", "nonlinear", "publics", "real")
PRISM = ("document", "found", "sections", "trial", "whole_adult")
PRIVCI = ("folds", "found", "measures", "structure", "trial")
REPS = (
    *("aims", "deciles", "found", "matched", "pictures", "records", "split", "tables", "task"),
    "trial",
)


def test_what_compares_with_rows_is_imported_by_the_command_line_alone():
    importers = {
        name
        for name, tree in MODULES.items()
        if not name.startswith("curator/")
        and any(module.startswith("understudy.curator") for module in imported(tree))
    }
    assert importers == {
        "cli/audit.py",
        "cli/draft_schema.py",
        "cli/evaluate.py",
        "cli/plan.py",  # writes its page as an internal file, and reads no row
        "experiments/adult.py",
        "experiments/compare/cell.py",
        "experiments/compare/ground.py",
        "experiments/compare/plan.py",
        "experiments/compare/store.py",
        "experiments/compare/summary.py",
        "experiments/figures.py",
        "experiments/folder.py",
        "experiments/markdown.py",
        *(f"experiments/dpdsyn/{name}.py" for name in DPDSYN),
        *(f"experiments/lk2ss/{name}.py" for name in LK2SS),
        *(f"experiments/prism/{name}.py" for name in PRISM),
        *(f"experiments/privci/{name}.py" for name in PRIVCI),
        *(f"experiments/reps/{name}.py" for name in REPS),
    }


def test_the_package_lists_all_its_names():
    assert set(understudy.__all__) <= set(dir(understudy))
    assert all(hasattr(understudy, name) for name in dir(understudy))
