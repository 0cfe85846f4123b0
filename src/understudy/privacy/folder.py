"""A release folder: written whole or not at all, and checked file by file.

`publish` writes the files and the certificate aside and renames the folder into place. `verify`
reads a folder as a stranger would: it trusts nothing in it, and computes again what it says.
"""

import contextlib
import hashlib
import json
import math
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from understudy.errors import BadInput
from understudy.privacy.accountant import (
    composed_exactly,
    total_cost,
    total_delta,
    total_epsilon,
)
from understudy.privacy.caps import ToldCap
from understudy.privacy.certificate import SCHEMA, Certificate, certificate_from_json
from understudy.privacy.disk import has_long_holes, sync_folder
from understudy.privacy.facts import tells_rows
from understudy.privacy.individual import ToldBound
from understudy.privacy.ledger_file import TABLE_ID, LedgerRecord
from understudy.privacy.limits import (
    MOST_CERTIFICATE_BYTES,
    MOST_FILES,
    TooLarge,
    check_number,
    check_plain,
    check_written,
)
from understudy.privacy.noise import OsRandom
from understudy.privacy.promise import ANY_VALUES, READING, at_most, is_reading
from understudy.privacy.recompute import audit_queries, check_work, planned_defect
from understudy.privacy.signature import sign, signed_by, signer
from understudy.privacy.spelling import (
    DEFECTS,
    digest,
    file_digest,
    fraction,
    spelled,
    spelled_for_people,
)
from understudy.privacy.unit import Record, Unit, parse_unit

CERTIFICATE = "certificate.json"
UNIT_NAME, STORAGE = "unit", "storage"
"""What the public inputs call the privacy unit, and how columns are stored."""
_LAST_DIGITS = 1e-9
PARTLY = "format 1 can be recomputed in part only"
_READABLE = "the certificate can be read"
_NAMED = 3
"""Of wrong queries; more are counted."""


@dataclass(frozen=True)
class Check:
    """One thing that was checked, and how it came out."""

    what: str
    passed: bool
    note: str = ""


Content: TypeAlias = bytes | Callable[[IO[bytes]], None]
"""What goes into a file: bytes, or what writes them into a file that is open."""


class MissingRelease(BadInput):
    """A folder that holds no certificate."""


def publish(
    folder: Path,
    files: Mapping[str, Content],
    certificate: Certificate,
    *,
    key: bytes | None = None,
) -> Certificate:
    """Write a release folder; signed, where a private Ed25519 key (PEM) is given."""
    for name in files:
        if not _is_plain(name):
            msg = f"A release cannot hold a file named {name!r}; use a plain file name."
            raise BadInput(msg)
    check_free(folder)
    folder = folder.resolve()  # "." has no name of its own
    aside = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        aside.mkdir(parents=True)
        hashes = {name: _written(aside / name, content) for name, content in files.items()}
        certificate = certificate.with_files(hashes)
        promise = certificate.to_json()
        if key is not None:
            promise["signature"] = sign(promise["sha256"], key)
        written = spelled_for_people(promise)
        _check_verifiable(written, promise, certificate)
        _written(aside / CERTIFICATE, written)
        sync_folder(aside)
        aside.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        msg = f"{folder} cannot be written: {error.strerror}."
        raise BadInput(msg) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return certificate


def _check_verifiable(written: bytes, content: Mapping[str, Any], certificate: Certificate) -> None:
    """Refuse a certificate that `verify` would refuse as too large."""
    try:
        check_written(written)
        check_number(len(content["files"]), MOST_FILES, "files")
        check_plain(content)
        check_work(certificate)
    except TooLarge as error:
        msg = (
            f"The certificate of this release would be too large to verify: {error}. Use fewer "
            "files, shorter lists of categories and smaller score tables."
        )
        raise BadInput(msg) from None


def _is_plain(name: str) -> bool:
    """Whether a file of a release may have this name."""
    return Path(name).name == name and name not in {"", "..", CERTIFICATE} and name.isprintable()


def _written(path: Path, content: Content) -> str:
    """Write a file for good; returns the hash of what was written, and not of what is there."""
    with path.open("xb") as file:
        hashed = _Hashed(file)
        if isinstance(content, bytes):
            hashed.write(content)
        else:
            content(cast("IO[bytes]", hashed))
        file.flush()
        os.fsync(file.fileno())
    return hashed.sha256.hexdigest()


class _Hashed:
    """A file that is hashed as it is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write on, and hash."""
        self.sha256.update(data)
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever else a file has
        return getattr(self._file, name)


def check_free(folder: Path) -> None:
    """Refuse a folder that a release cannot be written to; an empty one will do."""
    writable = taken = False
    with contextlib.suppress(OSError):  # such as a folder above that may not be looked into
        taken = folder.is_symlink() or folder.exists()
        taken = taken and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir()))
        above = next(parent for parent in folder.absolute().parents if parent.exists())
        writable = above.is_dir() and os.access(above, os.W_OK | os.X_OK)
    if taken:
        msg = f"{folder} is there already, and nothing is overwritten. Name another folder."
        raise BadInput(msg)
    if not writable:
        msg = f"{folder} cannot be written: it lies in no folder of yours. Name another folder."
        raise BadInput(msg)


def verify(
    folder: str | Path, *, public_key: bytes | None = None, ledger: LedgerRecord | None = None
) -> tuple[Check, ...]:
    """Check a release folder; it is sound if all checks passed.

    With the curator's public key, also who signed it; with the table's ledger, also that the
    ledger still holds the line that the release was paid with.
    """
    folder = Path(folder)
    key = None if public_key is None else signer(public_key)
    note = "it was changed"
    # Whatever a certificate holds that cannot be computed with is the same news.
    try:
        written = _certificate_bytes(folder)
        check_written(written)
        content = json.loads(written)
        check_plain(content)
        if spelled_for_people(content) == written:
            return tuple(_checks(folder, content, key, ledger))
    except TooLarge as error:
        note = f"too large to verify: {error}"
    except RecursionError:
        note = "too large to verify: lists and objects are nested too deeply"
    except MissingRelease:
        raise
    except DEFECTS:
        pass
    return (Check(_READABLE, passed=False, note=note),)


def read_certificate(folder: Path) -> Certificate:
    """The certificate in a folder that was verified."""
    return certificate_from_json(json.loads(_certificate_bytes(folder)))


def _certificate_bytes(folder: Path) -> bytes:
    path = folder / CERTIFICATE
    try:
        if path.is_symlink() or not path.is_file():
            raise FileNotFoundError
        check_number(path.stat().st_size, MOST_CERTIFICATE_BYTES, "bytes")
        return path.read_bytes()
    except OSError:
        msg = f"{folder} holds no {CERTIFICATE}. Name the folder of a release."
        raise MissingRelease(msg) from None


def _checks(
    folder: Path, content: Mapping[str, Any], key: str | None, ledger: LedgerRecord | None
) -> Iterator[Check]:
    certificate = certificate_from_json(content)
    check_work(certificate)
    yield Check(_READABLE, passed=True, note=str(certificate))
    unit = None
    with contextlib.suppress(ValueError):
        unit = parse_unit(certificate.unit)
    note = "" if unit is not None else _shown(certificate.unit)
    yield Check("the privacy unit is known", passed=unit is not None, note=note)
    if unit is None:
        return  # no sensitivity follows from it
    queries = list(_queries(certificate, unit))
    yield from _arithmetic(content, certificate, sound=all(check.passed for check in queries))
    yield from queries
    yield from _files(folder, certificate)
    yield _signature(content, key)
    if ledger is not None:
        held = certificate.ledger_head in ledger.heads
        note = "" if held else "the file was cut, replaced, or belongs to another table"
        yield Check("the ledger holds its line", passed=held, note=note)
        if held:
            yield from _paid(certificate, ledger)


def _paid(certificate: Certificate, ledger: LedgerRecord) -> Iterator[Check]:
    """Whether the release that the line belongs to asked what the certificate says, and no more."""
    release = ledger.release_of(certificate.ledger_head)
    said = [(entry.event, entry.request) for entry in certificate.entries]
    budget = certificate.budget
    same = (
        release is not None
        and release.events == said
        and (release.epsilon, release.delta) == (budget.epsilon, budget.delta)
        and release.unit == certificate.unit
        and ledger.table_id == certificate.public.get(TABLE_ID)
    )
    note = "" if same else "the ledger wrote down other queries, or another budget, unit or table"
    yield Check("the ledger holds the same queries", passed=same, note=note)


def _queries(certificate: Certificate, unit: Unit) -> Iterator[Check]:
    """Recompute each event from its query and the privacy unit."""
    findings = audit_queries(
        certificate.entries,
        unit,
        frozenset(cap.where for cap in certificate.caps),
        bounded=certificate.each is not None,
        version=certificate.format_version,
    )
    note = ""
    if findings.wrong:
        more = len(findings.wrong) - _NAMED
        note = "; ".join(findings.wrong[:_NAMED]) + (f"; and {more:,} more" if more > 0 else "")
    elif certificate.format_version == 1:
        note = "format 1 states fewer facts; of this release all could be recomputed"
        if findings.unstated:
            unstated = ", ".join(
                f"{what} ({times} {'query' if times == 1 else 'queries'})"
                for what, times in Counter(findings.unstated).items()
            )
            note = f"{PARTLY}; it does not state {unstated}"
    yield Check(
        "each event follows from its query and the privacy unit",
        passed=not findings.wrong,
        note=_shown(note),
    )
    if certificate.planned is not None:
        defects = {planned_defect(event, unit) for event in certificate.planned} - {None}
        yield Check(
            "the plan holds possible events only",
            passed=not defects,
            note="; ".join(sorted(filter(None, defects))),
        )
    yield Check(
        "the public inputs name the same privacy unit",
        passed=certificate.public.get(UNIT_NAME, certificate.unit) == certificate.unit,
    )
    yield from _facts(certificate)
    if certificate.format_version == 1:
        newer = READING in certificate.public
        note = "versions that write how a table was read write format 2" if newer else ""
        yield Check("its facts are those of its format", passed=not newer, note=note)
    source = str(OsRandom())
    yield Check(
        "private noise comes from the operating system",
        passed=not certificate.private_noise or certificate.random_source == source,
    )


def _facts(certificate: Certificate) -> Iterator[Check]:
    """Whether the public inputs fit the promise."""
    if certificate.caps:
        stored = certificate.public.get(STORAGE)
        columns = stored if isinstance(stored, dict) else {}
        odd = [cap.where for cap in certificate.caps if not cap.is_on(columns)]
        note = "; ".join(map(_shown, odd[:_NAMED]))
        yield Check("each cap is for a condition on a column", passed=not odd, note=note)
    revealed = tells_rows(certificate.public.get(SCHEMA))
    if certificate.format_version > 1:
        # A condition of the promise, such as balanced quotes, must not vanish with its fact.
        always = {SCHEMA, STORAGE, READING, UNIT_NAME}
        missing = sorted(always - certificate.public.keys())
        yield Check("the public inputs are all stated", passed=not missing, note=", ".join(missing))
        reading = certificate.public.get(READING, {})
        yield Check("how the table was read is known", passed=is_reading(reading))
    yield Check(
        "facts read off the table count as a reveal",
        passed=bool(certificate.not_private) or not revealed,
    )


def _arithmetic(
    content: Mapping[str, Any], certificate: Certificate, *, sound: bool
) -> Iterator[Check]:
    """Everything in a certificate follows from its facts; computed again, it must come out.

    Bounds for some records are added up only where the queries are `sound`.
    """
    hashed = {name: part for name, part in content.items() if name not in {"sha256", "signature"}}
    yield Check(
        "nothing in it was changed", passed=digest(spelled(hashed)) == content.get("sha256")
    )
    again = certificate.to_json()
    yield Check(
        "it says all that it must, and no more",
        passed=set(hashed) == set(again) - {"sha256"}
        and _same(content.get("unit"), again.get("unit")),
    )
    parts = {
        "promise": "the promise follows from the budget and the events",
        "budget": "the budget is worth what it says",
        "spent": "the total is the sum of the costs",
        "events": "each event costs what it says",
        "planned": "what was planned adds up",
        "public": "the public inputs are those that were hashed",
    }
    for part, what in parts.items():
        inexact = part == "promise" and not composed_exactly(certificate.planned or ())
        note = "too large to verify exactly: the plan's total is its zCDP bound" if inexact else ""
        yield Check(what, passed=_same(content[part], again[part]), note=note)
    yield Check(
        "the budget was kept",
        passed=bool(certificate.not_private) or _kept(certificate),
        note="; ".join(certificate.not_private),
    )
    bounds: list[tuple[str, ToldCap | ToldBound]] = [
        (f"records with {_shown(cap.text)}", cap) for cap in certificate.caps
    ]
    if certificate.each is not None:
        bounds.append((f"records with {ANY_VALUES}", certificate.each))
    for who, bound in bounds:
        # A record that takes another's place, or a person with several, is under no such bound.
        alone = certificate.unit == str(Record())
        kept = sound and alone and bound.kept(certificate.entries, 1 + _LAST_DIGITS)
        yield Check(
            f"{who} lost no more than promised",
            passed=bool(certificate.not_private) or kept,
            note=f"epsilon at most {at_most(bound.budget.epsilon, 4)}",
        )


def _kept(certificate: Certificate) -> bool:
    """Whether what was asked is within the budget, or within a plan that is."""
    asked = [entry.event for entry in certificate.entries]
    budget, room = certificate.budget, 1 + _LAST_DIGITS
    if float(total_delta(certificate.planned or asked)) > budget.thresholds * room:
        return False
    if certificate.planned is None:
        return float(total_cost(asked, budget.order)) <= float(budget.rho) * room
    if Counter(asked) - Counter(certificate.planned):
        return False
    planned = total_cost(certificate.planned, budget.order)
    within = total_epsilon(certificate.planned, budget.delta) <= budget.epsilon * room
    return within or float(planned) <= float(budget.rho) * room


def _same(written: object, again: object) -> bool:
    """Whether two pieces of plain data agree; numbers to nine digits, for machines differ after."""
    if isinstance(written, dict) and isinstance(again, dict):
        return written.keys() == again.keys() and all(_same(written[k], again[k]) for k in again)
    if isinstance(written, list) and isinstance(again, list):
        return len(written) == len(again) and all(map(_same, written, again))
    a, b = _as_number(written), _as_number(again)
    if a is None or b is None or isinstance(written, str) != isinstance(again, str):
        return written == again and type(written) is type(again)
    return math.isclose(a, b, rel_tol=_LAST_DIGITS)


def _as_number(value: object) -> float | None:
    """A number, or a fraction as text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    with contextlib.suppress(ValueError, ArithmeticError):
        return float(fraction(value) if isinstance(value, str) else value)
    return None


def _files(folder: Path, certificate: Certificate) -> Iterator[Check]:
    present = {path.name for path in folder.iterdir()} - {CERTIFICATE}
    for name, hashed in certificate.files.items():
        found, hollow = None, False
        with contextlib.suppress(OSError):
            path = folder / name
            whole = _is_plain(name) and path.is_file() and not path.is_symlink()
            hollow = whole and has_long_holes(path)
            found = file_digest(path) if whole and not hollow else None
        note = "" if found == hashed else "missing" if found is None else "changed"
        if hollow:
            note = "too large to verify: gigabytes of it are holes"
        yield Check(f"{_shown(name)} is as it was released", passed=found == hashed, note=note)
    extra = sorted(_shown(name) for name in present - set(certificate.files))
    yield Check("no other files", passed=not extra, note=", ".join(extra))


def _shown(name: str) -> str:
    """A name that cannot pretend to be more than one."""
    return name if name.isprintable() else ascii(name)


def _signature(content: Mapping[str, Any], key: str | None) -> Check:
    signature = content.get("signature")
    if signature is None:
        note = "not signed" if key is None else "a key was given, but nobody signed"
        return Check("signature", passed=key is None, note=note)
    if not signed_by(signature, content["sha256"]):
        return Check("signature", passed=False, note="does not fit the certificate")
    if key is None:
        return Check("signature", passed=True, note="fits; give --key to check whose it is")
    same = signature["public_key"] == key
    return Check("signature", passed=same, note="by the given key" if same else "by another key")
