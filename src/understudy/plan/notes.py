"""What a person should know about a plan, a sentence or two each."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from understudy.domain import Domain
from understudy.errors import listed
from understudy.mechanisms.api import Advising, Decision, Limited, Mechanism, Model
from understudy.plan.made_up_rows import ASSUMED
from understudy.plan.planned import Item
from understudy.privacy import discover
from understudy.privacy.facts import revealed
from understudy.protection import Protection
from understudy.report.pages import percent
from understudy.schema import Schema


def about_facts(schema: Schema) -> Iterator[str]:
    """Facts that nobody has reviewed."""
    reasons = revealed(schema)
    if reasons:
        yield (
            f"The schema rests on the private table ({'; '.join(reasons)}), and so does this page: "
            "keep it to yourself. The plan takes these facts as declared; `synthesize` refuses "
            'them until somebody has reviewed them and set source = "declared".'
        )


def about_rows(rows: int, made: int, *, stated: bool) -> Iterator[str]:
    """What per cent are of, and what was rehearsed."""
    if not stated:
        yield (
            f"Nobody has said how many rows there are: per cent are of {rows:,}. State a public "
            "bound with --rows-bound N, or as [rows] bound in the schema."
        )
    if made < rows:
        yield (
            f"Rehearsed on {made:,} made-up rows, not {rows:,}; noise in rows does not depend on "
            "that. With more rows larger tables become useful, and training lasts longer: a method "
            "that goes by usefulness may measure more tables, and train for more steps, than told "
            "here. Time and memory are scaled."
        )


def about_finding(
    schema: Schema, plan: discover.Plan | None, found: discover.Discovered | None, rows: int
) -> Iterator[str]:
    """What finding open facts out takes, and what was assumed for it."""
    if plan is None or found is None:
        return
    silent = listed(f"{name} ({', '.join(facts)})" for name, facts in schema.silent.items())
    assumed = [c.name for c in schema.coded if set(c.silent) - {"null"}]
    sizes = (
        f" How many values they hold nobody can know beforehand: {listed(assumed)} "
        f"{'was' if len(assumed) == 1 else 'were'} rehearsed with {ASSUMED} values each, evenly "
        "spread."
        if assumed
        else ""
    )
    yield (
        f"Open facts: {silent}. Finding them out takes {percent(plan.share)} of the budget at "
        f"most, with noise ±{plan.noise:,.0f} rows, and a value is told when about "
        f"{plan.least:,} rows share it.{sizes} Facts that are declared cost nothing."
    )
    if found.nothing:
        yield (
            f"With about {rows:,} rows, nothing stood out of the noise in the rehearsal of "
            f"{listed(found.nothing)}: such columns hold no information in a release. Declare what "
            "they hold, or choose a larger epsilon."
        )


def about_choices(items: Sequence[Item]) -> Iterator[str]:
    """That real rows decide, where some do."""
    if any(count.columns is None for item in items for count in item.counts):
        yield (
            "Where no columns are named, real rows decide which: made-up ones hold no dependence. "
            "How many tables that are, how large, their noise, the size of the model "
            "and the time may come out otherwise; a method that goes on choosing takes longer "
            "where much depends on much."
        )


def about_decision(decision: Decision | None, went: str | None) -> Iterator[str]:
    """That the rehearsal went another way than the rule would, where it did."""
    if decision is not None and went is not None and went != decision.by:
        yield (
            "The rehearsal was on the other side of the rule: by the noise of its count of rows, "
            "or because so many rows are not made up, or some of them count less, or no column is "
            "tied to the target. What would be bought, the split, time and memory are told for "
            f"labels by {went}."
        )


def about_protection(protection: Protection | None) -> Iterator[str]:
    """What a cap for rare records is no guarantee of."""
    if protection is not None and protection.risk is not None:
        yield (
            "Which records are rare is found out with noise: what they lose at most is a bound "
            "given the released counts, and no guarantee beforehand. A condition (--protect-where) "
            "is a guarantee. Who is rare, real rows decide."
        )
    elif protection is not None:
        yield (
            "Records that meet a condition count less. How many they are nobody knows before: "
            "which way labels come is told as if there were none."
        )


def about_merging(
    items: Sequence[Item], domain: Domain, hidden: Mapping[str, int]
) -> Iterator[str]:
    """That rare codes are counted together, where some were other than `hidden` ones."""
    seen = Domain.of({name: size - (name in hidden) for name, size in domain.sizes.items()})
    named = [c for item in items for c in item.counts if c.columns is not None]
    if any(c.cells < seen.size(c.columns or ()) for c in named):
        yield (
            "Codes too rare to tell from noise are counted together before columns are joined; "
            "how many those are, real rows decide, and with it the cells and the noise of pairs "
            "and wider tables."
        )


def advised(recipe: Mechanism, rho: Fraction, rows: int) -> Iterator[str]:
    """What the method would rather be told."""
    if isinstance(recipe, Advising):
        yield from recipe.advice(rho, rows)


def left_out(recipe: Mechanism, model: Model, target: str | None) -> Iterator[str]:
    """What is too large for the method, whatever the rows hold."""
    if isinstance(recipe, Limited):
        for sentence in recipe.left_out(model, target):
            yield f"Left out: {sentence[0].lower()}{sentence[1:]}"
