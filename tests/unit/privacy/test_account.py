"""Check, debit, record: no sequence of requests spends more than there is."""

import math
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy.account import Account
from understudy.privacy.accountant import (
    exponential_epsilon,
    gaussian_scale,
    total_cost,
    total_epsilon,
)
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.certificate import Certificate
from understudy.privacy.events import Exponential, Gaussian, Reveal, SampledGaussian
from understudy.privacy.ledger_file import create_ledger, open_release, read_ledger

BUDGET = Budget(1.0, 1e-9)
GRID = Fraction(1, 2**100)


def gaussian(amount):
    """Noise that costs just about this much."""
    return Gaussian(gaussian_scale(Fraction(1), amount), Fraction(1))


def selection(amount):
    return Exponential(exponential_epsilon(amount))


def exact(event):
    """What an event costs, computed here, before any rounding."""
    if isinstance(event, Exponential):
        return Fraction(event.epsilon) ** 2 / 8
    return event.steps * event.sensitivity_squared / 2 / Fraction(event.scale) ** 2


def spent(account):
    return sum((exact(entry.event) for entry in account.entries), Fraction(0))


def state(account, *parts):
    """Everything that a refused request must leave alone."""
    return account.entries, account.planned, *(each.rest for each in (account, *parts))


def test_a_new_account_has_its_budget_and_no_entries():
    account = Account.open(BUDGET)
    assert account.rest == BUDGET.rho
    assert account.entries == ()
    assert account.budget is BUDGET
    assert account.planned is None


def test_what_is_granted_is_debited_and_written_down():
    account = Account.open(BUDGET)
    first, second = gaussian(BUDGET.rho / 3), selection(BUDGET.rho / 4)
    account.debit(first, {"door": "measure"})
    account.debit(second, {"door": "select"})
    assert [(e.event, e.request["door"]) for e in account.entries] == [
        (first, "measure"),
        (second, "select"),
    ]
    left = BUDGET.rho - exact(first) - exact(second)
    assert 0 <= left - account.rest < 2 * GRID
    assert account.rest == pytest.approx(float(BUDGET.rho * 5 / 12), rel=1e-12)


def test_a_refused_request_changes_nothing():
    account = Account.open(BUDGET)
    part = account.part(BUDGET.rho / 2)
    part.debit(gaussian(BUDGET.rho / 4), {})
    before = state(account, part)
    for refused in (
        gaussian(BUDGET.rho / 3),
        selection(BUDGET.rho / 3),
        SampledGaussian(0.5, 1.0, Fraction(1), 100),
    ):
        with pytest.raises(BudgetSpent, match=r"costs rho .* is left"):
            part.debit(refused, {})
        assert state(account, part) == before
    with pytest.raises(PrivacyRefused, match="rows as they are"):
        part.debit(Reveal("the rows"), {})
    assert state(account, part) == before
    # And what does fit is still granted.
    account.debit(gaussian(BUDGET.rho / 3), {})


def test_the_very_rest_can_be_spent_and_not_a_grid_point_more():
    # Noise of scale 8 costs 1/128, exactly.
    account = Account.open(BUDGET).part(Fraction(1, 128))
    with pytest.raises(BudgetSpent):
        account.debit(Gaussian(math.nextafter(8.0, 0.0), Fraction(1)), {})
    account.debit(Gaussian(8.0, Fraction(1)), {})
    assert account.rest == 0
    with pytest.raises(BudgetSpent):
        account.debit(Gaussian(2.0**43, Fraction(1)), {})
    assert len(account.entries) == 1


def test_sampled_training_is_charged_at_the_accounts_order():
    event = SampledGaussian(0.01, 3.0 * 2**24, Fraction(4**24), 50)
    account = Account.open(BUDGET)
    account.debit(event, {})
    assert BUDGET.rho - account.rest == total_cost([event], BUDGET.order)
    # Another order has another price, and another rest.
    other = Account.open(Budget(1.0, 1e-9, fixed_order=25.0))
    other.debit(event, {})
    assert other.budget.rho - other.rest == total_cost([event], 25.0)
    assert other.budget.rho - other.rest != BUDGET.rho - account.rest


def test_a_part_ends_where_its_share_ends():
    account = Account.open(BUDGET)
    small, large = account.part(BUDGET.rho / 10), account.part(BUDGET.rho * 9 / 10)
    with pytest.raises(BudgetSpent):
        small.debit(gaussian(BUDGET.rho / 9), {})
    small.debit(gaussian(BUDGET.rho / 10), {})
    assert small.rest < GRID * 2 + BUDGET.rho / 10**15
    # Neither the whole nor the other part lost more than that.
    assert float(large.rest) == pytest.approx(float(BUDGET.rho * 9 / 10), rel=1e-12)
    with pytest.raises(BudgetSpent):
        small.debit(gaussian(BUDGET.rho / 1000), {})


def test_what_a_part_leaves_returns_to_the_whole():
    account = Account.open(BUDGET)
    part = account.part(BUDGET.rho / 2)
    part.debit(gaussian(BUDGET.rho / 8), {})
    assert float(account.rest) == pytest.approx(float(BUDGET.rho * 7 / 8), rel=1e-12)
    account.debit(gaussian(account.rest), {})
    # The part has room in its share, but the whole has none.
    assert part.rest == account.rest
    with pytest.raises(BudgetSpent):
        part.debit(gaussian(BUDGET.rho / 8), {})


def test_parts_that_promise_more_than_there_is_share_what_there_is():
    account = Account.open(BUDGET)
    parts = [account.part(BUDGET.rho * 3 / 4) for _ in range(3)]
    granted = 0
    for part in parts:
        try:
            part.debit(gaussian(BUDGET.rho * 3 / 5), {})
        except BudgetSpent:
            continue
        granted += 1
    assert granted == 1
    assert spent(account) <= BUDGET.rho


def test_a_part_of_a_part_obeys_every_limit_above_it():
    account = Account.open(BUDGET)
    middle = account.part(BUDGET.rho / 2)
    inner = middle.part(BUDGET.rho)
    assert inner.rest == middle.rest == BUDGET.rho / 2
    with pytest.raises(BudgetSpent):
        inner.debit(gaussian(BUDGET.rho * 2 / 3), {})
    inner.debit(gaussian(BUDGET.rho / 3), {})
    assert inner.rest == middle.rest == account.rest - BUDGET.rho / 2
    assert inner.entries == middle.entries == account.entries


def test_a_part_of_less_than_nothing_can_spend_nothing():
    part = Account.open(BUDGET).part(Fraction(-1))
    assert part.rest == 0
    with pytest.raises(BudgetSpent):
        part.debit(gaussian(BUDGET.rho / 10**6), {})


SHARES = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(3, 2), max_denominator=1000)
STEPS = st.lists(
    st.tuples(st.sampled_from(["part", "gaussian", "select"]), st.integers(0, 10**6), SHARES),
    max_size=30,
)


@given(STEPS)
def test_no_requests_on_any_tree_of_parts_spend_more_than_any_limit(steps):
    accounts = [Account.open(BUDGET)]
    # Kept apart from the accounts: by node, the one above it, its limit, and what it spent.
    above, limits, used = [None], [BUDGET.rho], [Fraction(0)]

    def line(node):
        while node is not None:
            yield node
            node = above[node]

    for kind, where, share in steps:
        node = where % len(accounts)
        room = min(limits[k] - used[k] for k in line(node))
        assert accounts[node].rest == room
        if kind == "part":
            accounts.append(accounts[node].part(BUDGET.rho * share))
            above.append(node)
            limits.append(min(BUDGET.rho * share, room))
            used.append(Fraction(0))
            continue
        event = (gaussian if kind == "gaussian" else selection)(BUDGET.rho * share)
        up = Fraction(math.ceil(exact(event) * 2**100), 2**100)
        before = state(*accounts)
        if up <= room:
            accounts[node].debit(event, {"node": node})
            for k in line(node):
                used[k] += up
        else:
            with pytest.raises(BudgetSpent):
                accounts[node].debit(event, {"node": node})
            assert state(*accounts) == before
        assert all(u <= limit for u, limit in zip(used, limits, strict=True))
    whole = accounts[0]
    assert 0 <= used[0] - spent(whole) <= len(whole.entries) * GRID
    assert total_cost((e.event for e in whole.entries), BUDGET.order) == used[0]
    assert spent(whole) <= BUDGET.rho
    assert epsilon_of_rho(spent(whole), BUDGET.delta) <= BUDGET.epsilon * (1 + 2e-9)


@given(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=1), min_size=1, max_size=12))
@settings(max_examples=50)
def test_somebody_who_always_asks_for_the_very_rest_ends_within_the_budget(shares):
    # They ask for shares of the rest first, and then for all of it, again and again.
    account = Account.open(BUDGET)
    for turn, share in enumerate([*shares, *(Fraction(1) for _ in range(20))]):
        rest = account.rest
        if rest < Fraction(1, 10**18):
            break
        asked = Fraction(math.floor(rest * share * 2**100), 2**100)
        # By a part of their own every other time.
        teller = account.part(asked) if turn % 2 else account
        teller.debit(gaussian(asked) if turn % 3 else selection(asked), {})
        assert rest - account.rest <= asked
    assert spent(account) <= BUDGET.rho
    assert account.rest < Fraction(1, 10**18)
    with pytest.raises(BudgetSpent):
        account.debit(gaussian(BUDGET.rho / 10**9), {})


# Rows as they are


def test_a_reveal_is_granted_only_where_it_was_allowed():
    account = Account.open(BUDGET)
    with pytest.raises(PrivacyRefused, match="no promise would be left"):
        account.debit(Reveal("the rows"), {})
    assert account.entries == ()
    open_handed = Account.open(BUDGET, allow_non_private=True)
    open_handed.part(BUDGET.rho / 2).debit(Reveal("the rows"), {})
    (entry,) = open_handed.entries
    assert entry.event == Reveal("the rows")
    assert total_cost([entry.event], BUDGET.order) == math.inf
    # What is asked with noise is still counted.
    open_handed.debit(gaussian(BUDGET.rho), {})
    with pytest.raises(BudgetSpent):
        open_handed.debit(gaussian(BUDGET.rho), {})


# Requests that were fixed beforehand


def marginal(scale=5.0, cells=4):
    return Gaussian(scale, Fraction(cells), unit_cells=cells)


# Twenty cells of scale 5 at δ = 1e-6: 4.306 exactly, 4.604 by ρ.
BETWEEN = Budget(4.4, 1e-6)


def test_requests_fixed_beforehand_may_cost_their_exact_total():
    events = [marginal()] * 5
    assert sum(map(exact, events)) > BETWEEN.rho
    plain = Account.open(BETWEEN)
    for event in events[:4]:
        plain.debit(event, {})
    with pytest.raises(BudgetSpent):
        plain.debit(events[4], {})
    account = Account.open(BETWEEN)
    account.fix(events)
    assert account.planned == tuple(events)
    for event in events:
        account.debit(event, {})
    assert account.rest == 0
    assert total_epsilon([e.event for e in account.entries], 1e-6) <= BETWEEN.epsilon
    with pytest.raises(PrivacyRefused, match="fixed beforehand"):
        account.debit(marginal(), {})
    assert len(account.entries) == 5


def test_only_what_was_fixed_is_granted_and_as_often():
    account = Account.open(BETWEEN)
    account.fix([marginal(10.0), marginal(10.0), marginal(20.0)])
    before = state(account)
    for stranger in (
        marginal(10.5),
        marginal(10.0, cells=3),
        Gaussian(10.0, Fraction(4)),
        Gaussian(10.0, Fraction(4), 2, unit_cells=4),
        Exponential(0.01),
        marginal(1e6),
    ):
        with pytest.raises(PrivacyRefused, match="fixed beforehand"):
            account.debit(stranger, {})
        assert state(account) == before
    for event in (marginal(20.0), marginal(10.0), marginal(10.0)):
        account.debit(event, {})
    for event in (marginal(20.0), marginal(10.0)):
        with pytest.raises(PrivacyRefused, match="fixed beforehand"):
            account.debit(event, {})


def test_too_much_cannot_be_fixed():
    account = Account.open(Budget(4.3, 1e-6))
    before = state(account)
    with pytest.raises(BudgetSpent, match=r"epsilon 4\.306 together; 4\.3 is there"):
        account.fix([marginal()] * 5)
    with pytest.raises(BudgetSpent):
        account.fix([Reveal("the rows")])
    with pytest.raises(BudgetSpent):
        account.fix([marginal(500.0), SampledGaussian(1.0, 0.1, Fraction(1), 1)])
    assert state(account) == before
    account.fix([marginal(50.0)])


def test_fixing_comes_once_and_first_and_for_the_whole():
    account = Account.open(BETWEEN)
    with pytest.raises(BadInput, match="before the first answer"):
        account.part(BETWEEN.rho / 2).fix([marginal(50.0)])
    account.fix([marginal(50.0)])
    with pytest.raises(BadInput, match="before the first answer"):
        account.fix([marginal(50.0)])
    late = Account.open(BETWEEN)
    late.debit(marginal(50.0), {})
    with pytest.raises(BadInput, match="before the first answer"):
        late.fix([marginal(60.0)])
    assert late.planned is None
    # A part's first answer is the whole's first answer too.
    other = Account.open(BETWEEN)
    other.part(BETWEEN.rho / 2).debit(marginal(50.0), {})
    with pytest.raises(BadInput, match="before the first answer"):
        other.fix([marginal(60.0)])


def test_fixing_does_not_lift_the_limit_of_a_part():
    account = Account.open(BETWEEN)
    account.fix([marginal()] * 5)
    part = account.part(exact(marginal()) * 3 / 2)
    part.debit(marginal(), {})
    with pytest.raises(BudgetSpent):
        part.debit(marginal(), {})
    account.debit(marginal(), {})


def test_a_fixed_account_refuses_rows_like_any_other():
    account = Account.open(BETWEEN)
    account.fix([marginal(50.0)])
    with pytest.raises(PrivacyRefused, match="rows as they are"):
        account.debit(Reveal("the rows"), {})


def test_stopping_early_does_not_make_the_promise_smaller():
    # Whether to ask on may depend on the first answer; then the first one's cost is no promise.
    events = [marginal(20.0 + k, cells=1) for k in range(20)]
    account = Account.open(Budget(3.0, 1e-9))
    account.fix(events)
    account.debit(events[0], {})
    certificate = Certificate(
        budget=account.budget,
        unit="one record",
        entries=account.entries,
        public={},
        random_source="test",
        private_noise=True,
        planned=account.planned,
    )
    assert certificate.epsilon == total_epsilon(events, 1e-9)
    assert certificate.epsilon > 3 * total_epsilon(events[:1], 1e-9)


# With a ledger file


@pytest.fixture
def ledger_file(tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, BUDGET)
    return path


def test_a_debit_is_on_the_disk_before_it_counts(ledger_file):
    release = open_release(ledger_file, BUDGET, "one record")
    account = Account.open(BUDGET, file=release)
    event = gaussian(BUDGET.rho / 3)
    account.debit(event, {"door": "measure"})
    assert [e for r in read_ledger(ledger_file).releases for e, _ in r.events] == [event]
    assert read_ledger(ledger_file).rest == account.rest
    # A refused request leaves no line.
    lines = read_ledger(ledger_file).lines
    with pytest.raises(BudgetSpent):
        account.debit(event.__class__(event.scale / 2, Fraction(1)), {})
    with pytest.raises(PrivacyRefused):
        account.debit(Reveal("the rows"), {})
    assert read_ledger(ledger_file).lines == lines
    release.close()


def test_what_the_file_refuses_changes_nothing(ledger_file):
    # At the release's own low order this training is cheap; at the file's it is not.
    budget = Budget(0.4, 1e-3)
    event = SampledGaussian(0.001, 1.2 * 2**24, Fraction(4**24), 1)
    assert total_cost([event], budget.order) <= budget.rho < BUDGET.rho
    assert total_cost([event], BUDGET.order) > BUDGET.rho
    release = open_release(ledger_file, budget, "one record")
    account = Account.open(budget, file=release)
    before, lines = state(account), read_ledger(ledger_file).lines
    with pytest.raises(BudgetSpent, match="The ledger"):
        account.debit(event, {})
    with pytest.raises(BudgetSpent, match="The ledger"):
        account.fix([event])
    assert state(account) == before
    assert read_ledger(ledger_file).lines == lines
    account.debit(gaussian(budget.rho / 2), {})
    release.close()


@pytest.mark.usefixtures("untraced_threads")
def test_requests_at_the_same_time_wait_for_each_other(tmp_path):
    # No alarm can be false. Without a lock, three of four such rounds granted two requests or more.
    event = gaussian(BUDGET.rho * 9 / 10)
    for turn in range(8):
        path = tmp_path / f"{turn}.ledger"
        create_ledger(path, BUDGET)
        release = open_release(path, BUDGET, "one record")
        account = Account.open(BUDGET, file=release)
        refused = []

        def ask(account=account, refused=refused):
            try:
                account.debit(event, {})
            except BudgetSpent:
                refused.append(1)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        release.close()
        assert len(refused) == 3
        assert [e.event for e in account.entries] == [event]
        assert read_ledger(path).spent == total_cost([event], BUDGET.order)
