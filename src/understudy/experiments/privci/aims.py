"""What the figures were to be, and what they are."""

from collections.abc import Iterator

from understudy.experiments.markdown import shown
from understudy.experiments.privci.arms import AIM, ONCE, PRIVCI, SWEPT
from understudy.experiments.privci.found import Compared, Found
from understudy.experiments.privci.metrics import AUC, CMI, Metric, Q
from understudy.experiments.privci.printed import TABLE_TWO, Printed
from understudy.experiments.privci.tables import TABLES
from understudy.experiments.reproduced import Aim

_ENOUGH = 4
"""Tables on which AIM is to be better than a tree."""
_NOTHING = 1e-9


def aims(found: Found) -> list[Aim]:
    """The same signs as in print, a model better than a tree, and independences that hold."""
    listed = [
        _like_printed(found, metric, table.name) for metric in (AUC, Q, CMI) for table in TABLES
    ]
    return [*listed, *_beyond(found)]


def _like_printed(found: Found, metric: Metric, table: str) -> Aim:
    printed, compared = TABLE_TWO[metric.name][table], found.compared(table, metric)
    what = f"{table}: {metric.name}, PrivCI − PreFair"
    paper = f"{printed.difference}, p = {printed.p_value}"
    aim = "PrivCI better" if printed.better else "no difference"
    if compared is None:
        return Aim(what, paper, aim, None, None, "", None)
    sign = "+" if compared.difference.value > 0 else ""
    told = f"{sign}{shown(compared.difference, metric.places)}, p = {compared.p_value:.4f}"
    met = _same(printed, compared) if compared.enough else None
    return Aim(what, paper, aim, compared.difference.value, compared.difference.half, told, met)


def _same(printed: Printed, compared: Compared) -> bool:
    """Whether PrivCI is better where it is in print, and neither better nor worse elsewhere."""
    return compared.better if printed.better else not (compared.better or compared.worse)


def _surely_above(found: Found, table: str) -> bool:
    """Whether AIM is above PrivCI by more than chance, fold by fold."""
    gain = found.paired(table, AIM, PRIVCI, 1.0, AUC)
    return gain is not None and gain.value > gain.half


def _beyond(found: Found) -> Iterator[Aim]:
    means = [
        [found.mean(table.name, arm.name, 1.0, AUC) for arm in (AIM, PRIVCI)] for table in TABLES
    ]
    known = [(ours.value, tree.value) for ours, tree in means if ours and tree]
    what = "AUC at ε = 1: tables on which AIM with the constraint is above PrivCI"
    if known:
        above = sum(ours > tree for ours, tree in known)
        met = above >= _ENOUGH if len(known) == len(TABLES) else None
        sure = [name for name in (table.name for table in TABLES) if _surely_above(found, name)]
        told = f"{above} of {len(known)}; beyond the 95 % interval of the difference: "
        told += ", ".join(sure) or "none"
        yield Aim(what, "", f"≥ {_ENOUGH} of {len(TABLES)}", above, None, told, met)
    kept = [arm for arm in (*SWEPT, *ONCE) if not arm.free]
    most = found.largest_model_cmi(kept, TABLES)
    if most is not None:
        what = "the largest CMI of any constrained model"
        yield Aim(what, "", f"≤ {_NOTHING:g}", most, None, f"{most:.1e}", most <= _NOTHING)
