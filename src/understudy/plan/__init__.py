"""What a release would buy, before anything is spent: no row of anybody is read.

made_up_rows    rows drawn from public facts alone
rehearse        the mechanism asks an ordinary ledger about them
items           what it asked, by kind; and what that would be worth at another ε
notes           what a person should know about it
"""

from understudy.plan.planned import AtEpsilon, Count, Item, Plan, Size
from understudy.plan.rehearse import plan

__all__ = ["AtEpsilon", "Count", "Item", "Plan", "Size", "plan"]
