"""Figures: ΔMSE and LID against α, the error of D* alone, and test rows of another law."""

import math
from collections.abc import Mapping

from understudy.experiments.figures import Figures, lines, panels
from understudy.experiments.lk2ss.found import Found
from understudy.experiments.lk2ss.nonlinear import ALPHAS, COMPARED, FINE, MEANS, STAGES
from understudy.experiments.lk2ss.publics import MODELS
from understudy.report.frontier import Axis, Point, Series

_ALPHA = Axis("α", "α (the part of the real rows)", doubling=False)
_TV = Axis("TV", "TV norm between the third input of D and of test rows", doubling=False)


def pictures(found: Found) -> Figures:
    """By number: what it shows, and the picture; those that there are outcomes for."""
    drawn: Figures = {}
    for about, axis, titled in (
        ("ΔMSE of four public models, and LID, against α", _ALPHA, _traded(found)),
        (
            "MSE of #KRR on D* alone against α (intervals end at a tenth of the mean)",
            _ALPHA,
            _alone(found),
        ),
        ("ΔMSE against the TV norm, where test rows have another law", _TV, _mismatch(found)),
    ):
        kept = {title: series for title, series in titled.items() if series}
        if kept:
            drawn[len(drawn) + 1] = (about, panels(kept, about, axis))
    return drawn


def _traded(found: Found) -> Mapping[str, list[Series]]:
    titled = {
        f"ΔMSE of {model}": lines(
            {
                stage: {alpha: found.mean("gone", stage, alpha, model) for alpha in ALPHAS}
                for stage in COMPARED
            }
        )
        for model in MODELS
    }
    # At α = 1 every row is told, which would leave no room for what lies below.
    told = {
        stage: {alpha: found.mean("lid", stage, alpha) for alpha in ALPHAS if alpha < 1}
        for stage in COMPARED
    }
    return titled | {"LID, for α below 1": lines(told)}


def _alone(found: Found) -> Mapping[str, list[Series]]:
    """On a scale of powers of ten: the controls are worse by hundreds of times."""
    series = []
    for stage in STAGES:
        points = []
        for alpha in FINE:
            mean = found.mean("alone", stage, alpha)
            if mean is not None:
                low, high = max(mean.value - mean.half, mean.value / 10), mean.value + mean.half
                points.append(Point(alpha, *map(math.log10, (mean.value, low, high))))
        series += [Series(stage, tuple(points))] if points else []
    return {"log₁₀ of MSE": series}


def _mismatch(found: Found) -> Mapping[str, list[Series]]:
    series = []
    for model in MODELS:
        points = []
        for mean in MEANS:
            apart, gone = found.mean("mismatch", "tv", mean), found.mean("mismatch", model, mean)
            if apart is not None and gone is not None:
                ends = (gone.value - gone.half, gone.value + gone.half)
                points.append(Point(apart.value, gone.value, *ends))
        series += [Series(model, tuple(points))] if points else []
    return {"ΔMSE": series}
