"""Runs anonymeter's three attacks; started by `second_opinion`, in anonymeter's own Python.

    python anonymeter_script.py FOLDER

FOLDER holds real.parquet, synthetic.parquet, test.parquet and request.json; result.json is added.
Nothing of Understudy is imported, for that Python does not have it.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main(folder: Path) -> dict[str, Any]:
    """Each attack's risk and its interval, or why there is none."""
    import pandas as pd  # noqa: PLC0415 - only anonymeter's Python runs this
    from anonymeter.evaluators import (  # noqa: PLC0415
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    tables = {
        name: pd.read_parquet(folder / f"{name}.parquet") for name in ("real", "synthetic", "test")
    }
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    shared = {
        "ori": tables["real"],
        "syn": tables["synthetic"],
        "control": tables["test"],
        "n_attacks": request["attacks"],
    }
    columns = list(tables["real"].columns)
    half = len(columns) // 2
    evaluators: dict[str, Any] = {"singling out": lambda: SinglingOutEvaluator(**shared, seed=0)}
    if half:
        evaluators["linkability"] = lambda: LinkabilityEvaluator(
            **shared, aux_cols=(columns[:half], columns[half:])
        )
    target = request["target"]
    if target is not None:
        evaluators["inference of the target"] = lambda: InferenceEvaluator(
            **shared,
            aux_cols=[name for name in columns if name != target],
            secret=target,
            regression=request["regression"],
        )
    results = {}
    for name, make in evaluators.items():
        try:
            evaluator = make()
            evaluator.evaluate()
            risk = evaluator.risk(confidence_level=0.95)
            results[name] = {"value": risk.value, "low": risk.ci[0], "high": risk.ci[1]}
        except Exception as error:  # noqa: BLE001 - one attack that fails leaves the others
            results[name] = {"failed": type(error).__name__}
    return results


if __name__ == "__main__":
    where = Path(sys.argv[1])
    (where / "result.json").write_text(json.dumps(main(where)), encoding="utf-8")
