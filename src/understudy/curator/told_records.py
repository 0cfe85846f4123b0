"""What an evaluation tells of records that count less: what each lost, and what it costs."""

from collections.abc import Sequence

from understudy.curator import pictures
from understudy.curator.attacks import decile
from understudy.curator.cell_text import as_text, named, number
from understudy.curator.decile_losses import DecileLoss
from understudy.curator.page import Page
from understudy.curator.rare_groups import RareGroup
from understudy.curator.records import RecordLosses


def show_records(page: Page, lost: RecordLosses) -> None:
    """Losses by how rare records are, of some by themselves, and how well rare ones are kept."""
    page.head("What each record lost, where rare ones count less")
    page.say(
        "As ε, given the released counts. That is no promise to anybody: the promise is in the "
        "certificate. A record's loss tells about its values, so none of this may be published."
    )
    page.picture(
        pictures.losses_by_decile,
        lost,
        "Mean loss of a tenth of the records. Circle: tenths by our score of how rare values are; "
        "diamond: by distance to the nearest rows, which owes nothing to our score; square: if all "
        "counted fully. Decile 10 holds the rarest. Dashed: what everybody had lost before "
        "anybody could count less, and the cap. The further left the better.",
    )
    page.say("By our score, which weights go by")
    _show_deciles(page, "rows as rare as", lost.deciles, lost.uniform)
    page.say("By mean distance to the ten nearest rows of others, as attacks are judged")
    _show_deciles(page, "rows as far off as", lost.by_distance, lost.uniform)
    page.say(
        f"Of the tenth that is farthest from others, {as_text(lost.far_lighter)} count less ↑. "
        f"Read: {lost.far_lighter.read}."
    )
    page.say(
        f"Of all real rows: median {number(lost.median)}, largest {number(lost.largest)}, "
        f"unevenness (Gini) {number(lost.gini)}. Everybody had lost {number(lost.scoring)} before "
        f"anybody could count less; if all counted fully, all would lose {number(lost.uniform)}."
    )
    if lost.within_cap is not None and lost.cap is not None:
        page.say(
            f"Within the cap of {lost.cap:g}: {as_text(lost.within_cap)} of those protected ↑."
        )
    if lost.sampled:
        page.say(
            "Single records: given the released counts, and before these were known (estimated)"
        )
        page.table(
            ("a record of", "given the counts ↓", "beforehand ↓"),
            [
                (decile(one.decile), number(one.given_counts), number(one.beforehand))
                for one in lost.sampled
            ],
        )
    _show_groups(page, lost.groups)
    for note in lost.notes:
        page.say(note)


def _show_deciles(page: Page, which: str, deciles: Sequence[DecileLoss], uniform: float) -> None:
    page.table(
        (
            which,
            "rows",
            "mean ε ↓",
            "median ε ↓",
            "largest ε ↓",
            "if all counted fully",
            "lighter",
        ),
        [
            (
                decile(one.decile),
                f"{one.rows:,}",
                number(one.mean),
                number(one.median),
                number(one.largest),
                number(uniform),
                f"{one.lighter:.0%}",
            )
            for one in deciles
        ],
    )


def _show_groups(page: Page, groups: Sequence[RareGroup]) -> None:
    page.say("What protection costs: how well rows beyond the threshold are kept, and the others")
    page.table(
        ("rows", "of the real", "of the synthetic", "distance, columns ↓", "distance, pairs ↓"),
        [(one.rows, one.real, one.synthetic, one.columns, one.pairs) for one in groups],
    )
    first = groups[0].task
    if first.model is None:
        page.say(f"How well they are predicted is not told: {first.gap.note}.")
        return
    page.say(
        f"And how well they are predicted: {named(first.synthetic)} of {first.model}. Compare "
        "along a line, for groups are not equally hard to predict. Rare rows lose more without "
        "protection too: what it alone costs shows beside a release that has none."
    )
    page.table(
        ("rows", "test rows", "trained on synthetic", "trained on real", "synthetic minus real"),
        [
            (one.rows, f"{one.task.rows:,}", one.task.synthetic, one.task.real, one.task.gap)
            for one in groups
        ],
    )
