"""Understudy: a stand-in for a private table.

The flow, from the rows to what may leave the building:

    public facts      Schema: kinds, categories, bounds, roles, who says so
    codes             Encoding: values ⇄ small integers, with cells for missing and "other"
    rows              stay inside `understudy.privacy`; only its ledger answers, with noise
    open facts        are found out through the same ledger, out of the same ε
    mechanism         a recipe: what to ask the ledger, and which model to fit to the answers
    release           rows drawn from the model, and a certificate that anyone can compute again

    >>> import understudy as us
    >>> us.Aim(degree=3)
    Aim(degree=3, model_bytes=33554432)
"""

from typing import TYPE_CHECKING, Any

from understudy.column import Column, Kind, Role, Source
from understudy.domain import Domain
from understudy.errors import UnderstudyError
from understudy.knowledge import Independence
from understudy.schema import Schema
from understudy.schema_files import read_schema, write_schema

if TYPE_CHECKING:
    from understudy.mechanisms.aim import Aim
    from understudy.mechanisms.independent import IndependentColumns
    from understudy.mechanisms.mst import Mst
    from understudy.mechanisms.mwem import Mwem
    from understudy.mechanisms.prefair import PreFair
    from understudy.mechanisms.prism import Prism
    from understudy.mechanisms.privbayes import PrivBayes
    from understudy.mechanisms.privci import PrivCI
    from understudy.mechanisms.reps import Reps
    from understudy.pipeline import synthesize
    from understudy.privacy.certificate import Certificate
    from understudy.privacy.folder import verify
    from understudy.privacy.unit import Person, Record, Replacement
    from understudy.release import Release, load
    from understudy.select.regimes import Causal, Graphical, Predictive

__all__ = [
    "Aim",
    "Causal",
    "Certificate",
    "Column",
    "Domain",
    "Graphical",
    "Independence",
    "IndependentColumns",
    "Kind",
    "Mst",
    "Mwem",
    "Person",
    "PreFair",
    "Predictive",
    "Prism",
    "PrivBayes",
    "PrivCI",
    "Record",
    "Release",
    "Replacement",
    "Reps",
    "Role",
    "Schema",
    "Source",
    "UnderstudyError",
    "load",
    "read_schema",
    "synthesize",
    "verify",
    "write_schema",
]

# Loaded when somebody asks, for the libraries behind them take a second.
_LATER = {
    "Aim": "understudy.mechanisms.aim",
    "Causal": "understudy.select.regimes",
    "Certificate": "understudy.privacy.certificate",
    "Graphical": "understudy.select.regimes",
    "IndependentColumns": "understudy.mechanisms.independent",
    "Mst": "understudy.mechanisms.mst",
    "Mwem": "understudy.mechanisms.mwem",
    "Person": "understudy.privacy.unit",
    "PreFair": "understudy.mechanisms.prefair",
    "Predictive": "understudy.select.regimes",
    "Prism": "understudy.mechanisms.prism",
    "PrivBayes": "understudy.mechanisms.privbayes",
    "PrivCI": "understudy.mechanisms.privci",
    "Record": "understudy.privacy.unit",
    "Release": "understudy.release",
    "Replacement": "understudy.privacy.unit",
    "Reps": "understudy.mechanisms.reps",
    "load": "understudy.release",
    "synthesize": "understudy.pipeline",
    "verify": "understudy.privacy.folder",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the names above
    if name not in _LATER:
        msg = f"module 'understudy' has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib import import_module  # noqa: PLC0415 - only here

    return getattr(import_module(_LATER[name]), name)
