"""Counting real tables, beside pandas. Skipped unless a folder of tables is given."""

import itertools

import numpy as np
import pandas as pd
import pytest

from understudy.column import Column, Kind
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema
from understudy.schema_files import read_schema


@pytest.mark.parametrize("name", ["adult_encoded", "br2000"])
def test_all_pairs_of_a_coded_table(data, name):
    frame = pd.read_csv(data / f"{name}.csv.gz")
    table = PrivateTable(data / f"{name}.csv.gz", read_schema(data / f"{name}.domain.json"))
    pairs = list(itertools.combinations(table.domain.names, 2))
    for pair, count in zip(pairs, table.count(pairs), strict=True):
        edges = [np.arange(size + 1) - 0.5 for size in table.domain.shape(pair)]
        expected, _ = np.histogramdd(frame[list(pair)].to_numpy(), edges)
        np.testing.assert_array_equal(count, expected)


def test_adult_as_it_comes(data):
    frame = pd.read_csv(data / "adult.csv.gz")
    jobs = tuple(sorted(frame["workclass"].str.strip().unique()))
    facts = {
        "age": {"kind": Kind.INTEGER, "bounds": (17, 90), "bins": 74},
        "workclass": {"kind": Kind.CATEGORICAL, "categories": jobs},
        "income": {"kind": Kind.CATEGORICAL, "categories": ("<=50K", ">50K")},
    }
    others = {name: {"kind": Kind.REAL, "role": "drop"} for name in frame if name not in facts}
    schema = Schema(
        tuple(Column(name=name, **(facts | others)[name], null=False) for name in frame)
    )
    (count,) = PrivateTable(data / "adult.csv.gz", schema).count([("age", "workclass", "income")])
    frame["workclass"], frame["income"] = (
        frame["workclass"].str.strip(),
        frame["income"].str.strip(),
    )
    grouped = frame.groupby(["age", "workclass", "income"]).size()
    assert count.sum() == len(frame) == 48_842
    for (age, job, income), rows in grouped.items():
        assert count[age - 17, jobs.index(job), int(income == ">50K")] == rows
