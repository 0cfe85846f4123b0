"""Privacy bugs on purpose, planted in memory: whoever makes one of them is to hear of it.

Each stands for a way in which programs of this kind have gone wrong, or could. A fast test of the
suite must fail while the bug is there; `test_planted.py` checks that it does.
"""

import contextlib
import csv
import io
import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from types import FunctionType

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from understudy.column import Kind
from understudy.encode import shape_grid, shapes
from understudy.encode.arrow_ops import plain_array
from understudy.encode.ibis_ops import coded_table
from understudy.errors import BudgetSpent
from understudy.mechanisms.independent import IndependentColumns
from understudy.model.product import ProductModel
from understudy.privacy import (
    accountant,
    best_of,
    budget,
    csv_records,
    discover,
    facts,
    kinds,
    ledger_file,
    number_formats,
    people,
    prices,
    train,
)
from understudy.privacy import (
    whole as whole_numbers,
)
from understudy.privacy.account import Account
from understudy.privacy.answers import CommonValues
from understudy.privacy.blocks import Weigher
from understudy.privacy.certificate import Certificate
from understudy.privacy.csv_records import CsvReader, Record
from understudy.privacy.events import Reveal, Threshold
from understudy.privacy.frames import CellWriter
from understudy.privacy.layer_inputs import ONE_INPUT, LayerInputs
from understudy.privacy.ledger import Ledger
from understudy.privacy.noise import (
    RATE_GRID,
    OsRandom,
    all_with_gaussian_noise,
    exponential_choice,
    gaussian_noise,
    joins,
    with_gaussian_noise,
)
from understudy.privacy.row_maps import ClippedMoments, InducingFeatures, held_sum
from understudy.privacy.score_book import ScoreBook
from understudy.privacy.scores import CountTV, L1Distance
from understudy.privacy.table import PrivateTable
from understudy.privacy.unit import Person, Replacement
from understudy.privacy.weights import UNIT, RowWeights
from understudy.twostage.hybrid import lemma_6_alpha

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class PlantedBug:
    """A mistake, how to make it, and the test that must fail then."""

    name: str
    wrong: str
    """What the program does while the bug is there."""
    plant: Callable[[Patch], None]
    caught_by: str
    """The test's node id."""


def everywhere(patch: Patch, function: FunctionType, wrong: Callable[..., object]) -> None:
    """Replace a function under all names that modules know it by."""
    places = [
        (module, name)
        for title, module in sys.modules.items()
        if title.partition(".")[0] == "understudy"
        for name, value in vars(module).items()
        if value is function
    ]
    assert places
    for module, name in places:
        patch.setattr(module, name, wrong)


# --- the list of the test battery ---


def noise_of_one_marginal(patch):
    whole = prices.marginals_price
    everywhere(patch, whole, lambda _, *rest, **how: whole(1, *rest, **how))


def replaced_as_if_removed(patch):
    patch.setattr(Replacement, "squared", lambda _, sensitivity: sensitivity.one)


def squared_distance(patch):
    def score(self, counts, weights):
        per_count = 1 if weights is None else UNIT
        off = counts / per_count - np.asarray(self.reference)
        return Fraction(self.scale) * Fraction(float((off**2).sum())) + Fraction(self.offset)

    patch.setattr(L1Distance, "score", score)


def noise_of_one_score(patch):
    whole = prices.scores_price
    everywhere(patch, whole, lambda _, **how: whole(1, **how))


def parts_counted_as_one_table(patch):
    whole = CountTV.sensitivity
    patch.setattr(CountTV, "sensitivity", lambda self, *rest: whole(replace(self, given=()), *rest))


def chi_square_score(patch):
    # n · min(χ²/n, 1) with a sensitivity of 2 is χ²/n with one of 2/n.
    def score(self, counts, weights):
        del weights
        joint = counts.reshape(-1, *counts.shape[-2:]).sum(axis=0).astype(np.float64)
        total = joint.sum()
        expected = np.outer(joint.sum(1), joint.sum(0)) / max(total, 1)
        there = expected > 0
        off = (np.square(joint - expected)[there] / expected[there]).sum()
        return Fraction(float(min(off, total)))

    patch.setattr(CountTV, "score", score)


def exact_total(patch, *, weighted):
    whole = Ledger.measure

    def measure(self, cliques, *, weights=None, **how):
        answers = whole(self, cliques, weights=weights, **how)
        weights = weights or self._look.weights
        if (weights is not None) != weighted:
            return answers
        (total,) = self._core.table.count([()], weights)
        exact = total / (UNIT if weighted else 1)
        return tuple(a if a.clique else replace(a, values=np.asarray(exact)) for a in answers)

    patch.setattr(Ledger, "measure", measure)


def bins_from_rows(patch):
    whole, reveal = PrivateTable.__init__, PrivateTable.reveal

    def made(self, data, schema, **how):
        whole(self, data, schema, **how)
        rows = reveal(self)
        columns = []
        for column in schema:
            stated = column
            if column.kind is Kind.INTEGER and column.bounds and column.coded and len(rows) > 0:
                low, high = column.bounds
                seen = rows[column.name].to_numpy()
                middle = int(np.clip(np.median(seen), low + 1, high - 1))
                stated = replace(column, bins=None, edges=(low, middle, high))
            columns.append(stated)
        whole(self, self._rows, replace(schema, columns=tuple(columns)), **how)

    patch.setattr(PrivateTable, "__init__", made)


def standardised_columns(patch):
    whole = ClippedMoments.total

    def total(self, codes, weights):
        seen = {name: np.asarray(table, float)[codes[name]] for name, table in self.values.items()}
        standard = {
            name: (np.asarray(table, float) - seen[name].mean()) / (seen[name].std() or 1.0)
            for name, table in self.values.items()
        }
        return whole(replace(self, values=standard), codes, weights)

    patch.setattr(ClippedMoments, "total", total)


def shuffled_columns(patch):
    def fit(self, ledger, known=(), allowed=None):
        columns = [(name,) for name in ledger.domain.names]
        measured = ledger.measure(columns, rho=ledger.rest())
        # What a shuffled column tells: each of its values, as often as it occurs.
        exact = ledger._core.table.count(columns)
        told = [replace(a, values=n.astype(float)) for a, n in zip(measured, exact, strict=True)]
        return ProductModel.of(ledger.domain, told)

    patch.setattr(IndependentColumns, "fit", fit)


def noise_used_again(patch):
    def wrong(arrays, scale, source):
        noise = with_gaussian_noise(np.zeros(max(a.size for a in arrays), np.int64), scale, source)
        return [a + noise[: a.size].reshape(a.shape) for a in arrays]

    everywhere(patch, all_with_gaussian_noise, wrong)


def mean_of_two_draws(patch):
    def wrong(arrays, scale, source):
        draws = [all_with_gaussian_noise(arrays, scale, source) for _ in range(2)]
        return [(one + other) // 2 for one, other in zip(*draws, strict=True)]

    everywhere(patch, all_with_gaussian_noise, wrong)


def clipped_after_averaging(patch):
    whole, largest = train.gradient_total, 2.0**8

    def wrong(task, layers, rows):
        blocks = list(rows)
        loose = replace(task, clip=largest)
        total = whole(loose, layers, blocks) * (largest / task.clip)
        count = sum(len(weights) for _, weights in blocks)
        length = np.sqrt((total**2).sum()) / (train.CLIP_STEPS * max(count, 1))
        return (total / max(length, 1.0)).astype(np.int64)

    everywhere(patch, whole, wrong)


def divided_by_the_batch(patch):
    def wrong(task, rows, scale, source, _):
        layers = train._first_layers(task)
        for _ in range(task.steps):
            batch = list(train._chosen(rows(), task, source))
            size = max(1, sum(len(weights) for _, weights in batch))
            total = train.gradient_total(task, layers, batch)
            total += gaussian_noise(task.parameters, scale, source)
            step = task.learning_rate * task.clip / train.CLIP_STEPS / size
            at = 0
            for place, layer in enumerate(layers):
                layers[place] = layer - step * total[at : at + layer.size].reshape(layer.shape)
                at += layer.size
        return train.TrainedModel(tuple(layers), task.loss, scale / train.CLIP_STEPS)

    everywhere(patch, train._trained, wrong)


def batches_of_one_size(patch):
    def wrong(rows, rate, source):
        order = np.argsort(source.words(rows))
        return np.sort(order[: round(rows * rate / RATE_GRID)])

    everywhere(patch, joins, wrong)


def runs_that_cost_nothing(patch):
    whole = accountant.tried_divergence

    def wrong(at_order, order, at_helper, helper, gamma):
        runs = math.log(accountant.mean_runs(gamma)) / (order - 1)
        return whole(at_order, order, at_helper, helper, gamma) - runs

    everywhere(patch, whole, wrong)


def runs_told_one_by_one(patch):
    whole, trained = Ledger.select_best, train.train

    def select_best(self, *what, **how):
        def telling(*run):
            self._core.tell("Training: a run")
            return trained(*run)

        patch.setattr(best_of, "train", telling)
        return whole(self, *what, **how)

    patch.setattr(Ledger, "select_best", select_best)


def best_by_exact_scores(patch):
    patch.setattr(best_of, "with_gaussian_noise", lambda values, *_: values)


def norm_without_the_bias(patch):
    whole = LayerInputs.squared_norms.func
    wrong = property(lambda self: whole(self) - ONE_INPUT**2)
    patch.setattr(LayerInputs, "squared_norms", wrong)


def sharper_choice(patch):
    whole = exponential_choice
    everywhere(patch, whole, lambda steps, scale, source: whole(steps, scale / 2, source))


def decimal_logarithm(patch):
    def wrong(x, delta):
        return -math.log1p(1 / x) - (math.log1p(x) + math.log10(delta)) / x

    everywhere(patch, budget._overhead, wrong)


def delta_for_each_column(patch):
    whole = prices.values_price

    def wrong(columns, unit, *, rho, delta):
        event = whole(columns, unit, rho=rho, delta=delta * columns)
        return Threshold(event.scale, event.threshold, event.sensitivity_squared, 1, event.arrivals)

    everywhere(patch, whole, wrong)


def refunded_retries(patch):
    whole = Ledger.measure

    def measure(self, *asked, **how):
        book, limits = self._account._book, self._account._limits
        spent, entries = [limit.spent for limit in limits], list(book.entries)
        for last in (False, False, True):
            try:
                return whole(self, *asked, **how)
            except OSError:
                for limit, amount in zip(limits, spent, strict=True):
                    limit.spent = amount
                book.entries[:] = entries
                if last:
                    raise
        return None

    patch.setattr(Ledger, "measure", measure)


def asked_before_is_free(patch):
    whole = Account.debit

    def debit(self, event, request):
        if not any((e.event, e.request) == (event, request) for e in self.entries):
            whole(self, event, request)

    patch.setattr(Account, "debit", debit)


def strays_dropped(patch):
    def wrong(table, encoding, columns, ops, **how):
        for column in encoding.schema.coded:
            if column.categories and isinstance(column.categories[0], str):
                text = table[columns[column.name]].cast("string")
                table = table.filter(text.isin(column.categories) | text.isnull())
        return coded_table(table, encoding, columns, ops, **how)

    everywhere(patch, coded_table, wrong)


def float_noise(patch):
    rng = np.random.default_rng(0)
    everywhere(
        patch,
        with_gaussian_noise,
        lambda values, scale, _: values + rng.normal(0, scale, values.shape),
    )


def heavier_rows(patch):
    whole = Weigher.__call__
    patch.setattr(Weigher, "__call__", lambda self, block: np.ceil(whole(self, block) / 64) * 64)


# --- of our own making ---


def kinds_from_exact_counts(patch):
    """The kind and format of a column are decided by what its rows hold, without noise."""
    looks = discover._looks

    def exact(ledger, answer, **how):
        (counts,) = ledger._core.table.count([answer.clique])
        return looks(ledger, replace(answer, values=counts.astype(float)), **how)

    patch.setattr(discover, "_looks", exact)


def noise_taken_for_values(patch):
    """Whatever is above zero decides how a column is written."""
    patch.setattr(kinds, "clear", lambda counts, *_: np.maximum(counts, 0.0))
    patch.setattr(number_formats, "certain_cells", lambda counts, *_: counts > 0)


def format_of_all_cells(patch):
    """A date that fits two formats gets the cell of the one that other cells fit."""
    whole = shapes.text_shapes

    def guessed(text):
        codes = whole(text)
        clear, both = (
            shape_grid.DATED.row(shape_grid.DATED.rows.index((name, "")))
            for name in ("%m/%d/%Y", "ambiguous /")
        )
        if ((codes >= clear.start) & (codes < clear.stop)).any():
            moved = (codes >= both.start) & (codes < both.stop)
            codes = np.where(moved, codes - both.start + clear.start, codes)
        return codes

    patch.setattr(shapes, "text_shapes", guessed)


def threshold_too_low(patch):
    whole = CommonValues.above.__func__

    def above(cls, threshold, *found, **how):
        told = whole(cls, threshold - 1, *found, **how)
        return replace(told, threshold=threshold)

    patch.setattr(CommonValues, "above", classmethod(above))


def no_cap(patch):
    whole = people.keep_per_person
    everywhere(patch, whole, lambda codes, person, _, also=(): whole(codes, person, 10**9, also))


def root_of_the_rows(patch):
    patch.setattr(Person, "squared", lambda self, sensitivity: sensitivity.one * self.rows)


def read_before_the_debit(patch):
    whole = Ledger.measure

    def measure(self, cliques, **how):
        self._core.table.count(list(cliques), how.get("weights"))
        return whole(self, cliques, **how)

    patch.setattr(Ledger, "measure", measure)


def answered_though_refused(patch):
    whole = Account.debit

    def debit(self, event, request):
        with contextlib.suppress(BudgetSpent):
            whole(self, event, request)

    patch.setattr(Account, "debit", debit)


def merged_for_less(patch):
    whole = Ledger.measure_event

    def event(self, cliques, **how):
        return whole(self, cliques if self._look.merging is None else cliques[:1], **how)

    patch.setattr(Ledger, "measure_event", event)


def scores_outlive_codes(patch):
    whole = Ledger.recode

    def recode(self, schema, **how):
        kept, self._core.scored = self._core.scored, ScoreBook()
        whole(self, schema, **how)
        self._core.scored = kept

    patch.setattr(Ledger, "recode", recode)


def one_score_for_all_looks(patch):
    whole = ScoreBook.asked

    def asked(self, candidates, look):
        made = whole(self, candidates, look)
        made._past = [self._scored.get(candidate) for candidate in candidates]
        return made

    patch.setattr(ScoreBook, "asked", asked)


def part_without_a_limit(patch):
    patch.setattr(Account, "part", lambda self, _: Account(self._book, self._limits))


def entry_left_out(patch):
    whole = Ledger.close
    patch.setattr(
        Ledger, "close", lambda self: replace(made := whole(self), entries=made.entries[1:])
    )


def seeds_in_the_file(patch):
    whole = Ledger.open.__func__

    def opened(cls, *asked, file=None, source=None, **how):
        ledger = whole(cls, *asked, file=file, source=source if file is None else None, **how)
        ledger._core.source = source or OsRandom()
        return ledger

    patch.setattr(Ledger, "open", classmethod(opened))


def seeds_pass_for_private(patch):
    def reasons(self):
        return tuple(e.event.reason for e in self.entries if isinstance(e.event, Reveal))

    patch.setattr(Certificate, "not_private", property(reasons))


def free_reveal(patch):
    patch.setattr(Ledger, "reveal", lambda self, _: self._table().reveal())


def nothing_on_the_disk(patch):
    patch.setattr(ledger_file.OpenRelease, "intend", lambda self, event, _: self.check([event]))


def no_lock(patch):
    def wrong(path, _):
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)

    everywhere(patch, ledger_file._locked, wrong)


def sum_turns_over(patch):
    def wrong(parts, width):
        total = np.zeros(width, np.int64)
        for part in parts:
            total += part
        return total

    everywhere(patch, held_sum, wrong)


def later_facts_believed(patch):
    everywhere(patch, facts.check_bought, lambda *_: None)


def redrawn_until_it_pleases(patch):
    def pleasing(array, scale, source):
        noisy = with_gaussian_noise(array, scale, source)
        while (low := noisy < 0).any():
            noisy = np.where(low, with_gaussian_noise(array, scale, source), noisy)
        return noisy

    def wrong(arrays, scale, source):
        return [pleasing(array, scale, source) for array in arrays]

    everywhere(patch, all_with_gaussian_noise, wrong)


def foretold_bits(patch):
    def words(self, count):
        return np.random.default_rng(count).integers(0, 2**64, count, np.uint64)

    patch.setattr(OsRandom, "words", words)


def scores_of_rows(ledger, tables):
    """The exact score of each row, as nobody may use it."""
    names = [key if isinstance(key, str) else key[0] for key in tables]
    (counts,) = ledger._table().count([tuple(names)])
    scores = np.zeros(counts.shape, int)
    for axis, table in enumerate(tables.values()):
        shape = [1] * counts.ndim
        shape[axis] = -1
        scores = scores + np.reshape(table, shape)
    return np.repeat(scores.ravel(), counts.ravel())


def percentile_of_rows(patch):
    whole = Ledger.weigh

    def weigh(self, tables, thresholds, weights):
        scores = scores_of_rows(self, tables)
        if len(scores) and len(thresholds):
            off = int(np.percentile(scores, 90, method="lower")) + 1 - thresholds[0]
            thresholds = [threshold + off for threshold in thresholds]
        return whole(self, tables, thresholds, weights)

    patch.setattr(Ledger, "weigh", weigh)


def gamma_tuned(patch):
    whole = Ledger.weigh

    def weigh(self, tables, thresholds, weights):
        scores = scores_of_rows(self, tables)
        steps = np.searchsorted(thresholds, scores, "right")
        trials = [[int(UNIT * (w / UNIT) ** gamma) for w in weights] for gamma in (0.5, 1, 2, 4)]
        # The one that leaves about four fifths of all weight.
        best = min(trials, key=lambda one: abs(np.mean(np.array(one)[steps] / UNIT) - 0.8))
        return whole(self, tables, thresholds, best)

    patch.setattr(Ledger, "weigh", weigh)


def caps_by_the_lightest(patch):
    patch.setattr(RowWeights, "most_where", lambda self, *_: min(self.weights))


def as_long_as_they_are(patch, *, shortened):
    total = InducingFeatures.total

    def wrong(self, codes, weights):
        # Features are shortened first, and then targets.
        turns = iter(w if w in shortened else None for w in ("features", "targets"))
        within = whole_numbers.within
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(
                whole_numbers,
                "within",
                lambda rows, most: within(rows, most) if next(turns) else rows,
            )
            return total(self, codes, weights)

    patch.setattr(InducingFeatures, "total", wrong)


def exponent_as_printed(patch):
    def wrong(lid, eta, columns, width=1.0):
        return 1 - 2 * eta / (width * (1 - (1 - lid) ** -columns))

    everywhere(patch, lemma_6_alpha, wrong)


# --- how rows are read ---


def second_reader(patch):
    whole = CsvReader._parsed

    def parsed(self, block, wanted):
        _, irregular = csv_records._divided(block, self._format)
        if not irregular:
            yield from whole(self, block, wanted)
            return
        text = block.decode("utf-8", "replace").replace("\0", "")
        rows = csv.reader(
            io.StringIO(text), delimiter=self._format.delimiter, skipinitialspace=True
        )
        padded = ([*row[: self._width], *[None] * (self._width - len(row))] for row in rows)
        cells = [tuple(cell or None for cell in row) for row in padded]
        yield self._rows([Record(row, malformed=False) for row in cells], wanted)

    patch.setattr(CsvReader, "_parsed", parsed)


def quote_carried_over_a_line(patch):
    whole = CsvReader.__init__

    def made(self, path, form, names):
        whole(self, path, replace(form, multiline=True), names)

    patch.setattr(CsvReader, "__init__", made)


def type_of_all_cells(patch):
    whole = CellWriter.texts

    def texts(self, column):
        with contextlib.suppress(Exception):
            if str(column.dtype) in {"object", "str"}:
                guessed = self._typed(plain_array(pa.Array.from_pandas(pd.to_numeric(column))))
                return whole(self, column) if guessed is None else guessed
        return whole(self, column)

    patch.setattr(CellWriter, "texts", texts)


_PRIVACY = "tests/unit/privacy/"
_STABLE = "tests/contracts/test_stability_contract.py::"
_RECORD = "one record, added or removed"
_REPLACED = "one record, replaced by another"
_PERSON = "one person (who) with all their rows, of which at most 2 count"

BUGS = (
    PlantedBug(
        "σ not multiplied by √m",
        "Several marginals together get the noise of a single one.",
        noise_of_one_marginal,
        f"{_PRIVACY}test_ledger.py::test_the_noise_of_two_marginals_follows_from_the_unit"
        f"[{_RECORD}-2]",
    ),
    PlantedBug(
        "√2 forgotten in replace-one",
        "A replaced record is paid for as if it were only removed.",
        replaced_as_if_removed,
        f"{_PRIVACY}test_ledger.py::test_the_noise_of_two_marginals_follows_from_the_unit"
        f"[{_REPLACED}-4]",
    ),
    PlantedBug(
        "squared-L2 score",
        "A candidate's distance is squared; its sensitivity is still that of the plain distance.",
        squared_distance,
        f"{_PRIVACY}test_scores.py::"
        "test_an_l1_distance_moves_as_far_as_its_sensitivity_and_no_further[shape0-8]",
    ),
    PlantedBug(
        "Δ=O(1/n) for χ²",
        "Candidates are ranked by χ²/n, as if one record moved that by no more than 2/n.",
        chi_square_score,
        f"{_PRIVACY}test_scores.py::"
        "test_a_count_tv_never_moves_further_than_its_sensitivity[shape0-8]",
    ),
    PlantedBug(
        "scores not multiplied by √m",
        "Several noisy scores together get the noise of a single one.",
        noise_of_one_score,
        f"{_PRIVACY}test_scores.py::"
        "test_noisy_scores_are_paid_for_by_the_largest_sensitivity_and_their_number"
        "[plain-one record, added or removed]",
    ),
    PlantedBug(
        "parts of a table as one",
        "A record that is replaced may leave one part of a table and come into another; it is paid "
        "for as if it stayed.",
        parts_counted_as_one_table,
        f"{_PRIVACY}test_scores.py::test_a_record_that_changes_its_part_moves_a_count_tv_given_"
        "others_by_nearly_four",
    ),
    PlantedBug(
        "exact n used",
        "The number of rows is told without noise.",
        lambda patch: exact_total(patch, weighted=False),
        "tests/planted/test_caught_here.py::"
        "test_the_total_carries_noise_like_any_other_count[plain]",
    ),
    PlantedBug(
        "exact Σw",
        "The sum of the rows' weights is told without noise.",
        lambda patch: exact_total(patch, weighted=True),
        "tests/planted/test_caught_here.py::"
        "test_the_total_carries_noise_like_any_other_count[weighted]",
    ),
    PlantedBug(
        "quantile bins from data",
        "A column is cut where the private rows have their median.",
        bins_from_rows,
        "tests/planted/test_caught_here.py::test_cells_are_those_of_the_schema_whatever_the_rows[300]",
    ),
    PlantedBug(
        "per-column standardisation",
        "Columns are centred and scaled by the rows at hand before they are summed.",
        standardised_columns,
        f"{_PRIVACY}test_row_maps.py::test_a_row_adds_the_same_whatever_rows_lie_beside_it[0]",
    ),
    PlantedBug(
        "column shuffle",
        "Each column is published with the exact count of each value, as a shuffled column is.",
        shuffled_columns,
        "tests/contracts/test_mechanism_contract.py::test_another_run_has_other_noise[independent]",
    ),
    PlantedBug(
        "noise reused across marginals",
        "All marginals of one request get the same noise.",
        noise_used_again,
        f"{_PRIVACY}test_merging.py::test_a_merged_cell_carries_the_noise_of_one_cell",
    ),
    PlantedBug(
        "noise drawn twice but charged once",
        "An answer is the mean of two noisy ones, and paid for as one.",
        mean_of_two_draws,
        f"{_PRIVACY}test_merging.py::test_a_merged_cell_carries_the_noise_of_one_cell",
    ),
    PlantedBug(
        "clipping after averaging",
        "The mean of the gradients is shortened, and not each gradient.",
        clipped_after_averaging,
        f"{_PRIVACY}test_train.py::"
        "test_a_row_adds_the_same_gradient_whatever_rows_lie_beside_it[two classes-0]",
    ),
    PlantedBug(
        "batch divided by |B|",
        "A step divides by how many rows joined, which nobody may know.",
        divided_by_the_batch,
        f"{_PRIVACY}test_train.py::test_one_step_divides_by_the_stated_rows_and_goes_downhill",
    ),
    PlantedBug(
        "shuffled batches",
        "Batches of a fixed size are paid for as if each row joined by itself.",
        batches_of_one_size,
        "tests/regressions/test_what_others_got_wrong.py::"
        "test_the_size_of_a_batch_varies_like_a_binomial",
    ),
    PlantedBug(
        "clip norm ignoring bias",
        "A gradient is shortened by a norm that leaves the constant input out.",
        norm_without_the_bias,
        f"{_PRIVACY}test_train.py::test_the_bias_counts_in_the_norm",
    ),
    PlantedBug(
        "EM with monotone factor",
        "A selection is drawn twice as sharply as it is paid for.",
        sharper_choice,
        f"{_PRIVACY}test_scores.py::"
        "test_candidates_come_up_as_often_as_the_exponential_mechanism_says",
    ),
    PlantedBug(
        "ρ→ε with wrong log",
        "Converting ρ and δ into ε takes the decimal logarithm of δ.",
        decimal_logarithm,
        f"{_PRIVACY}test_budget.py::test_fifty_gaussians_of_scale_three_cost_what_the_notes_say",
    ),
    PlantedBug(
        "ε split but δ not",
        "Each column's rare values get the whole δ, and one column's share is written down.",
        delta_for_each_column,
        f"{_PRIVACY}test_thresholds.py::test_the_price_follows_from_the_unit",
    ),
    PlantedBug(
        "retry loop on failure re-using budget",
        "A request that fails after its debit gets the debit back and is asked again.",
        refunded_retries,
        f"{_PRIVACY}test_ledger.py::test_a_crash_after_the_debit_stays_charged[measure]",
    ),
    PlantedBug(
        "cached measurement after budget reset",
        "A request that was paid for once is answered again, with new noise, for nothing.",
        asked_before_is_free,
        f"{_PRIVACY}test_merging.py::test_a_candidate_asked_again_is_not_counted_again",
    ),
    PlantedBug(
        "unseen category dropped",
        "Rows whose value is not listed are left out, and the total tells of them.",
        strays_dropped,
        f"{_PRIVACY}test_sources.py::test_frames",
    ),
    PlantedBug(
        "float noise on unrounded sums",
        "Noise is a double, and its last digits tell what it was added to.",
        float_noise,
        f"{_PRIVACY}test_ledger.py::test_answers_are_the_counts_plus_noise_of_the_stated_scale",
    ),
    PlantedBug(
        "weights rounded up",
        "Rows count a little more than the weights that are paid for.",
        heavier_rows,
        f"{_PRIVACY}test_merging.py::test_weights_count_before_codes_are_merged[by request]",
    ),
    PlantedBug(
        "kinds from exact counts",
        "Kind, format and precision of a column are decided by its exact counts of shapes.",
        kinds_from_exact_counts,
        f"{_PRIVACY}test_discover.py::"
        "test_facts_are_made_from_noisy_answers_and_public_facts_alone[nothing but nulls]",
    ),
    PlantedBug(
        "noise taken for values",
        "A format or a precision is inferred that does not stand out of the noise.",
        noise_taken_for_values,
        f"{_PRIVACY}test_kinds.py::test_what_does_not_stand_out_decides_nothing",
    ),
    PlantedBug(
        "format guessed from rows",
        "A date that fits day-first and month-first is counted by what other rows fit.",
        format_of_all_cells,
        "tests/unit/encode/test_shapes.py::"
        "test_what_fits_two_formats_stays_so_whatever_stands_beside_it",
    ),
    PlantedBug(
        "threshold one too low",
        "A value is told when its noisy count is one below the threshold.",
        threshold_too_low,
        f"{_PRIVACY}test_thresholds.py::"
        "test_a_value_is_told_exactly_if_its_noisy_count_reaches_the_threshold",
    ),
    PlantedBug(
        "no cap on a person's rows",
        "All rows of a person count, however many.",
        no_cap,
        f"{_PRIVACY}test_people.py::"
        "test_nobody_counts_more_than_k_times_and_nobody_less_than_they_may[1-None]",
    ),
    PlantedBug(
        "√k instead of k for a person",
        "A person's rows are paid for as if they fell into different cells.",
        root_of_the_rows,
        f"{_PRIVACY}test_ledger.py::test_the_noise_of_two_marginals_follows_from_the_unit"
        f"[{_PERSON}-8]",
    ),
    PlantedBug(
        "read before the debit",
        "Rows are counted before the request is paid for.",
        read_before_the_debit,
        f"{_PRIVACY}test_ledger.py::test_every_read_has_its_entry_before_it[{_RECORD}-measure]",
    ),
    PlantedBug(
        "refused but answered",
        "A request beyond the budget is answered all the same.",
        answered_though_refused,
        f"{_PRIVACY}test_ledger.py::"
        "test_a_refused_request_reads_nothing_and_changes_nothing[0.0-measure]",
    ),
    PlantedBug(
        "merged codes for less",
        "Marginals of merged codes are paid for as if there were one.",
        merged_for_less,
        f"{_PRIVACY}test_merging.py::test_merged_codes_cost_as_much_as_others",
    ),
    PlantedBug(
        "scores of older codes",
        "Exact scores are used again after the codes have changed.",
        scores_outlive_codes,
        f"{_PRIVACY}test_merging.py::test_other_codes_count_again",
    ),
    PlantedBug(
        "scores of other weights",
        "Exact scores are used again although rows count otherwise now.",
        one_score_for_all_looks,
        f"{_PRIVACY}test_merging.py::test_another_look_counts_again",
    ),
    PlantedBug(
        "a part without its limit",
        "A part of the budget may spend the whole of it.",
        part_without_a_limit,
        f"{_PRIVACY}test_account.py::test_a_part_ends_where_its_share_ends",
    ),
    PlantedBug(
        "an entry left out of the certificate",
        "The certificate is silent about the first request.",
        entry_left_out,
        f"{_PRIVACY}test_merging.py::test_the_certificate_tells_what_was_merged",
    ),
    PlantedBug(
        "seeded noise with a ledger file",
        "Noise that can be drawn again is charged to a table's ledger file as if it were real.",
        seeds_in_the_file,
        "tests/unit/test_pipeline.py::test_seeded_noise_is_not_private_and_takes_no_ledger_file",
    ),
    PlantedBug(
        "seeded noise certified as private",
        "The certificate promises privacy where the noise can be drawn again.",
        seeds_pass_for_private,
        f"{_PRIVACY}test_ledger.py::test_seeded_noise_repeats_and_is_marked",
    ),
    PlantedBug(
        "rows revealed for free",
        "Rows are handed out as they are, and nothing is written down.",
        free_reveal,
        f"{_PRIVACY}test_ledger.py::test_every_read_has_its_entry_before_it[{_RECORD}-reveal]",
    ),
    PlantedBug(
        "no line in the ledger file",
        "A request is answered before it is on the disk, and a crash forgets it.",
        nothing_on_the_disk,
        f"{_PRIVACY}test_account.py::test_a_debit_is_on_the_disk_before_it_counts",
    ),
    PlantedBug(
        "no lock on the ledger file",
        "Two releases at the same time spend the same rest.",
        no_lock,
        f"{_PRIVACY}test_ledger_file.py::test_a_busy_ledger_is_waited_for_and_then_given_up",
    ),
    PlantedBug(
        "a sum that turns over",
        "A large sum leaves 64 bits, and one record turns its sign.",
        sum_turns_over,
        "tests/planted/test_caught_here.py::"
        "test_a_sum_that_is_too_large_moves_to_the_end_and_never_turns_over[1]",
    ),
    PlantedBug(
        "later facts believed",
        "Facts read off the rows are taken in after the ledger is open.",
        later_facts_believed,
        f"{_PRIVACY}test_thresholds.py::test_facts_read_off_the_data_never_come_in_later",
    ),
    PlantedBug(
        "noise drawn again until it pleases",
        "Negative counts are not told: the noise is drawn again, and paid for once.",
        redrawn_until_it_pleases,
        "tests/planted/test_caught_here.py::test_counts_below_zero_are_told_as_they_were_drawn",
    ),
    PlantedBug(
        "noise that can be foretold",
        "The bits behind the noise come from a seed and not from the system.",
        foretold_bits,
        f"{_PRIVACY}test_noise.py::test_the_system_never_repeats_itself",
    ),
    PlantedBug(
        "percentile threshold from data",
        "Rows count less from a percentile of the rows' own scores on.",
        percentile_of_rows,
        "tests/regressions/test_risk_weights.py::"
        "test_a_percentile_of_the_rows_moves_a_count_by_99_where_1_is_claimed",
    ),
    PlantedBug(
        "γ tuned on data",
        "How fast weights fall is what suits the rows best.",
        gamma_tuned,
        "tests/unit/select/test_risk.py::test_weights_are_made_of_noisy_counts_alone",
    ),
    PlantedBug(
        "a cap by the lightest row",
        "What a record under a cap lost is counted for the lightest that meets the condition.",
        caps_by_the_lightest,
        f"{_PRIVACY}test_caps.py::test_weights_that_say_nothing_of_the_condition_protect_nobody",
    ),
    PlantedBug(
        "several runs at the price of one",
        "What the best of several runs costs leaves out how many there are.",
        runs_that_cost_nothing,
        f"{_PRIVACY}test_best_of.py::test_that_a_rare_output_comes_more_often_is_paid_for",
    ),
    PlantedBug(
        "runs told one by one",
        "Each run says that it begins, so whoever listens knows how many there were.",
        runs_told_one_by_one,
        f"{_PRIVACY}test_best_of.py::test_nothing_is_said_while_runs_go_on",
    ),
    PlantedBug(
        "the best by exact scores",
        "Runs are compared, and the best is told, by scores without noise.",
        best_by_exact_scores,
        f"{_PRIVACY}test_best_of.py::test_a_score_has_the_noise_that_was_paid_for",
    ),
    PlantedBug(
        "features as long as they are",
        "Rows far from all points, or an ill whitening, add more to a kernel regression than 1.",
        lambda patch: as_long_as_they_are(patch, shortened={"targets"}),
        f"{_PRIVACY}test_row_maps.py::"
        "test_all_records_and_all_pairs_stay_within_the_sensitivity[longer than one]",
    ),
    PlantedBug(
        "targets as long as they are",
        "Several targets are moved into ±1 one by one, and not shortened together.",
        lambda patch: as_long_as_they_are(patch, shortened={"features"}),
        f"{_PRIVACY}test_row_maps.py::"
        "test_climbing_finds_no_features_with_several_targets_beyond_the_sensitivity",
    ),
    PlantedBug(
        "LID α exponent",
        "How much of real rows a wished LID allows goes by the exponent that the paper prints.",
        exponent_as_printed,
        "tests/unit/twostage/test_hybrid.py::test_the_notes_figures",
    ),
    PlantedBug(
        "a second reader",
        "Where a line is not well-formed, the lines around it are read by a more tolerant parser.",
        second_reader,
        f"{_STABLE}test_a_csv_record_changes_its_own_codes_alone[plain]",
    ),
    PlantedBug(
        "state carried over a line",
        "A quote that a line leaves open takes the lines after it into its cell.",
        quote_carried_over_a_line,
        f"{_STABLE}test_a_csv_record_changes_its_own_codes_alone[gzip]",
    ),
    PlantedBug(
        "type guessed from rows",
        "A column of a frame is read as numbers where all of its cells look like some.",
        type_of_all_cells,
        f"{_STABLE}test_a_cell_does_not_decide_the_type_by_which_others_are_read[table13-more13]",
    ),
)

LATER = {
    "MI bits/nats": "a score by mutual information",
}
"""Bugs of the battery in parts that do not exist yet, and which parts these are."""


def table() -> str:
    """The bugs as they stand in docs/audit.md."""
    lines = ["| bug | what is wrong then | caught by |", "|---|---|---|"]
    for bug in BUGS:
        name = bug.name.replace("|", "\\|")
        lines.append(f"| {name} | {bug.wrong} | `{bug.caught_by}` |")
    lines += ["", "To be planted together with the part that they are about:", ""]
    lines += [f"* {name}: {part}." for name, part in LATER.items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
