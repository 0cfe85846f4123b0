"""What a release would buy, before anything is spent: no row of anybody is read.

make            a plan, from choices and a schema
made_up_rows    rows drawn from public facts alone
rehearsal       all that a run does, on these rows and by an ordinary ledger
items           what it asked, by kind; and what that would be worth at another ε
split           which part of the budget goes where
costs           what independences and caps cost
laps, forecast  seconds and memory: as measured, and with more rows
notes           what a person should know about it
page            the same as one file to open in a browser
"""

from understudy.plan.costs import IndependenceCost, ProtectionCost
from understudy.plan.forecast import Forecast
from understudy.plan.make import plan
from understudy.plan.page import plan_html
from understudy.plan.planned import AtEpsilon, Count, Item, Plan, Size
from understudy.plan.split import Part

__all__ = [
    "AtEpsilon",
    "Count",
    "Forecast",
    "IndependenceCost",
    "Item",
    "Part",
    "Plan",
    "ProtectionCost",
    "Size",
    "plan",
    "plan_html",
]
