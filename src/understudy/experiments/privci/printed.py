"""Table II of the PrivCI paper: PrivCI less PreFair, and one-sided p-values."""

from dataclasses import dataclass

from understudy.experiments.privci.metrics import AUC, CMI, EO, KL, TV, Q

_SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Printed:
    """A cell of the table."""

    difference: str
    p_value: str

    @property
    def better(self) -> bool:
        """Whether it has a tick: PrivCI is significantly better."""
        return float(self.p_value) < _SIGNIFICANT


_TABLES = ("adult", "compas", "dutch", "german", "law")
_ROWS = {
    Q.name: (
        ("+34.7983", "0.6542"),
        ("+331.1423", "0.0000"),
        ("+2804.1045", "0.0000"),
        ("+1167.3563", "0.0040"),
        ("+569.4408", "0.0258"),
    ),
    KL.name: (
        ("+0.0164", "0.5837"),
        ("-0.0464", "0.0019"),
        ("-0.0213", "0.0015"),
        ("-0.0657", "0.0426"),
        ("-0.0824", "0.0000"),
    ),
    TV.name: (
        ("-0.0007", "0.2712"),
        ("-0.0108", "0.0002"),
        ("-0.0009", "0.0006"),
        ("-0.0027", "0.0502"),
        ("-0.0039", "0.0000"),
    ),
    AUC.name: (
        ("-0.0000", "0.4895"),
        ("+0.0885", "0.0001"),
        ("+0.0408", "0.0000"),
        ("+0.0497", "0.0123"),
        ("+0.1016", "0.0000"),
    ),
    CMI.name: (
        ("+0.0000", "0.5000"),
        ("-0.0000", "0.2209"),
        ("+0.0000", "0.8373"),
        ("+0.0007", "0.6444"),
        ("+0.0002", "0.7629"),
    ),
    EO.name: (
        ("+0.0029", "0.7288"),
        ("+0.0125", "0.8343"),
        ("-0.0218", "0.0000"),
        ("-0.0130", "0.2838"),
        ("-0.0531", "0.0001"),
    ),
}
TABLE_TWO = {
    metric: {name: Printed(*cell) for name, cell in zip(_TABLES, cells, strict=True)}
    for metric, cells in _ROWS.items()
}
"""By metric and table."""
ROWS = {"adult": 48_842, "compas": 7_214, "dutch": 60_420, "german": 1_000, "law": 20_798}
"""Table I."""
COLUMNS = {"adult": 7, "compas": 5, "dutch": 12, "german": 10, "law": 12}
"""Table I."""
