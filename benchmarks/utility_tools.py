"""Who makes rows for `utility.py`: our methods in this process, peers each in one of its own."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

import understudy as us
from understudy.mechanisms.api import Mechanism
from understudy.mechanisms.label_model import Label
from understudy.schema_files import schema_from_json
from utility_rows import Split

REAL = "real"
"""The rows themselves: what no tool is to beat."""
OURS: Mapping[str, Mechanism | str] = {
    "independent": us.IndependentColumns(),
    "mst": us.Mst(),
    "aim": us.Aim(),
    "prism": us.Prism(),
    "dpdsyn": us.DpdSyn(features=us.Mst()),
    "dpdsyn-mlp": us.DpdSyn(features=us.Mst(), label_model=us.LabelModel(Label.MLP)),
    "auto": "auto",
}
_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Peer:
    """Another tool's method."""

    environment: str
    """Its folder among the environments, and the end of its runner's name."""
    method: str
    package: str
    further: tuple[str, ...] = ()


PEERS: Mapping[str, Peer] = {
    # By hand: mbi compiles no program for each pair, dpmm takes half of its time for the same
    # numbers, and OpenDP does not refuse its own budget.
    "mbi:mst": Peer("mbi", "mst", "mbi", ("--by-hand",)),
    "smartnoise:mst": Peer("smartnoise", "mst", "smartnoise-synth"),
    "dpmm:mst": Peer("dpmm", "mst", "dpmm", ("--by-hand",)),
    "dpmm:privbayes": Peer("dpmm", "privbayes", "dpmm", ("--by-hand",)),
    "opendp:mst": Peer("opendp", "mst", "opendp", ("--by-hand",)),
}
TOOLS = (REAL, *OURS, *PEERS)
_RAISED = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Exit))\b")


class FailedError(Exception):
    """A run that gave no rows: the class of its reason, and what it said last."""

    def __init__(self, reason: str, said: str = "") -> None:
        super().__init__(reason)
        self.reason, self.said = reason, said


def drawn_by(tool: str, split: Split, epsilon: float, seed: int) -> pd.DataFrame:
    """As many rows as there are to learn from, by a method of ours."""
    schema = None if split.sizes is None else schema_from_json(dict(split.sizes))
    release = us.synthesize(
        split.train,
        epsilon=epsilon,
        delta=split.delta,
        target=split.table.target,
        schema=schema,
        mechanism=OURS[tool],
        rows=len(split.train),
        seed=seed,
    )
    return release.data if split.sizes is None else release.data.astype(np.int64)


def drawn_by_peer(
    tool: str, split: Split, epsilon: float, venvs: Path, limit: float
) -> pd.DataFrame:
    """As many rows as there are to learn from, by a peer in a fresh process."""
    assert split.sizes is not None  # noqa: S101 - peers see codes alone
    peer, names = PEERS[tool], list(split.sizes)
    # Brackets and spaces in a name are no matter of utility.
    plain = {name: f"x{place}" for place, name in enumerate(names)}
    runner = str(_HERE / "peers" / f"{peer.method}_{peer.environment}.py")
    with tempfile.TemporaryDirectory() as folder:
        train, domain, out = (Path(folder) / name for name in ("train.csv", "domain.json", "out"))
        split.train[names].rename(columns=plain).to_csv(train, index=False)
        domain.write_text(json.dumps({plain[name]: split.sizes[name] for name in names}))
        told = [str(part) for part in (train, domain, epsilon, split.delta, out)]
        _run([str(venvs / peer.environment / "bin/python"), runner, *peer.further, *told], limit)
        drawn = pd.read_csv(out) if out.exists() else pd.DataFrame()
    return _checked(drawn, split, plain)


def _run(command: list[str], limit: float) -> None:
    try:
        # One thread, as ours have.
        alone = {**os.environ, "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(command, capture_output=True, timeout=limit, env=alone, check=False)
    except subprocess.TimeoutExpired:
        reason = "timeout"
        raise FailedError(reason, f"stopped after {limit:g} s") from None
    except OSError as error:
        raise FailedError(type(error).__name__, "its environment cannot be started") from None
    if ended.returncode:
        lines = ended.stderr.decode(errors="replace").strip().splitlines() or [""]
        raised = next((found for line in lines[::-1] if (found := _RAISED.match(line))), None)
        other = "killed" if ended.returncode < 0 else "exit"
        reason = raised[1] if raised else f"{other} {abs(ended.returncode)}"
        raise FailedError(reason, raised.string if raised else lines[-1])


def _checked(drawn: pd.DataFrame, split: Split, plain: Mapping[str, str]) -> pd.DataFrame:
    """The rows under their own names; refused where they are not of the same domain."""
    assert split.sizes is not None  # noqa: S101 - as above
    reason = "bad output"
    if len(drawn) != len(split.train) or not {*plain.values()} <= {*drawn}:
        raise FailedError(reason, f"{len(drawn)} rows of {len(drawn.columns)} columns")
    named = pd.DataFrame({name: drawn[short] for name, short in plain.items()})
    for name, size in split.sizes.items():
        if not named[name].between(0, size - 1).all():
            raise FailedError(reason, "codes outside of the domain")
    return named.astype(np.int64)


@lru_cache
def versions_of(tool: str, venvs: Path | None) -> dict[str, str]:
    """What made the rows, and what judged them."""
    found = {"python": sys.version.split()[0], "scikit-learn": version("scikit-learn")}
    if tool in PEERS and venvs is not None:
        peer = PEERS[tool]
        asked = f"from importlib.metadata import version; print(version({peer.package!r}))"
        command = [str(venvs / peer.environment / "bin/python"), "-c", asked]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return found
        return found | {peer.package: ended.stdout.strip()}
    return found | {"understudy": version("understudy")}
