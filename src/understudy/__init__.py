"""Understudy: a stand-in for a private table.

The flow, from the rows to what may leave the building:

    public facts      Schema: kinds, categories, bounds, roles, who says so
    codes             Encoding: values ⇄ small integers, with cells for missing and "other"
    rows              stay inside `understudy.privacy`; only its ledger answers, with noise
    certificate       what was promised, spent and declared public; anyone can compute it again

What is here today is the trusted core. Fitting, sampling and releasing come next.
"""

from understudy.column import Column, Kind, Role, Source
from understudy.domain import Domain
from understudy.errors import UnderstudyError
from understudy.schema import Schema
from understudy.schema_files import read_schema, write_schema

__all__ = [
    "Column",
    "Domain",
    "Kind",
    "Role",
    "Schema",
    "Source",
    "UnderstudyError",
    "read_schema",
    "write_schema",
]
