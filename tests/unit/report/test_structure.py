"""Which columns hang together, and the picture of it."""

import itertools

import numpy as np
import pytest

from understudy.domain import Domain
from understudy.report.structure import Structure
from understudy.report.tree_picture import _places, _tree, picture


def chain(*cliques, target="a", sizes=3):
    names = sorted({name for clique in cliques for name in clique} | {"alone"})
    rng = np.random.default_rng(1)
    drawn = {name: rng.integers(0, sizes, 500).astype(np.uint8) for name in names}
    drawn["b"] = drawn["a"]
    return Structure.of(Domain.of(dict.fromkeys(names, sizes)), cliques, drawn, target)


def test_a_structure_has_the_edges_of_its_cliques():
    structure = chain(("a", "b"), ("b", "c", "d"), ("b", "a"))
    assert structure.edges == (("a", "b"), ("b", "c"), ("b", "d"), ("c", "d"))
    assert structure.alone == ("alone",)
    assert structure.tied == 4
    assert structure.neighbours == ("b",)
    assert structure.strength[0] == pytest.approx(1.0)
    assert structure.strength[1] < 0.3
    assert structure.ranked[0] == (("a", "b"), structure.strength[0])
    drawn = picture(structure)
    assert (drawn.drawn, drawn.undrawn) == (4, 0)
    assert drawn.drawing.count("<circle") == 4
    assert drawn.drawing.count('class="tie"') == 3
    assert drawn.drawing.count('class="tie across"') == 1


def test_only_the_column_to_predict_is_marked():
    assert "node root" in picture(chain(("a", "b"), ("b", "c"))).drawing
    assert "node root" not in picture(chain(("a", "b"), ("b", "c"), target=None)).drawing
    assert "node root" not in picture(chain(("a", "b"), target="alone")).drawing


def test_columns_do_not_lie_on_each_other():
    structure = chain(("a", "b"), ("a", "c"), ("c", "d"), ("c", "e"), ("f", "g"))
    where = _places(_tree(structure), structure.root)
    assert set(where) == set("abcdefg")
    for one, (x, y) in where.items():
        for other, (left, up) in where.items():
            assert one == other or x != left or abs(y - up) >= 20


def test_a_long_chain_is_drawn_as_far_as_it_can_be_seen():
    names = [f"c{k:04}" for k in range(1500)]
    cliques = list(itertools.pairwise(names))
    drawn = dict.fromkeys(names, np.zeros(3, np.uint8))
    structure = Structure.of(Domain.of(dict.fromkeys(names, 2)), cliques, drawn, "c0000")
    shown = picture(structure)
    assert shown.drawn == 300
    assert shown.drawing.count("<circle") == 300
    assert shown.drawing.count("<path") == 299


def test_of_many_lines_across_the_strongest_are_drawn_and_the_others_counted():
    names = [f"c{k:02}" for k in range(30)]
    rng = np.random.default_rng(0)
    drawn = {name: rng.integers(0, 2, 200).astype(np.uint8) for name in names}
    drawn["c29"] = drawn["c28"]  # the last edge of all, and the strongest
    pairs = list(itertools.combinations(names, 2))
    structure = Structure.of(Domain.of(dict.fromkeys(names, 2)), pairs, drawn, "c00")
    shown = picture(structure)
    assert shown.drawing.count('class="tie across"') == 200
    assert shown.undrawn == len(pairs) - 29 - 200
    assert "c28 and c29: 1.00" in shown.drawing
