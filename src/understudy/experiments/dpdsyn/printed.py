"""What the DPDSyn paper prints: Tables 2 to 6, and how many times faster it says it is."""

from collections.abc import Mapping

from understudy.curator.models import Learner

_METHODS = ("NP Baseline", "AIM", "MST", "MWEM", "DPDSyn")
_UTILITY: Mapping[str, tuple[str, ...]] = {
    "adult": (
        "0.8528 0.6410 0.8452 0.6131",
        "0.8368 0.6011 0.8351 0.5807",
        "0.7845 0.1692 0.7993 0.2686",
        "0.7893 0.2330 0.7918 0.2356",
        "0.8429 0.6260 0.8398 0.5991",
    ),
    "br2000": (
        "0.8221 0.6168 0.8174 0.6105",
        "0.8158 0.6071 0.8154 0.6057",
        "0.7882 0.5340 0.7930 0.5594",
        "0.7917 0.5517 0.7937 0.5611",
        "0.8158 0.6087 0.8189 0.6241",
    ),
    "smoking": (
        "0.7463 0.6902 0.7357 0.6650",
        "0.6918 0.5501 0.6945 0.5611",
        "0.6329 0.00 0.6328 0.00",
        "0.5930 0.2723 0.6174 0.3556",
        "0.7275 0.6498 0.7361 0.6555",
    ),
    "lpd": (
        "0.7647 0.8542 0.7077 0.8240",
        "0.7051 0.8269 0.7046 0.8265",
        "0.7051 0.8270 0.7051 0.8270",
        "0.6683 0.7552 0.6817 0.7997",
        "0.7086 0.8245 0.7085 0.8257",
    ),
}
"""By table and method: accuracy and F1 of an MLP, and of an SVM."""
_SCALED: Mapping[str, str] = {
    "NP Baseline": "0.7944 0.8099 0.7756 0.7790",
    "MST": "0.7290 0.7299 0.7331 0.7359",
    "MWEM": "0.7092 0.7201 0.7177 0.7222",
    "DPDSyn": "0.7762 0.7830 0.7734 0.7787",
}
"""By method: accuracy of an MLP at 2x and 3x, and of an SVM."""
_FIRST = {Learner.MLP: 0, Learner.SVM: 2}
SPEEDUPS = {"MLP": "160.40", "SVM": "333.73", "FT-Transformer": "8.09"}
"""The largest, over methods that it does not name."""


def printed(table: str, method: str, learner: Learner) -> tuple[str, str]:
    """Accuracy and F1."""
    cells = _UTILITY[table][_METHODS.index(method)].split()
    first = _FIRST[learner]
    return cells[first], cells[first + 1]


def printed_scaled(method: str, learner: Learner) -> tuple[str, str]:
    """Accuracy at 2x and at 3x, over all tables; nothing where it was not run."""
    if method not in _SCALED:
        return "", ""
    cells = _SCALED[method].split()
    first = _FIRST[learner]
    return cells[first], cells[first + 1]
