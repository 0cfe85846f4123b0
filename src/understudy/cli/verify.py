"""`understudy verify`: a release, computed again."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.exits import CHECK_FAILED
from understudy.cli.options import AsJson, read_key

EXAMPLES = """
  understudy verify release/
  understudy verify release/ --key curator.pub.pem --ledger table.ledger
"""


def verify(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE_DIR", help="A release folder.")],
    *,
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The curator's public Ed25519 key (PEM)."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The table's ledger, which must hold the release."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute a release's privacy guarantee and its hashes.

    Each cost follows from its query and the privacy unit. Fails on any change.
    """
    from dataclasses import asdict

    from understudy.privacy.certificate import NOT_PRIVATE
    from understudy.privacy.folder import PARTLY, read_certificate
    from understudy.privacy.folder import verify as checks_of
    from understudy.privacy.ledger_file import read_ledger

    public_key = None if key is None else read_key(key)
    record = None if ledger is None else read_ledger(ledger)
    checks = checks_of(folder, public_key=public_key, ledger=record)
    passed = all(check.passed for check in checks)
    partly = any(check.note.startswith(PARTLY) for check in checks)
    # Only what passed is worth reading; what was changed may say anything.
    certificate = read_certificate(folder) if passed else None
    promise = [] if certificate is None else certificate.promise
    weak = () if certificate is None else certificate.weak
    if as_json:
        content = {
            "weak": list(weak),
            "passed": passed,
            "recomputed": "partly" if partly else "fully",
            "promise": promise,
            "checks": [asdict(check) for check in checks],
        }
        typer.echo(json.dumps(content, indent=2))
    else:
        if weak:
            _say(promise[0])
        for check in checks:
            note = f": {check.note}" if check.note else ""
            _say(f"{'ok    ' if check.passed else 'FAILED'}  {check.what}{note}")
        private = not checks[0].note.startswith(NOT_PRIVATE)
        kept = "All checks passed." if private else f"All checks passed, but it is {NOT_PRIVATE}."
        if weak:
            kept = "All checks passed, but the guarantee is weak: see the first line."
        if partly:
            kept += " Not every sensitivity could be recomputed: see the note above."
        typer.echo(kept if passed else "Do not rely on this release.")
        for line in promise[1:] if weak else promise:
            _say(f"  {line}")
    if not passed:
        raise typer.Exit(CHECK_FAILED)


def _say(line: str) -> None:
    """A line of a stranger's text, which cannot pretend to be several."""
    typer.echo("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))
