import numpy as np
import pytest

from understudy.curator.audit.cases import UNITS
from understudy.curator.audit.pair import COLUMNS, RARE, Pair
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.unit import Person, Record, Replacement
from understudy.privacy.weights import UNIT, RowWeights

CLIQUES = [(), ("a",), ("b", "a"), ("a", "b", "c")]
WEIGHTS = RowWeights.of({"a": [0, 2, 1, 0], "c": [0, 1, 0, 3]}, [1, 3], [UNIT, 512, 100])
PLENTY = Budget(1e9, 1e-5)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("lonely", [True, False])
def test_the_two_tables_are_neighbours(unit, lonely):
    without, with_it = (
        Pair(unit, lonely=lonely).table(canary=c).to_pylist() for c in (False, True)
    )
    same = [row for row in without if row in with_it]
    more = with_it[len(same) :]
    if isinstance(unit, Replacement):
        assert len(without) == len(with_it) == len(same) + 1
    else:
        assert same == without
        # More rows than may count: two of them do not.
        assert len(more) == (unit.rows + 2 if isinstance(unit, Person) else 1)
    assert len({row["who"] for row in more}) == 1
    assert not {row["who"] for row in more} & {row["who"] for row in same}
    assert all((row[name] == "rare") is lonely for row in more for name in COLUMNS)
    assert not any(row[name] == "rare" for row in without for name in COLUMNS)


@pytest.mark.parametrize("unit", UNITS, ids=str)
@pytest.mark.parametrize("canary", [False, True])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_the_auditor_counts_what_the_ledger_counts(unit, canary, weights):
    # At so small a scale the noise is 0.
    pair = Pair(unit)
    with Ledger.open(pair.table(canary=canary), pair.schema, PLENTY, unit=unit) as ledger:
        groups = {"a": [1, 0, 1, 2], "b": [0, 0, 0, 0]}
        for ask, merged in ((ledger, None), (ledger.merged(groups), groups)):
            for answer in ask.measure(CLIQUES, scale=1e-3, weights=weights):
                mine = pair.counts(answer.clique, merged, weights, canary=canary)
                np.testing.assert_allclose(answer.values, mine, atol=1e-2)


def test_a_narrow_pair_has_fewer_columns():
    pair = Pair(Record(), rows=20, columns=("a", "b"))
    assert pair.table(canary=True).column_names == ["who", "a", "b"]
    assert pair.schema.names == ("who", "a", "b")
    assert pair.codes(canary=True)["b"][-1] == RARE
    assert len(pair.codes(canary=False)["a"]) == 20
