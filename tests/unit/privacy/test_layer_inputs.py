"""Inputs that are looked up by packs of columns are the inputs, written out."""

import numpy as np
import pytest

from understudy.privacy.layer_inputs import ONE_INPUT, LayerInputs, PackedInputs

SIZES = {"few": (3, 3), "one": (7, 1), "many": (50, 4), "more": (90, 2), "long": (5000, 1)}
WIDE_LONG = {"few": (4, 2), "long and wide": (6000, 3), "last": (2, 1)}


@pytest.mark.parametrize("sizes", [SIZES, WIDE_LONG, {"long": (5000, 1)}, {"one": (2, 2)}])
@pytest.mark.parametrize("at_once", [1.0, 1e5])
def test_looked_up_as_written_out(sizes, at_once):
    rng = np.random.default_rng(0)
    tables = {name: rng.integers(-500, 500, size).astype(float) for name, size in sizes.items()}
    codes = {n: rng.integers(0, len(t), 300).astype(np.uint16) for n, t in tables.items()}
    rows = LayerInputs.of_codes(PackedInputs.of(tables, at_once), codes)
    parts = [table[codes[name]] for name, table in tables.items()]
    matrix = np.concatenate([*parts, np.full((300, 1), ONE_INPUT)], axis=1)
    layer = rng.integers(-1000, 1000, (matrix.shape[1], 3)).astype(float)
    errors = rng.integers(-1000, 1000, (300, 3)).astype(float)
    np.testing.assert_array_equal(rows.times(layer), matrix @ layer)
    np.testing.assert_array_equal(rows.squared_norms, (matrix**2).sum(axis=1))
    np.testing.assert_array_equal(rows.gradient(errors, layer.shape), matrix.T @ errors)


def test_columns_are_packed_as_long_as_their_combinations_are_few():
    tables = {name: np.zeros(size) for name, size in SIZES.items()}
    packed = PackedInputs.of(tables, 1e5)
    assert [pack.names for pack in packed.packs] == [["few", "many"], ["more"]]
    assert packed.names == ["one", "long"]
    assert packed.places == [3, 10, 11]
    # Of few rows at once none are: there would be more to look up in than to look up.
    assert [pack.names for pack in PackedInputs.of(tables, 100).packs] == [
        ["few"],
        ["many"],
        ["more"],
    ]
