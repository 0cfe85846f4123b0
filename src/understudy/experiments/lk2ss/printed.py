"""What the LK-2SS paper prints in its text; its figures are not in it."""

from collections.abc import Mapping

from understudy.experiments.lk2ss.marketing import ALPHAS, BOTH, OWN, REAL, SHARED, made_name

TRUE = "given β"
_FOUR = {
    "omu": {
        TRUE: "200.00 142.86 99.01 102.04 111.11",
        OWN: "185.07 133.23 94.56 97.29 105.10",
        BOTH: "198.81 142.48 98.82 101.71 111.08",
    },
    "opr": {
        TRUE: "100.00 100.00 100.00 100.00 100.00",
        OWN: "99.90 99.90 99.95 99.94 99.93",
        BOTH: "100.00 100.00 100.00 100.00 100.00",
    },
}
"""Table 4: by metric and rows, brand by brand, in %."""
_EIGHT = {
    REAL: "198.05 141.68",
    made_name(0.2): "199.68 142.62",
    made_name(0.5): "199.69 142.64",
    made_name(0.8): "199.70 142.63",
    made_name(1.0): "199.71 142.63",
}
"""Table 8: OMU of two brands, in %; every OPR there is 100.00."""
MAPD: Mapping[str, str] = {
    OWN: "2.63",
    BOTH: "0.12",
    REAL: "0.33",
    **{made_name(alpha): "0.32" for alpha in ALPHAS if alpha < 1},
    made_name(1.0): "0.33",
}
"""Tables 4 and 8, in %."""
LID = {SHARED: "4.08"}
"""Section 7.1: by α, in %."""
MSE = 8e-4
"""Section 5: what the error of #KRR is to stay below."""
FASTER = "1/447 of GAN's time and 1/20 of a diffusion model's"


def printed(metric: str, rows: str, brand: int) -> str:
    """A cell of Table 4 or 8 in %; nothing where there is none."""
    cells = _FOUR[metric].get(rows, "").split()
    if rows in _EIGHT:
        cells = _EIGHT[rows].split() if metric == "omu" else ["100.00"] * 2
    return cells[brand - 1] if brand <= len(cells) else ""
