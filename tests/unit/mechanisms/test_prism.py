"""PRISM: where the budget goes, what is measured, and what is said about it."""

from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from helpers import chains
from understudy.allocate import Allocation
from understudy.column import Column, Kind, Role
from understudy.errors import BadInput, UnknownColumn
from understudy.knowledge import Independence
from understudy.mechanisms.prism import Backend, Prism
from understudy.model.bayes_net import BayesNet
from understudy.model.visible import visible
from understudy.privacy.budget import Budget
from understudy.privacy.events import Exponential
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import SeededForTests
from understudy.schema import Schema
from understudy.select.regimes import By, Causal, Graphical, Predictive
from understudy.separation import Separation

# y depends on a and b, and s on y; n and m stand alone, and p only follows s.
SIZES = {"y": 2, "a": 3, "b": 3, "s": 2, "n": 4, "m": 4, "p": 2}
GRAPH = [("a", "y"), ("b", "y"), ("y", "s"), ("s", "p")]


def table(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    a, b, n, m = (rng.integers(0, SIZES[name], count) for name in "abnm")
    y = (rng.random(count) < 1 / (1 + np.exp(-1.2 * (a + b - 2)))).astype(int)
    s = np.where(rng.random(count) < 0.1, 1 - y, y)
    p = np.where(rng.random(count) < 0.2, 1 - s, s)
    return {"y": y, "a": a, "b": b, "s": s, "n": n, "m": m, "p": p}


opened = partial(chains.opened, sizes=SIZES, make=lambda **_: table())


def cliques(ledger, door="measure"):
    return [
        frozenset(clique)
        for entry in ledger.entries
        if entry.request["door"] == door
        for clique in entry.request.get("cliques", [])
    ]


def share(ledger, entries):
    return float(sum(map(chains.spent, entries)) / ledger.budget.rho)


def choices(ledger):
    return [entry for entry in ledger.entries if isinstance(entry.event, Exponential)]


# --- regimes ---


@pytest.mark.parametrize("regime", [Causal(["a", "b"]), Graphical(GRAPH)], ids=str)
def test_what_is_known_costs_nothing_to_find(regime):
    ledger = opened()
    Prism(regime=regime).fit(ledger)
    # The first choice comes after pairs were measured: it is among triples, or for the tree.
    first = next(n for n, e in enumerate(ledger.entries) if isinstance(e.event, Exponential))
    pairs = [e for e in ledger.entries[:first] if any(len(c) == 2 for c in e.request["cliques"])]
    assert pairs


def test_causes_are_measured_with_the_target_and_nothing_else_is():
    ledger = opened()
    Prism(regime=Causal(["a", "b"])).fit(ledger)
    together = {clique for clique in cliques(ledger) if "y" in clique and len(clique) > 1}
    assert together == {frozenset("ya"), frozenset("yb"), frozenset("yab")}


def test_the_blanket_is_measured_with_the_target_and_nothing_else_is():
    ledger = opened(epsilon=4.0)
    Prism(regime=Graphical(GRAPH)).fit(ledger)
    with_target = {name for clique in cliques(ledger) if "y" in clique for name in clique}
    assert with_target == {"y", "a", "b", "s"}
    # What the blanket leaves out is tied to something else.
    tied = {name for clique in cliques(ledger) if len(clique) > 1 for name in clique}
    assert tied == {*SIZES}


@pytest.mark.parametrize("by", By)
def test_features_are_found_that_tell_about_the_target(by):
    ledger = opened(epsilon=20.0)
    Prism(regime=Predictive(k=3, by=by), joint_cells=0, triples=0).fit(ledger)
    with_target = [c for c in cliques(ledger) if "y" in c and len(c) == 2]
    assert {frozenset("ya"), frozenset("yb"), frozenset("ys")} & {*with_target} >= {frozenset("ys")}
    door = {By.ASSOCIATION: "select", By.COEFFICIENTS: "train"}[by]
    assert any(entry.request["door"] == door for entry in ledger.entries)


def test_finding_features_takes_a_tenth():
    ledger = opened()
    Prism(regime=Predictive(k=3), triples=0, joint_cells=0).fit(ledger)
    assert share(ledger, choices(ledger)[:3]) == pytest.approx(0.1, rel=1e-6)
    assert share(ledger, ledger.entries) == pytest.approx(1, rel=1e-6)


def test_where_all_columns_are_features_nothing_is_spent_on_finding_them():
    ledger = opened()
    Prism(regime=Predictive(k=6), triples=0, joint_cells=0).fit(ledger)
    assert not choices(ledger)
    assert share(ledger, ledger.entries) == pytest.approx(1, rel=1e-6)


def test_a_learned_blanket_drops_what_others_explain():
    ledger = opened(epsilon=50.0)
    Prism(regime=Graphical.learn(share=0.3, most=4)).fit(ledger)
    (scored,) = (entry for entry in ledger.entries if entry.request["door"] == "scores")
    assert len(scored.request["cliques"]) == 4
    pairs = {c for c in cliques(ledger) if "y" in c and len(c) == 2}
    # p follows s, and says nothing once s is known; n and m say nothing at all.
    assert pairs >= {frozenset("ya"), frozenset("yb"), frozenset("ys")}
    spent = [*choices(ledger)[:4], scored]
    assert share(ledger, spent) == pytest.approx(0.3, rel=1e-6)


# --- pools and allocation ---


@pytest.mark.parametrize("allocation", [Allocation.UNIFORM, Allocation.OPTIMAL])
@pytest.mark.parametrize("regime", [Causal(["a", "b"]), Graphical(GRAPH), Predictive(k=3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_all_of_the_budget_is_spent_and_no_more(regime, allocation, weighted):
    ledger = opened(epsilon=2.0)
    Prism(regime=regime, allocation=allocation, weighted=weighted).fit(ledger)
    assert 0.999 < share(ledger, ledger.entries) <= 1


@pytest.mark.parametrize("allocation", [Allocation.BASIC_UNIFORM, Allocation.BASIC_OPTIMAL])
def test_as_papers_add_up_less_is_bought(allocation):
    ledger = opened(epsilon=1.0)
    Prism(regime=Predictive(k=3), allocation=allocation).fit(ledger)
    assert share(ledger, ledger.entries) < 0.5


def test_a_task_with_known_causes_gets_three_quarters():
    ledger = opened()
    Prism(regime=Causal(["a", "b"])).fit(ledger)
    for_task = [
        e
        for e in ledger.entries
        if any("y" in c and len(c) > 1 for c in e.request.get("cliques", []))
    ]
    # 0.65, the tenth that no search needs, and what choosing triples would have taken.
    assert share(ledger, for_task) == pytest.approx(0.8, rel=1e-6)


def test_important_features_have_less_noise():
    def noise(**options):
        ledger = opened()
        recipe = Prism(regime=Causal(["a", "b"]), joint_cells=0, triples=0, **options)
        model = recipe.fit(ledger)
        return {frozenset(m.clique): float(np.median(m.scale)) for m in model.measurements}

    plain, lifted = noise(), noise(importance={"a": 20.0})
    assert lifted[frozenset("ya")] < plain[frozenset("ya")]
    assert lifted[frozenset("yb")] > plain[frozenset("yb")]


def test_weights_by_noisy_scores_are_paid_for():
    ledger = opened(epsilon=10.0)
    Prism(regime=Predictive(k=4), weighted=True, joint_cells=0).fit(ledger)
    scored = [entry for entry in ledger.entries if entry.request["door"] == "scores"]
    assert [len(entry.request["cliques"][0]) for entry in scored] == [2, 3]
    assert share(ledger, scored[:1]) == pytest.approx(0.05, rel=1e-6)
    assert share(ledger, scored[1:]) == pytest.approx(0.025, rel=1e-6)


# --- wide tables ---


def test_a_small_joint_is_measured_and_then_no_triples():
    ledger = opened(epsilon=10.0)
    Prism(regime=Causal(["a", "b", "s"])).fit(ledger)
    assert frozenset("yabs") in cliques(ledger)
    assert not [c for c in cliques(ledger) if len(c) == 3]


def test_a_joint_over_the_limit_is_left_out_and_that_is_said():
    ledger = opened(epsilon=10.0)
    recipe = Prism(regime=Causal(["a", "b", "s"]), joint_cells=20)
    model = recipe.fit(ledger)
    assert max(len(c) for c in cliques(ledger)) == 3
    (said,) = (one for one in recipe.remarks(model, "y") if "together" in one)
    assert "36 cells" in said
    whole = Prism(regime=Causal(["a", "b", "s"]))
    assert not whole.left_out(whole.fit(opened(epsilon=10.0)), "y")


def test_triples_are_those_that_pairs_do_not_explain():
    rng = np.random.default_rng(5)
    codes = {name: rng.integers(0, 2, 5000) for name in "abcd"}
    codes = {"y": (codes["a"] ^ codes["b"]) & 1, **codes}
    ledger = chains.opened(codes, 8.0, sizes=dict.fromkeys("yabcd", 2))
    Prism(regime=Causal(list("abcd")), joint_cells=0, triples=1).fit(ledger)
    assert [c for c in cliques(ledger) if len(c) == 3] == [frozenset("yab")]


def test_little_budget_buys_no_wide_tables():
    ledger = opened(epsilon=0.03)
    Prism(regime=Causal(["a", "b", "s"]), rarity=0.0).fit(ledger)
    assert max(len(c) for c in cliques(ledger)) == 2
    assert share(ledger, ledger.entries) == pytest.approx(1, rel=1e-6)


# --- several targets ---


def test_several_targets_have_features_each():
    ledger = opened(epsilon=4.0)
    recipe = Prism(regime=Predictive(k=2), also={"p": 0.5}, joint_cells=0, triples=0)
    recipe.fit(ledger)
    for target in "yp":
        assert [c for c in cliques(ledger) if target in c and len(c) == 2]
    heavy = Prism(
        regime={"y": Causal(["a"]), "p": Causal(["s"])}, also={"p": 9.0}, joint_cells=0, triples=0
    )
    model = heavy.fit(opened())
    noise = {frozenset(m.clique): float(np.median(m.scale)) for m in model.measurements}
    assert noise[frozenset("ps")] < noise[frozenset("ya")]


# --- back-ends ---


def test_naive_bayes_ties_features_to_the_target_alone():
    ledger = opened(epsilon=8.0)
    model = Prism(regime=Graphical(GRAPH), backend=Backend.NAIVE_BAYES).fit(ledger)
    assert isinstance(model, BayesNet)
    parents = {step.new[0]: step.given for step in model.steps}
    assert parents == {
        "y": (), "a": ("y",), "b": ("y",), "s": ("y",), "n": (), "m": (), "p": (),
    }  # fmt: skip
    assert max(len(c) for c in cliques(ledger)) == 2
    assert share(ledger, ledger.entries) == pytest.approx(1, rel=1e-6)


def test_a_graphical_model_keeps_what_naive_bayes_loses():
    def off(backend):
        ledger = opened(epsilon=50.0)
        model = Prism(regime=Causal(["a", "b"]), backend=backend).fit(ledger)
        drawn = visible(model, ledger.encoding.hidden).sample(40_000, np.random.default_rng(0))
        both = np.zeros((3, 3))
        np.add.at(both, (drawn["a"], drawn["b"]), 1 / 40_000)
        exact = np.zeros((3, 3))
        rows = table()
        np.add.at(exact, (rows["a"], rows["b"]), 1 / 4000)
        return np.abs(both - exact).sum()

    # a and b are independent, but not given y.
    assert off(Backend.GRAPHICAL) < 0.02 < off(Backend.NAIVE_BAYES)


# --- the safety net ---


def test_a_wrong_graph_is_not_silent():
    wrong = Graphical([("n", "y"), ("a", "y"), ("b", "s"), ("y", "s")])
    recipe = Prism(regime=wrong)
    said = recipe.remarks(recipe.fit(opened(epsilon=4.0)), "y")
    assert [one for one in said if "y depends on n" in one]
    assert not [one for one in said if "y depends on a" in one]
    right = Prism(regime=Graphical(GRAPH))
    (said,) = right.remarks(right.fit(opened(epsilon=4.0)), "y")
    assert "depends on other columns than the stated ones was not looked at" in said


def test_columns_that_a_graph_calls_independent_are_compared():
    rng = np.random.default_rng(1)
    codes = table()
    codes["b"] = np.where(rng.random(4000) < 0.7, codes["a"], codes["b"])
    recipe = Prism(regime=Graphical(GRAPH))
    said = recipe.remarks(recipe.fit(opened(codes, epsilon=4.0)), "y")
    assert [one for one in said if "says that a and b are independent" in one]


def skewed(count, size, seed=0):
    """Independent columns, one code of each far more common than the others."""
    rng = np.random.default_rng(seed)
    shares = np.r_[100.0, np.ones(size - 1)] / (99 + size)
    return {name: rng.choice(size, count, p=shares) for name in "yabc"}


@pytest.mark.parametrize(("size", "count"), [(3, 3000), (20, 45_000)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_columns_that_are_independent_are_not_called_dependent(size, count, epsilon):
    # Which is where noise dominates most cells, and their sums.
    codes = skewed(count, size)
    recipe = Prism(regime=Graphical([("a", "y"), ("b", "y"), ("c", "y")]))
    sizes = dict.fromkeys(codes, size)
    for seed in range(4):
        ledger = chains.opened(codes, epsilon, sizes=sizes, seed=seed)
        said = recipe.remarks(recipe.fit(ledger), "y")
        assert not [one for one in said if "are independent" in one]


def test_where_noise_would_hide_any_dependence_no_edge_is_called_wrong():
    codes = table(500)
    codes["a"] = np.where(np.random.default_rng(0).random(500) < 0.8, codes["y"], 2)
    recipe = Prism(regime=Causal(["a", "b"]))
    for seed in range(5):
        said = recipe.remarks(recipe.fit(opened(codes, epsilon=0.05, seed=seed)), "y")
        assert not [one for one in said if "It was stated" in one]


def test_targets_share_wide_tables_by_their_weights():
    recipe = Prism(regime=Predictive(k=3), also={"s": 0.01}, joint_cells=0)
    model = recipe.fit(opened(epsilon=20.0))
    wide = {m.clique: float(np.median(m.scale)) for m in model.measurements if len(m.clique) == 3}
    of_first = [scale for clique, scale in wide.items() if "y" in clique]
    others = [scale for clique, scale in wide.items() if "y" not in clique]
    assert of_first
    assert not others or min(others) > max(of_first)


def test_a_learned_blanket_asks_for_no_table_that_the_ledger_would_refuse():
    rng = np.random.default_rng(0)
    codes = {name: rng.integers(0, 2, 5000) for name in "yabc"}
    codes["y"] = codes["a"] ^ (rng.random(5000) < 0.1)
    sizes = {"y": 2, **dict.fromkeys("abc", 300)}
    ledger = chains.opened(codes, 8.0, sizes=sizes, most_cells=1000)
    Prism(regime=Graphical.learn()).fit(ledger)
    assert ledger.close().spent <= ledger.budget.rho


def test_naive_bayes_leaves_a_pair_out_that_is_too_large():
    codes = {name: column % 2 for name, column in table(500).items()}
    sizes = {**dict.fromkeys(SIZES, 2), "a": 300, "y": 20}
    recipe = Prism(regime=Causal(["a", "b"]), backend=Backend.NAIVE_BAYES)
    model = recipe.fit(chains.opened(codes, 4.0, sizes=sizes, most_cells=1000))
    assert {step.new[0]: step.given for step in model.steps}["a"] == ()
    assert any("a could not be measured" in one for one in recipe.remarks(model, "y"))


# --- refused, and absorbed ---


@pytest.mark.parametrize(
    ("recipe", "error", "message"),
    [
        (Prism(regime=Causal(["y", "a"])), BadInput, "cannot be among its own causes"),
        (Prism(regime=Causal(["a", "z"])), UnknownColumn, "z"),
        (Prism(regime=Graphical([("a", "z")])), UnknownColumn, "z"),
        (Prism(regime=Graphical([("a", "b")])), BadInput, "does not name 'y'"),
        (Prism(regime=Predictive(k=7)), BadInput, "k is 7, and there are 6 columns"),
        (Prism(target="z"), UnknownColumn, "z"),
        (Prism(also={"z": 1}), UnknownColumn, "z"),
        (Prism(also={"y": 1}), BadInput, "is the target already"),
        (Prism(importance={"z": 2}), UnknownColumn, "z"),
        (Prism(regime={"a": Causal(["b"])}), BadInput, "a: a regime is for a target"),
    ],
    ids=str,
)
def test_what_the_columns_do_not_allow_is_refused_before_anything_is_spent(recipe, error, message):
    ledger = opened()
    with pytest.raises(error, match=message):
        recipe.fit(ledger)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Graphical([("a", "b"), ("b", "a")]), "in a circle"),
        (lambda: Causal([]), "at least one cause"),
        (lambda: Predictive(k=-1), "give a whole number"),
        (lambda: Predictive(by="luck"), "chosen by association, coefficients"),
        (lambda: Graphical.learn(share=0.9), "A share of 0.9"),
        (lambda: Graphical.learn(most=0), "number of features is 0"),
        (lambda: Prism(allocation="fair"), "allocation is 'fair'; give uniform"),
        (lambda: Prism(backend="x"), "backend is 'x'; give graphical"),
        (lambda: Prism(also="y"), "also is 'y'; give weights by column"),
        (lambda: Prism(also={"b": 1}, backend="naive-bayes"), "Naive Bayes predicts one target"),
        (lambda: Prism(triples=-1), "triples is -1"),
        (lambda: Prism(regime="causal"), "give Causal"),
        (lambda: Prism(importance={"a": 1e308}), "give one from"),
        (lambda: Prism(usefulness=0), "usefulness is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(BadInput, match=message):
        make()


def test_without_a_target_there_is_no_task():
    schema = Schema((Column(name="a", kind=Kind.INTEGER, bounds=(0, 3), null=False),) * 1)
    rows = pa.table({"a": [1, 2, 3]})
    with Ledger.open(rows, schema, Budget(1.0, 1e-9)) as ledger:
        with pytest.raises(BadInput, match="name it with --target"):
            Prism().fit(ledger)
        Prism(target="a").fit(ledger)


@pytest.mark.parametrize(
    "regime", [Predictive(k=2), Causal(["a", "b"]), Graphical.learn()], ids=str
)
@pytest.mark.parametrize("backend", Backend)
def test_a_target_of_one_value_is_a_target(regime, backend):
    codes = {**table(500), "y": np.zeros(500, int)}
    ledger = opened(codes, epsilon=1.0)
    model = Prism(regime=regime, backend=backend).fit(ledger)
    drawn = model.sample(200, np.random.default_rng(0))
    assert {name: len(column) for name, column in drawn.items()} == dict.fromkeys(SIZES, 200)
    one_code = {**SIZES, "y": 1}
    model = Prism(regime=regime, backend=backend).fit(chains.opened(codes, sizes=one_code))
    assert not model.sample(50, np.random.default_rng(0))["y"].any()


def test_a_numeric_target_is_predicted_in_its_bins():
    rng = np.random.default_rng(0)
    size = rng.integers(0, 4, 3000)
    price = np.clip(10 * size + rng.normal(0, 5, 3000), 0, 50)
    schema = Schema(
        (
            Column(name="size", kind=Kind.CATEGORICAL, categories=(0, 1, 2, 3), null=False),
            Column(name="luck", kind=Kind.CATEGORICAL, categories=(0, 1, 2, 3), null=False),
            Column(
                name="price", kind=Kind.REAL, bounds=(0.0, 50.0), bins=10, null=False,
                role=Role.TARGET,
            ),
        )
    )  # fmt: skip
    rows = pa.table({"size": size, "luck": rng.integers(0, 4, 3000), "price": price})
    for by in By:
        source = SeededForTests(1)
        with Ledger.open(rows, schema, Budget(8.0, 1e-9), source=source) as ledger:
            Prism(regime=Predictive(k=1, by=by)).fit(ledger)
            assert frozenset({"size", "price"}) in cliques(ledger)


def test_where_no_pair_is_allowed_all_goes_to_single_columns():
    ledger = opened(epsilon=1.0)
    model = Prism(regime=Causal(["a", "b"])).fit(
        ledger, allowed=lambda cliques: all(len(clique) == 1 for clique in cliques)
    )
    assert share(ledger, ledger.entries) == pytest.approx(1, rel=1e-6)
    assert len(model.sample(10, np.random.default_rng(0))) == len(SIZES)
    assert any(
        "could not be measured" in one
        for one in Prism(regime=Causal(["a", "b"])).remarks(model, "y")
    )


def test_where_no_pair_with_the_target_is_allowed_the_rest_is_tied():
    ledger = opened(epsilon=1.0)
    Prism().fit(ledger, allowed=lambda cliques: not any("y" in c and len(c) > 1 for c in cliques))
    assert max(len(clique) for clique in cliques(ledger)) == 2
    assert share(ledger, ledger.entries) > 0.9


def test_features_that_cannot_stand_together_are_not_both_chosen_and_paid_for():
    # Both tell of the target; tied to it, they would be tied to each other.
    apart = Separation([Independence("a", "b", given=["n"])])
    ledger = opened(epsilon=50.0)
    Prism(regime=Predictive(k=3)).fit(ledger, allowed=apart)
    beside = {n for c in cliques(ledger) if "y" in c and len(c) == 2 for n in c} - {"y"}
    assert not {"a", "b"} <= beside
    assert len(beside) == 3  # the next best took its place


def test_causes_of_several_targets_that_contradict_together_are_refused():
    recipe = Prism(also={"m": 1.0}, regime=Causal(["a"]))
    recipe.check_independences(Separation(["y _||_ b"]), (), "y")
    with pytest.raises(BadInput, match="learn y from a, m from a"):
        recipe.check_independences(Separation(["y _||_ m"]), (), "y")


def test_model_bytes_are_kept():
    ledger = opened(epsilon=30.0)
    recipe = Prism(regime=Graphical(GRAPH), model_bytes=5000)
    model = recipe.fit(ledger)
    assert model.sample(10, np.random.default_rng(0))
    assert max(np.prod([SIZES[name] for name in c]) for c in cliques(ledger)) <= 5000 / 152
    assert Fraction(ledger.close().spent) <= ledger.budget.rho
