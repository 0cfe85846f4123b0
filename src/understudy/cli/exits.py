"""Exit codes: 0 done, 1 a check failed, 2 bad input, 3 refused for privacy."""

CHECK_FAILED = 1
BAD_INPUT = 2
REFUSED_FOR_PRIVACY = 3

STOPPED = 130
"""As shells count an interruption."""
