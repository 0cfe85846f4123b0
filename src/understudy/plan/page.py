"""The page of a plan: one file, made from public facts and made-up rows alone."""

from markupsafe import Markup

from understudy.plan.figures import short, spread
from understudy.plan.planned import Plan
from understudy.report.frontier import Point, Series, frontier
from understudy.report.pages import rendered
from understudy.report.scale import Doublings

_PACKAGE = "understudy.plan"


def plan_html(plan: Plan) -> str:
    """The page."""
    kinds = [*plan.epsilons[0].noise] if plan.epsilons else []
    return rendered(
        "plan.html",
        _PACKAGE,
        plan=plan,
        kinds=kinds,
        picture=_noise(plan, kinds) if kinds else None,
        short=short,
        spread=spread,
    )


def _noise(plan: Plan, kinds: list[str]) -> Markup:
    """Noise against ε, in rows, both on scales where doubling is a step."""
    series = [
        Series(
            kind,
            tuple(
                Point(one.epsilon, noise, noise, noise)
                for one in plan.epsilons
                for noise in (one.noise[kind],)
            ),
        )
        for kind in kinds
    ]
    about = "Noise of a count in rows, by ε and by kind of table; the numbers are listed below"
    return frontier(series, (), about, upwards=Doublings)
