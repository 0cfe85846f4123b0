"""What ranks tell: Wilcoxon's test of paired differences, Spearman's correlation."""

from collections.abc import Sequence

from scipy import stats


def signed_ranks(differences: Sequence[float]) -> float:
    """One-sided: how likely ranks are that favour positive differences so much, if none is better.

    Pairs that are equal say nothing.

    >>> signed_ranks([0.1, 0.2, 0.3, 0.4, 0.5])
    0.03125
    """
    # What differs in its last digits alone has the same rank.
    plain = [float(f"{one:.9g}") for one in differences]
    if not any(plain):
        return 1.0
    return float(stats.wilcoxon(plain, alternative="greater").pvalue)


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's correlation; 0 where one side does not vary.

    >>> rank_correlation([1, 2, 3], [1, 10, 100])
    1.0
    """
    if len({*one}) < 2 or len({*other}) < 2:  # noqa: PLR2004 - nothing varies
        return 0.0
    return float(stats.spearmanr(one, other).statistic)
