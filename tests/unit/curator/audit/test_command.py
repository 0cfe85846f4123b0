import json
import math
import shlex
import sys

import pytest

from understudy.curator.audit.command import audit_command
from understudy.errors import BadInput

COPY = """
import shutil, sys
shutil.copy(sys.argv[1], sys.argv[2])
"""
# Rows that say nothing about those that went in.
BLIND = """
import json, random, sys
names = list(json.load(open(sys.argv[2])))
for line in open(sys.argv[1]):
    job = json.loads(line)
    with open(job["out"], "w") as out:
        print(*names, sep=",", file=out)
        for _ in range(50):
            print(*(random.choice(["0", "1", "2", "2.0"]) for _ in names), sep=",", file=out)
"""


def program(tmp_path, text, arguments):
    file = tmp_path / "their own.py"
    file.write_text(text)
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(file))} {arguments}"


def test_a_copy_is_seen_through(tmp_path):
    command = program(tmp_path, COPY, "{data} {out}")
    one = audit_command(command, epsilon=0.3, delta=1e-5, runs=40)
    # 20 runs on each side without a mistake.
    assert one.epsilon_low == pytest.approx(1.6, abs=0.1)
    assert one.runs == "2 × 40"
    assert one.broken


def test_braces_of_its_own_are_left_alone(tmp_path):
    command = program(tmp_path, COPY, "{data} {out} {print}")
    assert audit_command(command, epsilon=0.1, delta=1e-5, runs=30).epsilon_low > 0.5


def test_too_few_runs_are_refused_with_their_number():
    with pytest.raises(BadInput, match=r"contradict epsilon = 1, .*, or --runs 49\.$"):
        audit_command("x {data} {out}", epsilon=1.0, delta=1e-5, runs=48)
    with pytest.raises(BadInput, match=r"Take a smaller epsilon\.$"):
        audit_command("x {data} {out}", epsilon=50.0, delta=1e-5, runs=100)
    with pytest.raises(BadInput, match="epsilon is nan"):
        audit_command("x {data} {out}", epsilon=math.nan, delta=1e-5, runs=100)


def test_a_program_that_looks_at_nothing_gives_nothing_away(tmp_path):
    told = []
    command = program(tmp_path, BLIND, "{jobs} {domain} {epsilon} {delta}")
    one = audit_command(command, epsilon=0.01, delta=1e-5, runs=100, tell=told.append)
    assert not one.broken
    assert one.mu is None
    assert told == ["Running the command once, for 200 tables"]
    assert json.dumps(one.to_json())


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        ("raise SystemExit('no such budget')", "{data} {out}", "ended with 1: no such budget"),
        ("print('on stdout'); raise SystemExit(3)", "{data} {out}", "ended with 3: on stdout"),
        ("import os; os.write(2, b'\\xff'); raise SystemExit(3)", "{data} {out}", "ended with 3: "),
        ("", "{data} {out}", "did not write"),
        ("import sys; open(sys.argv[2], 'w')", "{data} {out}", "wrote no CSV file"),
        (
            "import sys; open(sys.argv[2], 'w').write('x,y\\n1,2\\n')",
            "{data} {out}",
            "with rows of a, b",
        ),
        (
            "import sys; open(sys.argv[2], 'wb').write(b'a,b,c\\n\\xff,1,2')",
            "{data} {out}",
            "no CSV",
        ),
        ("input()", "{data} {out}", "EOF"),
        ("", "{data} {out} '", "cannot be read: No closing quotation"),
        ("", "{data}", "must name"),
    ],
)
def test_what_goes_wrong_is_told(tmp_path, text, arguments, said):
    with pytest.raises(BadInput, match=said):
        audit_command(program(tmp_path, text, arguments), epsilon=0.1, delta=1e-5, runs=30)


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(BadInput, match="no-such-program cannot be run"):
        audit_command("no-such-program {data} {out}", epsilon=0.1, delta=1e-5, runs=30)
