"""What a promise takes for granted: the schema, as a ledger looks at it before it opens."""

from dataclasses import replace

from understudy.column import Source
from understudy.errors import PrivacyRefused, listed
from understudy.privacy.budget import Budget
from understudy.schema import Schema
from understudy.schema_files import schema_to_toml


def check_delta(budget: Budget, schema: Schema) -> None:
    """Refuse a δ so large that it would allow to publish a row."""
    bound = schema.rows_bound
    if bound is not None and budget.delta * bound >= 1:
        msg = (
            f"delta is {budget.delta:.3g}, but with up to {bound:,} rows it must be below "
            f"{1 / bound:.3g}: above it, publishing a random row whole would keep the promise. "
            "Choose a much smaller delta, such as 1e-9."
        )
        raise PrivacyRefused(msg)


def spelled_out(schema: Schema) -> str:
    """The schema as text, code lists included."""
    columns = tuple(replace(column, categories_file=None) for column in schema.columns)
    return schema_to_toml(replace(schema, columns=columns))


def revealed(schema: Schema) -> list[str]:
    """What in a schema was read off the data and not declared by anyone."""
    names = [column.name for column in schema if column.source is Source.DATA]
    reasons = [f"facts read off the data: {listed(names)}"] if names else []
    if schema.rows_bound is not None and schema.rows_source is Source.DATA:
        reasons.append("the bound on rows was read off the data")
    return reasons


def check_reveals(schema: Schema, *, allowed: bool) -> None:
    """Refuse a schema that rests on the rows, unless no promise is wanted."""
    reasons = revealed(schema)
    if reasons and not allowed:
        msg = (
            f"The schema rests on the private table ({'; '.join(reasons)}). Review these facts and "
            'set source = "declared" for those that are public, or allow a release that is not '
            "private."
        )
        raise PrivacyRefused(msg)
