"""Values ⇄ small integers: the rules by which a table becomes codes and comes back."""

from understudy.encode.encoding import Encoding

__all__ = ["Encoding"]
