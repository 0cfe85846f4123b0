"""Whatever independences are stated, no method makes a model that breaks one."""

import pytest
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st

from helpers import chains
from helpers.independences import independences, separated
from understudy.demanded import check_kept
from understudy.errors import CheckFailed
from understudy.mechanisms.aim import Aim
from understudy.mechanisms.independent import IndependentColumns
from understudy.mechanisms.mst import Mst
from understudy.mechanisms.mwem import Mwem
from understudy.mechanisms.prefair import PreFair, Search
from understudy.mechanisms.prism import Backend, Prism
from understudy.mechanisms.privbayes import PrivBayes
from understudy.mechanisms.privci import PrivCI
from understudy.model import estimate
from understudy.model.information import model_information
from understudy.select.regimes import Causal, Graphical, Predictive
from understudy.separation import Separation

SIZES = {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2}
STATED = st.lists(independences(SIZES), min_size=1, max_size=2)
ONE = independences(SIZES).map(lambda one: [one])
RICH = 300.0
"""So much that the strongest pairs are always found."""
METHODS = {
    "mst": (Mst(), STATED),
    "privci": (PrivCI(), STATED),
    "prefair": (PreFair(), STATED),
    "prefair, exhaustive": (PreFair(search=Search.EXHAUSTIVE), ONE),
    "aim": (Aim(), STATED),
    "aim, triples": (Aim(degree=3), STATED),
    "mwem": (Mwem(), STATED),
    "privbayes": (PrivBayes(usefulness=1.0), STATED),
    "prism": (Prism(), STATED),
    "prism, few features": (Prism(regime=Predictive(k=2), joint_cells=0), STATED),
    "prism, weighted": (Prism(weighted=True, joint_cells=0, usefulness=0.1), STATED),
    "prism, a learned blanket": (Prism(regime=Graphical.learn()), STATED),
    "prism, two targets": (Prism(also={"d": 1.0}), STATED),
    "prism, naive Bayes": (Prism(backend=Backend.NAIVE_BAYES), STATED),
    "prism, stated causes": (Prism(regime=Causal(["b", "c"])), STATED),
    "prism, naive Bayes of causes": (
        Prism(backend=Backend.NAIVE_BAYES, regime=Causal(["b", "c", "e"])),
        STATED,
    ),
    "independent": (IndependentColumns(), STATED),
}
QUICK = {
    *("privci", "prefair, exhaustive", "aim", "mwem", "privbayes", "prism", "prism, naive Bayes"),
    "independent",
}
"""The others take the same steps, and are for long runs."""


def slow(name):
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Fits are cut short: what is independent in a model is so from the first step on."""
    whole, few = estimate._followed, estimate.Stopping(iterations=5)
    monkeypatch.setattr(estimate, "_followed", lambda points, _: whole(points, few))


def fitted(method, stated, *, epsilon=RICH, order=None, follows=0.8):
    codes = chains.chain(400, sizes=SIZES, order=order, follows=follows)
    ledger = chains.opened(codes, epsilon, sizes=SIZES)
    model = method.fit(ledger, allowed=Separation(stated))
    assert ledger.close().spent <= ledger.budget.rho
    return model, ledger


@pytest.mark.parametrize("name", [n if n in QUICK else slow(n) for n in METHODS])
def test_no_model_breaks_a_stated_independence(name):
    method, strategy = METHODS[name]

    @given(strategy, st.permutations(list(SIZES)), st.sampled_from([3.0, RICH]))
    @settings(max_examples=5, phases=[Phase.generate])  # fits are too slow to look for less
    def keeps(stated, order, epsilon):
        model, ledger = fitted(method, stated, epsilon=epsilon, order=order)
        measured = [one.clique for one in model.measurements]
        assert separated(stated, measured)
        check_kept(Separation(stated), model)
        for one in stated:
            assert model_information(model, one) <= 1e-9, one
        event(f"{sum(len(clique) > 1 for clique in measured)} pairs or wider")
        # What is not allowed is not paid for either.
        bought = [e.request for e in ledger.entries if e.request["door"] == "measure"]
        assert separated(stated, [clique for one in bought for clique in one["cliques"]])
        assert float(ledger.rest() / ledger.budget.rho) < 1e-6  # nothing is left lying about

    keeps()


@pytest.mark.parametrize(
    "name", [n if n in QUICK else slow(n) for n in METHODS if n != "independent"]
)
def test_without_the_sentence_the_same_fit_would_break_it(name):
    # Columns follow each other closely: whoever may measure a and b together does.
    method, _ = METHODS[name]
    broken = []
    for other in "bc":
        order = ["a", other, *(n for n in SIZES if n not in {"a", other})]
        stated = Separation([f"a _||_ {other} | e"]).independences
        model, _ = fitted(method, (), order=order, follows=0.95)
        measured = [one.clique for one in model.measurements]
        broken.append(not separated(stated, measured) and model_information(model, *stated) > 0.05)
        if broken[-1]:
            with pytest.raises(CheckFailed, match="fault of the method, and nothing is released"):
                check_kept(Separation(stated), model)
    assert any(broken)


def test_a_column_that_may_stand_beside_no_other_is_still_counted():
    for name in QUICK:
        method, _ = METHODS[name]
        model, _ = fitted(method, Separation(["a _||_ b, c, d, e"]).independences)
        told = [one for one in model.measurements if "a" in one.clique]
        assert told, name
        assert {one.clique for one in told} == {("a",)}, name
