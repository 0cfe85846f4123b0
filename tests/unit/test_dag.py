import itertools
import json

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.dag import Dag, read_dag
from understudy.errors import BadInput, UnknownColumn

SICK = Dag([("age", "sick"), ("sick", "tired"), ("work", "tired"), ("tired", "sad")])


def test_the_blanket_is_parents_children_and_their_other_parents():
    assert SICK.parents("sick") == ("age",)
    assert SICK.children("sick") == ("tired",)
    assert SICK.blanket("sick") == ("age", "tired", "work")
    assert SICK.blanket("age") == ("sick",)
    assert SICK.blanket("sad") == ("tired",)


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([], "at least one edge"),
        ([("a", "b"), ("b", "c"), ("c", "a")], "in a circle: .*→"),
        ([("a", "a")], "cannot be its own cause"),
        ([("a", "b", "c")], "An edge is a pair"),
        ([("a", 1)], "An edge is a pair"),
        (["ab"], "An edge is a pair"),
        ([("a", "")], "An edge is a pair"),
    ],
)
def test_what_is_no_graph_is_refused(edges, message):
    with pytest.raises(BadInput, match=message):
        Dag(edges)


def test_names_are_checked():
    SICK.check_names(("age", "sick", "tired", "work", "sad", "more"))
    with pytest.raises(UnknownColumn, match="sad"):
        SICK.check_names(("age", "sick", "tired", "work"))
    with pytest.raises(BadInput, match="does not name 'more'"):
        SICK.blanket("more")


def paths(dag, one, other):
    """All paths without a repeated column, whichever way the arrows point."""
    near = {n: {*dag.parents(n), *dag.children(n)} for n in dag.names}

    def longer(path):
        if path[-1] == other:
            yield path
            return
        for name in near[path[-1]] - {*path}:
            yield from longer([*path, name])

    return longer([one])


def descendants(dag, name):
    found, todo = {name}, [name]
    while todo:
        new = {*dag.children(todo.pop())} - found
        found |= new
        todo += new
    return found


def blocked(dag, path, given):
    """By the definition: a chain or fork that is given, or a collider of which nothing is."""
    for before, here, after in zip(path, path[1:], path[2:], strict=False):
        collider = before in dag.parents(here) and after in dag.parents(here)
        if collider and not descendants(dag, here) & given:
            return True
        if not collider and here in given:
            return True
    return False


@given(
    st.sets(st.sampled_from(list(itertools.combinations("abcde", 2))), min_size=1),
    st.sets(st.sampled_from("abcde")),
)
def test_separation_is_what_the_definition_by_paths_says(edges, given_names):
    dag = Dag(sorted(edges))
    for one, other in itertools.combinations(dag.names, 2):
        known = given_names - {one, other}
        expected = all(blocked(dag, path, known) for path in paths(dag, one, other))
        assert dag.separated(one, other, given=known) == expected
        whole = nx.DiGraph(dag.edges)
        inside = known & {*dag.names}
        assert nx.is_d_separator(whole, {one}, {other}, inside) == expected


@pytest.mark.parametrize(
    "text",
    [
        "digraph { age -> sick; sick -> tired; work -> tired; tired -> sad }",
        'strict digraph "my graph" {\n // causes\n age -> sick -> tired -> sad\n work->tired\n}',
        """digraph G {
            node [shape=box, label="a -> b"]; rankdir=LR;
            "age" -> "sick" [w=2]; sick -> tired; /* a
            note */ work -> tired;
            # no
            tired -> sad; lonely;
        }""",
        '[["age", "sick"], ["sick", "tired"], ["work", "tired"], ["tired", "sad"]]',
        '{"edges": [["age", "sick"], ["sick", "tired"], ["work", "tired"], ["tired", "sad"]]}',
    ],
)
def test_graphs_are_read_from_dot_and_json(tmp_path, text):
    path = tmp_path / "graph"
    path.write_text(text)
    assert {*read_dag(path).edges} == {*SICK.edges}
    assert {*Dag.of(str(path)).edges} == {*SICK.edges}


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("digraph { a -> {b c}; d -> y }", {("a", "b"), ("a", "c"), ("d", "y")}),
        ("digraph { {a; b} -> y -> z }", {("a", "y"), ("b", "y"), ("y", "z")}),
        ('DiGraph { "km//h" -> y\n b -> y }', {("km//h", "y"), ("b", "y")}),
        ("\ufeffdigraph { größe -> y }", {("größe", "y")}),
        ('digraph { "a\\\\b" -> y [label="x -> z"] }', {("a\\b", "y")}),
    ],
)
def test_no_edge_goes_missing(tmp_path, text, edges):
    path = tmp_path / "graph.dot"
    path.write_text(text, encoding="utf-8")
    assert {*read_dag(path).edges} == edges


@pytest.mark.parametrize("given_graph", ["ab", 5])
def test_what_is_no_list_of_edges_is_refused(given_graph):
    with pytest.raises(BadInput, match="A graph is a list of edges"):
        Dag(given_graph)


def test_quoted_names_may_hold_anything(tmp_path):
    path = tmp_path / "graph.dot"
    path.write_text('digraph { "hours per week" -> "it\\"s; -> {odd}" }')
    assert read_dag(path).edges == (("hours per week", 'it"s; -> {odd}'),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "no directed graph"),
        ("digraph { a -- b }", "without a direction"),
        ("digraph { a; b }", "at least one edge"),
        ("a,b\nb,c", "no directed graph"),
        ('{"nodes": []}', "no list of edges"),
        ("[1, 2", "no list of edges"),
        ("[[1, 2]]", "An edge is a pair"),
        ("", "no directed graph"),
        ("digraph { a -> b; -> c }", "does not join two names"),
        ("digraph { a -> ; b }", "does not join two names"),
        ("digraph { a -> b -> }", "does not join two names"),
        ("digraph { km/h -> y }", "a '/' where there should be none"),
        ("digraph { a -> {b -> c} }", "more than names in it"),
        ("digraph { a -> b # note c -> d\n }", "a '#' where there should be none"),
        ("[1, 2]", "An edge is a pair"),
        ('{"edges": [null]}', "An edge is a pair"),
        ('{"edges": [{"source": "a", "target": "b"}]}', "An edge is a pair"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "graph"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read_dag(path)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(BadInput, match="Cannot read a graph"):
        read_dag(tmp_path / "none")


def test_a_graph_of_networkx_is_taken():
    assert {*Dag.of(nx.DiGraph(SICK.edges)).edges} == {*SICK.edges}
    assert Dag.of(nx.MultiDiGraph([("a", "b"), ("a", "b")])).edges == (("a", "b"),)
    with pytest.raises(BadInput, match="no directions"):
        Dag.of(nx.Graph([("a", "b")]))
    assert Dag.of(SICK) is SICK
    assert json.loads(json.dumps(SICK.edges))
