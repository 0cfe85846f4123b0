"""The papers whose experiments can be repeated; each is loaded only when it is asked for."""

from collections.abc import Callable
from dataclasses import dataclass

from understudy.errors import BadInput, listed
from understudy.experiments.reproduced import Reproduce


@dataclass(frozen=True)
class Paper:
    """A paper by the name of its method."""

    name: str
    tables: str
    """What is read from --data."""
    load: Callable[[], Reproduce]


def _prism() -> Reproduce:
    from understudy.experiments.prism.reproduce import reproduce

    return reproduce


def _privci() -> Reproduce:
    from understudy.experiments.privci.reproduce import reproduce

    return reproduce


def _reps() -> Reproduce:
    from understudy.experiments.reps.reproduce import reproduce

    return reproduce


def _dpdsyn() -> Reproduce:
    from understudy.experiments.dpdsyn.reproduce import reproduce

    return reproduce


def _lk2ss() -> Reproduce:
    from understudy.experiments.lk2ss.reproduce import reproduce

    return reproduce


PAPERS = (
    Paper("prism", "adult and adult_encoded", _prism),
    Paper("privci", "adult, compas, dutch_census, german_credit_kaggle and law_school", _privci),
    Paper("reps", "adult, breast_cancer_wisconsin and german_credit_uci", _reps),
    Paper("dpdsyn", "adult, br2000, liver_patient_lpd and smoking", _dpdsyn),
    Paper("lk2ss", "california_housing, census_casc, eia, insurance and tarragona", _lk2ss),
)


def paper_named(name: str) -> Paper:
    """The paper with this name."""
    found = next((paper for paper in PAPERS if paper.name == name), None)
    if found is None:
        msg = f"There is no paper {name!r}. Known: {listed(paper.name for paper in PAPERS)}."
        raise BadInput(msg)
    return found
