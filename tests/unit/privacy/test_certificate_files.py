"""A release folder: written whole or not at all, and every change of it is found."""

import json
import math
import os
import resource
import shutil
from fractions import Fraction
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from helpers.tamper import changed_bytes
from understudy.column import Column, Kind, Source
from understudy.errors import BadInput, BudgetSpent, PrivacyRefused
from understudy.privacy.accountant import total_epsilon
from understudy.privacy.budget import Budget, epsilon_of_rho
from understudy.privacy.folder import publish, verify
from understudy.privacy.ledger import Ledger
from understudy.privacy.ledger_file import create_ledger, read_ledger
from understudy.privacy.noise import SeededForTests
from understudy.privacy.scores import L1Distance
from understudy.schema import Schema

BUDGET = Budget(1.0, 1e-9)
SCHEMA = Schema(
    (
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 9), null=False),
        Column(name="sex", kind=Kind.CATEGORICAL, categories=("f", "m"), null=False),
    )
)
TABLE = pa.table({"age": [1, 2, 3, 4] * 5, "sex": ["f", "m"] * 10})
FILES = {"measurements.json": b'{"age":[3,-1,4,1]}\n', "model.bin": bytes(range(40))}


def keys():
    """What `openssl genpkey -algorithm ed25519` and `openssl pkey -pubout` write."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private, key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


KEY, PUBLIC = keys()
OTHER_KEY, OTHER_PUBLIC = keys()


@pytest.fixture(scope="module")
def certificate():
    """A release that measured, selected and declared something."""
    with Ledger.open(TABLE, SCHEMA, BUDGET) as ledger:
        ledger.declare("target", "sex")
        ledger.measure([("age",)], rho=ledger.rest() / 3)
        scores = [L1Distance(("age",), np.zeros(11)), L1Distance(("sex",), np.zeros(3))]
        ledger.select(scores, rho=ledger.rest() / 3)
        return ledger.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "release"


def sound(folder, public_key=None):
    return all(check.passed for check in verify(folder, public_key=public_key))


def failed(folder, public_key=None):
    return {check.what for check in verify(folder, public_key=public_key) if not check.passed}


def spelled(content):
    """As a person who edits a certificate and knows how it is hashed would spell it."""
    hashed = {k: v for k, v in content.items() if k not in {"sha256", "signature"}}
    text = json.dumps(hashed, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def rewrite(folder, edit, *, rehash=True):
    """Edit a certificate, and hash it again."""
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    edit(content)
    if rehash:
        content["sha256"] = spelled(content)
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


@pytest.mark.parametrize("key", [None, KEY])
def test_a_folder_that_was_just_published_is_sound(folder, certificate, key):
    published = publish(folder, FILES, certificate, key=key)
    assert {path.name for path in folder.iterdir()} == {*FILES, "certificate.json"}
    for name, content in FILES.items():
        assert (folder / name).read_bytes() == content
        assert published.files[name] == sha256(content).hexdigest()
    assert sound(folder)
    assert sound(folder, PUBLIC) == (key is not None)
    content = json.loads((folder / "certificate.json").read_text())
    assert content["sha256"] == spelled(content)
    assert content["promise"] == {
        "status": "differentially private",
        "epsilon": 1.0,
        "delta": 1e-9,
        "unit": "one record, added or removed",
        "because": [],
    }
    assert content["public"]["target"]["value"] == "sex"
    assert len(content["events"]) == 2
    # Nothing else is left beside it.
    assert [path.name for path in folder.parent.iterdir()] == ["release"]


def test_a_folder_that_moved_is_still_sound(folder, certificate, tmp_path):
    publish(folder, FILES, certificate)
    shutil.copytree(folder, tmp_path / "elsewhere")
    assert sound(tmp_path / "elsewhere")


def test_a_release_without_files_is_sound(folder, certificate):
    publish(folder, {}, certificate)
    assert sound(folder)


@pytest.mark.parametrize(
    "value",
    [
        {"edges": [["a", "b"]], "é": "ü", "empty": None},
        ("a", ("b", 2)),
        {2: "two", 10: "ten"},
        {True: 1, False: 0},
        [0.1, 1e300, -0.0, 2**70],
        "line\nbreak \u2028",
    ],
)
def test_whatever_was_declared_can_be_published_and_verified(folder, value):
    with Ledger.open(TABLE, SCHEMA, BUDGET) as ledger:
        ledger.declare("fact", value)
        publish(folder, FILES, ledger.close())
    assert sound(folder)


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {"a": {1, 2}}, "\ud800"])
def test_what_no_certificate_can_hold_is_refused_when_it_is_declared(value):
    # Not at the end, when everything was spent and nothing can be published.
    with Ledger.open(TABLE, SCHEMA, BUDGET) as ledger, pytest.raises(BadInput):
        ledger.declare("fact", value)


CHANGES = {
    "lowest bit": lambda byte: byte ^ 1,
    "case": lambda byte: byte ^ 0x20,
    "highest bit": lambda byte: byte ^ 0x80,
    "blank": lambda _: ord(" "),
    "nine": lambda _: ord("9"),
}


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("key", "name"),
    [
        pytest.param(KEY, "lowest bit", id="signed, lowest bit"),
        pytest.param(None, "nine", id="unsigned, nine"),
        *(
            pytest.param(KEY, name, id=f"signed, {name}", marks=pytest.mark.slow)
            for name in CHANGES
            if name != "lowest bit"
        ),
        pytest.param(None, "lowest bit", id="unsigned, lowest bit", marks=pytest.mark.slow),
    ],
)
def test_every_changed_byte_of_a_certificate_is_found(folder, certificate, key, name):
    publish(folder, {"model.bin": b"model"}, certificate, key=key)
    path = folder / "certificate.json"
    missed = [place for place in changed_bytes(path, CHANGES[name]) if sound(folder)]
    assert missed == []
    assert sound(folder)


@pytest.mark.untraced
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_every_changed_byte_of_a_released_file_is_found(folder, certificate, change):
    publish(folder, FILES, certificate)
    for name in FILES:
        for _ in changed_bytes(folder / name, change):
            assert failed(folder) == {f"{name} is as it was released"}
    assert sound(folder)


def test_files_that_are_cut_longer_missing_added_or_no_files_are_found(folder, certificate):
    publish(folder, FILES, certificate)
    path = folder / "model.bin"
    changed = {"model.bin is as it was released"}
    for content in (b"", FILES["model.bin"][:-1], FILES["model.bin"] + b"\n"):
        path.write_bytes(content)
        assert failed(folder) == changed
    path.unlink()
    assert failed(folder) == changed
    path.mkdir()
    assert failed(folder) == changed
    path.rmdir()
    path.write_bytes(FILES["model.bin"])
    assert sound(folder)
    for name in ("rows.csv", ".hidden"):
        (folder / name).write_bytes(b"")
        assert failed(folder) == {"no other files"}
        (folder / name).unlink()
    (folder / "folder").mkdir()
    assert failed(folder) == {"no other files"}


def test_a_folder_without_a_certificate_is_no_release(folder, tmp_path):
    for path in (folder, tmp_path):
        with pytest.raises(BadInput, match=r"holds no certificate\.json"):
            verify(path)


def cheaper(content):
    """Noise of half the size that claims the old cost."""
    content["events"][0]["event"]["scale"] /= 2


def dropped(content):
    del content["events"][0]


def dropped_and_summed(content):
    """An event less, and a total that fits."""
    gone = content["events"].pop(0)
    rest = Fraction(content["spent"]["rho"]) - Fraction(gone["cost"])
    content["spent"]["rho"] = str(rest)


def overspent(content):
    """Ten times what was there; event, cost and total agree with each other."""
    item = content["events"][0]
    item["event"]["steps"] = 100
    added = 99 * Fraction(item["cost"])
    item["cost"] = str(100 * Fraction(item["cost"]))
    content["spent"]["rho"] = str(Fraction(content["spent"]["rho"]) + added)


VISIBLE = {
    "a lower epsilon": (
        lambda c: c["promise"].update(epsilon=0.5),
        "the promise follows from the budget and the events",
    ),
    "a lower delta": (
        lambda c: c["promise"].update(delta=1e-12),
        "the promise follows from the budget and the events",
    ),
    "a lower budget": (
        lambda c: c["budget"].update(epsilon=0.5),
        "the budget is worth what it says",
    ),
    "a larger budget at the same promise": (
        lambda c: c["budget"].update(rho="1"),
        "the budget is worth what it says",
    ),
    "another order": (
        lambda c: c["budget"].update(order=20.0),
        "the budget is worth what it says",
    ),
    "a lower cost": (
        lambda c: c["events"][0].update(cost="1/1000000"),
        "each event costs what it says",
    ),
    "less noise at the same cost": (cheaper, "each event costs what it says"),
    "a lower total": (
        lambda c: c["spent"].update(rho="1/1000000"),
        "the total is the sum of the costs",
    ),
    "an event dropped": (dropped, "the total is the sum of the costs"),
    "more spent than was there": (overspent, "the budget was kept"),
    "another public value": (
        lambda c: c["public"]["target"].update(value="age"),
        "the public inputs are those that were hashed",
    ),
    "a fact of its own": (lambda c: c.update(epsilon=0.1), "it says all that it must, and no more"),
    "a part left out": (lambda c: c.pop("versions"), None),
    "an unknown event": (lambda c: c["events"][0]["event"].update(kind="Staircase"), None),
    "a later format": (lambda c: c.update(format="understudy certificate 3"), None),
    "a status of its own": (
        lambda c: c["promise"].update(status="perfectly private"),
        "the promise follows from the budget and the events",
    ),
    "another generator": (
        lambda c: c.update(random_source="a quantum device"),
        "private noise comes from the operating system",
    ),
    "another unit, stated in words only": (
        lambda c: c["promise"].update(unit="one record, replaced by another"),
        "each event follows from its query and the privacy unit",
    ),
    "nothing was planned, it says": (lambda c: c.update(planned=[]), "the budget was kept"),
}


@pytest.mark.parametrize(("edit", "what"), VISIBLE.values(), ids=VISIBLE)
def test_arithmetic_sees_a_certificate_that_was_edited_and_hashed_again(
    folder, certificate, edit, what
):
    publish(folder, FILES, certificate)
    rewrite(folder, lambda _: None)
    assert sound(folder)  # hashing it again changes nothing
    rewrite(folder, edit)
    assert failed(folder)
    assert what is None or what in failed(folder)
    assert "nothing in it was changed" not in failed(folder)


INVISIBLE = {
    "an event dropped and the total lowered": dropped_and_summed,
    "another file": lambda c: c["files"].update({"model.bin": sha256(b"other").hexdigest()}),
    "other software": lambda c: c["versions"].update(opendp="99"),
    "another ledger": lambda c: c.update(ledger_head="0" * 64),
}


@pytest.mark.parametrize("edit", INVISIBLE.values(), ids=INVISIBLE)
def test_what_arithmetic_cannot_see_a_signature_shows(folder, certificate, edit):
    for key in (None, KEY):
        publish(folder, {"model.bin": b"model"}, certificate, key=key)
        before = (folder / "certificate.json").read_bytes()
        rewrite(folder, edit)
        assert (folder / "certificate.json").read_bytes() != before
        if edit is INVISIBLE["another file"]:
            (folder / "model.bin").write_bytes(b"other")
        if key is None:
            assert sound(folder)  # the limit of hashes: who edits a folder can hash it again
            shutil.rmtree(folder)
    assert failed(folder) == {"signature"}
    assert failed(folder, PUBLIC) == {"signature"}


@pytest.mark.parametrize("edit", [e for e, _ in VISIBLE.values()], ids=VISIBLE)
def test_a_signature_shows_every_edit(folder, certificate, edit):
    publish(folder, FILES, certificate, key=KEY)
    rewrite(folder, edit)
    assert not sound(folder, PUBLIC)
    shutil.rmtree(folder)
    publish(folder, FILES, certificate, key=KEY)
    rewrite(folder, edit, rehash=False)
    assert not sound(folder, PUBLIC)


def test_a_seeded_release_cannot_claim_private_noise(folder):
    with Ledger.open(TABLE, SCHEMA, BUDGET, source=SeededForTests(1)) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 2)
        certificate = ledger.close()
    publish(folder, FILES, certificate)
    rewrite(folder, lambda c: c.update(private_noise=True))
    assert "the promise follows from the budget and the events" in failed(folder)
    shutil.rmtree(folder)
    publish(folder, FILES, certificate, key=KEY)

    def whitewash(content):
        content["private_noise"] = True
        content["random_source"] = "the operating system's cryptographic generator"
        content["promise"].update(status="differentially private", epsilon=1.0, because=[])

    rewrite(folder, whitewash)
    assert failed(folder, PUBLIC) == {"signature"}


@pytest.mark.parametrize("value", ["no", 1, None, [], "false"])
def test_a_flag_that_is_no_flag_is_found(folder, certificate, value):
    publish(folder, FILES, certificate)
    rewrite(folder, lambda c: c.update(private_noise=value))
    assert not sound(folder)
    rewrite(folder, lambda c: c.update(private_noise=True))
    assert sound(folder)
    rewrite(folder, lambda c: c.update(planned=value or []))
    assert not sound(folder)


ODD_HASHES = {
    "no hash": lambda c: c.pop("sha256"),
    "a hash that is a number": lambda c: c.update(sha256=5),
    "a hash that is nothing": lambda c: c.update(sha256=None),
}
ODD = {
    "files in a list": lambda c: c.update(files=["model.bin"]),
    "a file without a hash": lambda c: c.update(files={"model.bin": None}),
    "versions that are a number": lambda c: c.update(versions=5),
    "a request that is a list": lambda c: c["events"][0].update(request=["age"]),
    "a request that is a number": lambda c: c["events"][0].update(request=5),
    "events that are a number": lambda c: c.update(events=5),
    "a reason that is a number": lambda c: c["events"].append(
        {"request": {}, "event": {"kind": "Reveal", "reason": 5}, "cost": "infinity"}
    ),
    "infinitely many steps": lambda c: c["events"][0]["event"].update(steps=10**400),
    "half a step": lambda c: c["events"][0]["event"].update(steps=1.5),
    "a sensitivity of nothing": lambda c: c["events"][0]["event"].update(sensitivity_squared="1/0"),
    "a sensitivity that is a number": lambda c: c["events"][0]["event"].update(
        sensitivity_squared=[1]
    ),
    "negative cells, fixed beforehand": lambda c: (
        c["events"].pop(),
        c["events"][0]["event"].update(unit_cells=-1),
        c.update(planned=[c["events"][0]["event"]]),
    ),
    "a budget that is a word": lambda c: c["budget"].update(epsilon="one"),
    "a signature that is a number": lambda c: c.update(signature=5),
    "a signature that is a list": lambda c: c.update(signature=[["value", 1]]),
    "an empty signature": lambda c: c.update(signature={}),
    "a unit that is a number": lambda c: c["promise"].update(unit=5, epsilon=0.5),
    "nothing": lambda c: c.clear(),
}


@pytest.mark.parametrize("key", [None, KEY], ids=["unsigned", "signed"])
@pytest.mark.parametrize("edit", [*ODD.values(), *ODD_HASHES.values()], ids=[*ODD, *ODD_HASHES])
def test_nonsense_in_a_certificate_is_a_failed_check_and_no_crash(folder, certificate, edit, key):
    publish(folder, FILES, certificate, key=key)
    rewrite(folder, edit, rehash=edit not in ODD_HASHES.values())
    assert not sound(folder)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"5",
        b"null\n",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 100_000,
        b'{"budget": NaN}\n',
    ],
)
def test_what_is_no_certificate_is_a_failed_check_and_no_crash(folder, content):
    folder.mkdir()
    (folder / "certificate.json").write_bytes(content)
    assert failed(folder) == {"the certificate can be read"}


def test_a_certificate_in_another_spelling_is_found(folder, certificate):
    publish(folder, FILES, certificate)
    path = folder / "certificate.json"
    written = path.read_bytes()
    content = json.loads(written)
    twice = written.replace(b'    "epsilon": 1.0,\n', b'    "epsilon": 0.1,\n    "epsilon": 1.0,\n')
    for other in (
        json.dumps(content).encode(),
        written + b"\n",
        b"\xef\xbb\xbf" + written,
        written.replace(b"\n", b"\r\n"),
        written.replace(b'"epsilon": 1.0', b'"epsilon": 1.00'),
        twice,  # a reader who takes the first of two would be told another promise
    ):
        assert other != written
        path.write_bytes(other)
        assert not sound(folder)
    path.write_bytes(written)
    assert sound(folder)


def test_only_the_curators_key_counts_where_it_is_given(folder, certificate):
    publish(folder, FILES, certificate, key=KEY)
    assert sound(folder)
    assert sound(folder, PUBLIC)
    assert failed(folder, OTHER_PUBLIC) == {"signature"}


def test_a_stripped_signature_is_found_where_a_key_is_given(folder, certificate):
    publish(folder, FILES, certificate, key=KEY)
    rewrite(folder, lambda c: c.pop("signature"))
    # Without a key nobody can tell; the note says that it is not signed.
    (check,) = [check for check in verify(folder) if check.what == "signature"]
    assert (check.passed, check.note) == (True, "not signed")
    assert failed(folder, PUBLIC) == {"signature"}


def test_a_signature_by_somebody_else_does_not_pass_for_the_curators(folder, certificate):
    publish(folder, FILES, certificate, key=OTHER_KEY)
    assert failed(folder, PUBLIC) == {"signature"}
    theirs = json.loads((folder / "certificate.json").read_text())["signature"]
    shutil.rmtree(folder)
    publish(folder, FILES, certificate, key=KEY)
    ours = json.loads((folder / "certificate.json").read_text())["signature"]
    mixed = {**theirs, "public_key": ours["public_key"]}
    rewrite(folder, lambda c: c.update(signature=mixed))
    assert failed(folder) == failed(folder, PUBLIC) == {"signature"}
    for change in (
        {"value": ours["value"].upper()},
        {"value": ours["value"] + "00"},
        {"value": " " + ours["value"]},
        {"algorithm": "none"},
        {"note": "ours"},
    ):
        rewrite(folder, lambda c, change=change: c.update(signature={**ours, **change}))
        assert failed(folder, PUBLIC) == {"signature"}
    rewrite(folder, lambda c: c.update(signature=ours))
    assert sound(folder, PUBLIC)


def test_a_signature_fits_one_release_only(folder, certificate, tmp_path):
    publish(folder, FILES, certificate, key=KEY)
    signature = json.loads((folder / "certificate.json").read_text())["signature"]
    other = tmp_path / "other"
    publish(other, {"measurements.json": b"made up"}, certificate)
    rewrite(other, lambda c: c.update(signature=signature))
    assert failed(other) == {"signature"}


def test_keys_of_another_kind_are_refused_and_nothing_is_written(folder, certificate):
    key = ec_key(SECP256R1())
    other = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    locked = Ed25519PrivateKey.generate().private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )
    for wrong in (b"", b"no key", other, locked, PUBLIC):
        with pytest.raises(BadInput, match="openssl genpkey"):
            publish(folder, FILES, certificate, key=wrong)
        assert list(folder.parent.iterdir()) == []
    publish(folder, FILES, certificate, key=KEY)
    for wrong in (b"no key", KEY):
        with pytest.raises(BadInput, match="openssl pkey"):
            verify(folder, public_key=wrong)


def test_a_key_that_is_no_key_is_refused_whether_or_not_anybody_signed(folder, certificate):
    # An empty key file must not read as "no key given".
    publish(folder, FILES, certificate)
    for wrong in (b"", b"no key"):
        with pytest.raises(BadInput, match="openssl pkey"):
            verify(folder, public_key=wrong)


@pytest.mark.parametrize(
    "name",
    [
        "../rows.csv",
        "a/b",
        "/tmp/rows.csv",  # noqa: S108 - never opened
        "a/",
        "./a",
        "..",
        ".",
        "",
        "certificate.json",
        "a\0b",
        "a\ud800",
        "n" * 300,
    ],
)
def test_names_that_lead_elsewhere_are_refused_and_nothing_is_written(folder, certificate, name):
    with pytest.raises(BadInput):
        publish(folder, {"fine.txt": b"fine", name: b"rows"}, certificate)
    assert list(folder.parent.iterdir()) == []


def test_a_certificate_cannot_name_files_outside_its_folder(folder, certificate, tmp_path):
    publish(folder, {}, certificate)
    (tmp_path / "outside").write_bytes(b"secret")
    hashed = sha256(b"secret").hexdigest()
    for name in ("../outside", str(tmp_path / "outside")):
        rewrite(folder, lambda c, name=name: c.update(files={name: hashed}))
        assert failed(folder) == {f"{name} is as it was released"}


def test_nothing_that_is_there_is_overwritten(folder, certificate, tmp_path):
    publish(folder, FILES, certificate)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / ".notes").write_text("mine")
    file = tmp_path / "file"
    file.write_text("mine")
    empty = tmp_path / "empty"
    empty.mkdir()
    links = tmp_path / "link to nowhere", tmp_path / "link to empty", tmp_path / "link to release"
    for link, target in zip(links, (tmp_path / "nowhere", empty, folder), strict=True):
        link.symlink_to(target)
    names = sorted(path.name for path in tmp_path.iterdir())
    for taken in (folder, hidden, file, *links):
        with pytest.raises(BadInput, match="nothing is overwritten"):
            publish(taken, {"other.txt": b"other"}, certificate)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert list(empty.iterdir()) == []
    assert [path.name for path in hidden.iterdir()] == [".notes"]
    assert file.read_text() == (hidden / ".notes").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_an_empty_folder_becomes_the_release(folder, certificate):
    folder.mkdir()
    publish(folder, FILES, certificate)
    assert sound(folder)
    assert [path.name for path in folder.parent.iterdir()] == ["release"]


def test_a_write_that_fails_leaves_no_folder(folder, certificate):
    # The system itself stops the second file in the middle, as it would on a full disk.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    files = {"small.txt": b"small", "large.bin": bytes(300_000)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(BadInput, match="cannot be written"):
            publish(folder, files, certificate)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(folder.parent.iterdir()) == []
    publish(folder, files, certificate)
    assert sound(folder)


def test_an_interrupted_write_leaves_no_folder(folder, certificate, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        publish(folder, FILES, certificate)
    assert list(folder.parent.iterdir()) == []


def test_seeded_noise_is_not_private_and_says_so(folder):
    with Ledger.open(TABLE, SCHEMA, BUDGET, source=SeededForTests(1)) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 2)
        certificate = ledger.close()
    publish(folder, FILES, certificate)
    promise = json.loads((folder / "certificate.json").read_text())["promise"]
    assert promise["status"] == "NOT PRIVATE"
    assert promise["epsilon"] == "infinity"
    assert promise["because"] == ["the noise came from a seeded source for tests"]
    assert certificate.epsilon == math.inf
    assert sound(folder)
    assert any("seeded" in check.note for check in verify(folder))


def test_revealed_rows_are_not_private_and_say_why(folder):
    with Ledger.open(TABLE, SCHEMA, BUDGET, allow_non_private=True) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 2)
        assert ledger.reveal("the paper's literal algorithm").num_rows == 20
        certificate = ledger.close()
    publish(folder, FILES, certificate)
    content = json.loads((folder / "certificate.json").read_text())
    assert content["promise"]["status"] == "NOT PRIVATE"
    assert content["promise"]["epsilon"] == content["spent"]["rho"] == "infinity"
    assert content["promise"]["because"] == ["the paper's literal algorithm"]
    assert sound(folder)
    # Taking the reveal out again does not restore the promise.
    rewrite(folder, lambda c: c["events"].pop())
    assert "the promise follows from the budget and the events" in failed(folder)


def test_facts_read_off_the_data_are_not_private_and_are_named():
    columns = (Column(**{**vars(SCHEMA.columns[0]), "source": Source.DATA}), SCHEMA.columns[1])
    with pytest.raises(PrivacyRefused):
        Ledger.open(TABLE, Schema(columns), BUDGET)
    with Ledger.open(TABLE, Schema(columns), BUDGET, allow_non_private=True) as ledger:
        certificate = ledger.close()
    assert certificate.epsilon == math.inf
    assert certificate.not_private == ("facts read off the data: age",)


def test_a_certificate_names_the_last_line_of_its_ledger_file(folder, tmp_path):
    path = tmp_path / "table.ledger"
    create_ledger(path, Budget(4.0, 1e-8))
    with Ledger.open(TABLE, SCHEMA, BUDGET, file=path) as ledger:
        ledger.measure([("age",)], rho=ledger.rest() / 2)
        certificate = ledger.close()
        assert certificate.ledger_head == read_ledger(path).head
        publish(folder, FILES, certificate)
        ledger.end()
    heads = {json.loads(line)["hash"] for line in path.read_bytes().splitlines()}
    assert json.loads((folder / "certificate.json").read_text())["ledger_head"] in heads


def planned(ledger, shares):
    """Requests for 1-way marginals, as events and as what to ask."""
    cliques = [("age",), ("sex",), ("age", "sex")]
    rho = ledger.rest()
    scales = [
        ledger.measure_event([clique], rho=rho * Fraction(share)).scale
        for clique, share in zip(cliques, shares, strict=False)
    ]
    chosen = list(zip(cliques, scales, strict=False))
    return chosen, [ledger.measure_event([c], scale=scale) for c, scale in chosen]


def test_the_exact_total_of_a_fixed_plan_is_at_most_what_adaptive_requests_cost(folder):
    with Ledger.open(TABLE, SCHEMA, BUDGET) as ledger:
        requests, events = planned(ledger, (0.3, 0.3, 0.4))
        ledger.fix(events)
        for clique, scale in requests:
            ledger.measure([clique], scale=scale)
        certificate = ledger.close()
    spent = certificate.spent
    assert certificate.planned == tuple(events)
    assert spent <= BUDGET.rho
    assert certificate.epsilon < BUDGET.epsilon
    assert certificate.epsilon < epsilon_of_rho(spent, BUDGET.delta)
    assert certificate.epsilon > 0.9 * epsilon_of_rho(spent, BUDGET.delta)
    publish(folder, FILES, certificate)
    assert sound(folder)
    # That nothing was fixed, or that it cost less, does not follow from the events.
    rewrite(folder, lambda c: c.update(planned=None))
    assert "the promise follows from the budget and the events" in failed(folder)
    shutil.rmtree(folder)
    publish(folder, FILES, certificate)
    rewrite(folder, lambda c: c["promise"].update(epsilon=c["promise"]["epsilon"] * 0.999))
    assert failed(folder) == {"the promise follows from the budget and the events"}


def test_what_is_promised_for_a_fixed_plan_does_not_depend_on_where_it_was_broken_off(folder):
    # Whoever stops after seeing an answer has used that answer: the plan as a whole was fixed,
    # not the part of it that was asked in the end.
    with Ledger.open(TABLE, SCHEMA, BUDGET) as ledger:
        requests, events = planned(ledger, (0.1, 0.8))
        whole = total_epsilon(events, BUDGET.delta)
        ledger.fix(events)
        ledger.measure([requests[0][0]], scale=requests[0][1])
        certificate = ledger.close()
    assert whole * (1 - 1e-9) <= certificate.epsilon <= BUDGET.epsilon
    publish(folder, FILES, certificate)
    assert sound(folder)


def test_a_fixed_plan_admits_nothing_else(folder):
    with Ledger.open(TABLE, SCHEMA, BUDGET) as ledger:
        requests, events = planned(ledger, (0.3,))
        with pytest.raises(BudgetSpent):
            ledger.fix(events * 4)
        ledger.fix(events)
        clique, scale = requests[0]
        with pytest.raises(PrivacyRefused):
            ledger.measure([clique], scale=scale * 2)
        ledger.measure([clique], scale=scale)
        with pytest.raises(PrivacyRefused):
            ledger.measure([clique], scale=scale)
        with pytest.raises(BadInput):
            ledger.fix(events)
        assert len(ledger.entries) == 1
