"""`understudy synthesize`: a synthetic table with a privacy promise."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import (
    AcceptWeakGuarantee,
    AsJson,
    Data,
    Independent,
    Multiline,
    OutlierEpsilon,
    ProtectOutliers,
    ProtectWhere,
    Regenerate,
    TextEncoding,
    names_between_commas,
    parameters_given,
    read_key,
)
from understudy.errors import BadInput

EXAMPLES = """
  understudy synthesize patients.csv --target readmitted --epsilon 1 --out release
  understudy synthesize patients.csv --schema schema.toml --strict --epsilon 1
  understudy synthesize patients.csv --target readmitted --parents age,bmi --epsilon 1
  understudy synthesize patients.csv --target readmitted --graph causes.dot --epsilon 1
  understudy synthesize hired.csv --target hired --independent "hired _||_ sex | degree" --epsilon 1
  understudy synthesize patients.csv --epsilon 2 --protect-where "age >= 90" --outlier-epsilon 0.8
  understudy synthesize patients.csv --schema schema.toml --epsilon 2 --protect-outliers
  understudy synthesize patients.csv --epsilon 1 --method aim --param degree=3
  understudy synthesize patients.csv --target readmitted --epsilon 1 --regenerate
  understudy synthesize visits.parquet --epsilon 1 --unit person:patient_id:3
  understudy synthesize patients.csv --epsilon 0.5 --ledger table.ledger
  understudy synthesize patients.csv --epsilon 0.5 --ledger table.ledger --table-id patients-2026
"""


def synthesize(  # noqa: PLR0913 - one per option
    data: Data,
    *,
    epsilon: Annotated[
        float | None,
        typer.Option(
            metavar="E",
            help="Total privacy budget of the release; smaller is more private, 1 is common. "
            "Required unless the method reads rows as they are (--allow-non-private).",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option(metavar="Y", help="The column that readers will predict.")
    ] = None,
    delta: Annotated[
        float, typer.Option(metavar="D", help="Far below one over the number of rows.")
    ] = 1e-9,
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Public facts: our TOML, mbi domain.json, SDV metadata."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse where facts would have to be bought.")
    ] = False,
    method: Annotated[str, typer.Option(metavar="NAME", help="See `understudy methods`.")] = "auto",
    param: Annotated[
        list[str] | None, typer.Option(metavar="K=V", help="A parameter of the method.")
    ] = None,
    parents: Annotated[
        str | None, typer.Option(metavar="A,B", help="The target's direct causes, if known.")
    ] = None,
    graph: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What depends on what: DOT, JSON edges, or learn."),
    ] = None,
    independent: Independent = None,
    protect_outliers: ProtectOutliers = False,
    protect_where: ProtectWhere = None,
    outlier_epsilon: OutlierEpsilon = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="How many; else about as many as there are.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The release folder; it must be new.")
    ] = None,
    file_format: Annotated[
        str, typer.Option("--format", metavar="F", help="csv or parquet.")
    ] = "csv",
    raw_text: Annotated[
        bool,
        typer.Option(
            "--raw-text", help="Write CSV text as it is, even if a spreadsheet would run it."
        ),
    ] = False,
    formula_safe: Annotated[
        bool,
        typer.Option(
            "--formula-safe", help="The default: an apostrophe before text like a formula."
        ),
    ] = False,
    unit: Annotated[
        str, typer.Option(metavar="U", help="record, replace, or person:ID:3.")
    ] = "record",
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table's ledger: one total for all releases."),
    ] = None,
    table_id: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="The table that the ledger is bound to, if it is."),
    ] = None,
    sign: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Your private Ed25519 key (PEM).")
    ] = None,
    discovery_share: Annotated[
        float | None,
        typer.Option(metavar="S", help="Of the budget, for facts that nobody declared."),
    ] = None,
    regenerate: Regenerate = False,
    text_encoding: TextEncoding = "utf-8",
    multiline: Multiline = False,
    allow_non_private: Annotated[
        bool, typer.Option("--allow-non-private", help="Go on where no promise is left.")
    ] = False,
    accept_weak_guarantee: AcceptWeakGuarantee = False,
    as_json: AsJson = False,
) -> None:
    """Make a synthetic table with a privacy promise.

    What the schema leaves open is found out with noise, out of the same epsilon.
    """
    from understudy import pipeline
    from understudy.privacy.folder import check_free
    from understudy.privacy.signature import check_private_key
    from understudy.privacy.steps_told import telling
    from understudy.progress import told_steps
    from understudy.release_page import release_page, show
    from understudy.table_files import check_format

    if raw_text and formula_safe:
        msg = "Give --raw-text or --formula-safe, not both. Formula-safe text is the default."
        raise BadInput(msg)
    folder = out or _usual_folder(data)
    check_free(folder)
    check_format(file_format)
    key = None if sign is None else read_key(sign)
    if key is not None:
        check_private_key(key)
    with told_steps(quiet=as_json) as tell:
        release = pipeline.synthesize(
            data,
            epsilon=epsilon,
            delta=delta,
            target=target,
            schema=schema,
            mechanism=method,
            parameters=parameters_given(param or []),
            parents=None if parents is None else names_between_commas(parents),
            graph=graph,
            constraints=independent or (),
            protect_outliers=protect_outliers,
            protect_where=protect_where or (),
            outlier_epsilon=outlier_epsilon,
            rows=rows,
            unit=unit,
            strict=strict,
            ledger=ledger,
            table_id=table_id,
            allow_non_private=allow_non_private,
            accept_weak_guarantee=accept_weak_guarantee,
            discovery_share=discovery_share,
            regenerate=regenerate,
            text_encoding=text_encoding,
            multiline=multiline,
            tell=tell,
        )
        tell(f"Drawing and writing {release.rows.count:,} rows")
        with telling(tell):
            release.save(folder, format=file_format, raw_text=raw_text, key=key)
    page = release_page(release, folder)
    if as_json:
        typer.echo(json.dumps(page, indent=2))
    else:
        show(page)


def _usual_folder(data: str) -> Path:
    """A folder named after the table, whatever the path or pattern."""
    name = re.sub(r"[^\w-]+", "", Path(data).name.split(".")[0])
    return Path(f"{name}-release" if name else "release")
