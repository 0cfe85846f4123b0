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
    from understudy.mechanisms.dpdsyn import DpdSyn
    from understudy.mechanisms.independent import IndependentColumns
    from understudy.mechanisms.kernel_labels import KernelLabelModel
    from understudy.mechanisms.label_model import LabelModel
    from understudy.mechanisms.lk2ss import Lk2ss
    from understudy.mechanisms.mst import Mst
    from understudy.mechanisms.mwem import Mwem
    from understudy.mechanisms.prefair import PreFair
    from understudy.mechanisms.prism import Prism
    from understudy.mechanisms.privbayes import PrivBayes
    from understudy.mechanisms.privci import PrivCI
    from understudy.mechanisms.reps import Reps
    from understudy.mechanisms.tailored import LabelsBy, Tailored
    from understudy.model.kernels import Gaussian, Matern, Wendland
    from understudy.pipeline import synthesize
    from understudy.privacy.certificate import Certificate
    from understudy.privacy.folder import verify
    from understudy.privacy.unit import Person, Record, Replacement
    from understudy.release import Release, load
    from understudy.select.regimes import Causal, Graphical, Predictive
    from understudy.twostage.first_stages import LatinHypercube
    from understudy.twostage.hybrid import Hybrid
    from understudy.twostage.responses import AdaBoost, KernelRidge, NadarayaWatson, RandomForest

__all__ = [
    "AdaBoost",
    "Aim",
    "Causal",
    "Certificate",
    "Column",
    "Domain",
    "DpdSyn",
    "Gaussian",
    "Graphical",
    "Hybrid",
    "Independence",
    "IndependentColumns",
    "KernelLabelModel",
    "KernelRidge",
    "Kind",
    "LabelModel",
    "LabelsBy",
    "LatinHypercube",
    "Lk2ss",
    "Matern",
    "Mst",
    "Mwem",
    "NadarayaWatson",
    "Person",
    "PreFair",
    "Predictive",
    "Prism",
    "PrivBayes",
    "PrivCI",
    "RandomForest",
    "Record",
    "Release",
    "Replacement",
    "Reps",
    "Role",
    "Schema",
    "Source",
    "Tailored",
    "UnderstudyError",
    "Wendland",
    "load",
    "read_schema",
    "synthesize",
    "verify",
    "write_schema",
]

# Loaded when somebody asks, for the libraries behind them take a second.
_LATER = {
    "AdaBoost": "understudy.twostage.responses",
    "Aim": "understudy.mechanisms.aim",
    "Causal": "understudy.select.regimes",
    "Certificate": "understudy.privacy.certificate",
    "DpdSyn": "understudy.mechanisms.dpdsyn",
    "Gaussian": "understudy.model.kernels",
    "Graphical": "understudy.select.regimes",
    "Hybrid": "understudy.twostage.hybrid",
    "IndependentColumns": "understudy.mechanisms.independent",
    "KernelLabelModel": "understudy.mechanisms.kernel_labels",
    "KernelRidge": "understudy.twostage.responses",
    "LabelModel": "understudy.mechanisms.label_model",
    "LabelsBy": "understudy.mechanisms.tailored",
    "LatinHypercube": "understudy.twostage.first_stages",
    "Lk2ss": "understudy.mechanisms.lk2ss",
    "Matern": "understudy.model.kernels",
    "Mst": "understudy.mechanisms.mst",
    "Mwem": "understudy.mechanisms.mwem",
    "NadarayaWatson": "understudy.twostage.responses",
    "Person": "understudy.privacy.unit",
    "PreFair": "understudy.mechanisms.prefair",
    "Predictive": "understudy.select.regimes",
    "Prism": "understudy.mechanisms.prism",
    "PrivBayes": "understudy.mechanisms.privbayes",
    "PrivCI": "understudy.mechanisms.privci",
    "RandomForest": "understudy.twostage.responses",
    "Record": "understudy.privacy.unit",
    "Release": "understudy.release",
    "Replacement": "understudy.privacy.unit",
    "Reps": "understudy.mechanisms.reps",
    "Tailored": "understudy.mechanisms.tailored",
    "Wendland": "understudy.model.kernels",
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


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
