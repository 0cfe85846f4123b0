"""The only place where privacy noise is drawn: whole numbers, exactly, from the system's entropy.

Counts up to a size go through OpenDP's samplers. More cells than that, and the noise of training,
go through the sampler below, which draws the same distribution many times as fast.

It is exact although it computes in floating point. A uniform number is an endless row of random
bits, of which 64 are drawn; a double then says where its logarithm lies, give or take a margin
many times wider than the double's own error. Where the margin leaves a decision open, more bits
are drawn and the decision is made with long decimals until it is certain.
"""

import math
import os
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import BadInput, NoiseTooLarge

MOST_OPENDP_CELLS = 2**14
LARGEST_SCALE = 2.0**44
"""Noise of this scale, tails and all, still fits 64 bits together with what it is added to."""
SMALLEST_SCALE = 2.0**-20
LARGEST_CHOICE_SCALE = 2.0**200
RATE_GRID = 2**32
"""Sampling rates are whole multiples of 1/RATE_GRID, so that a fair coin is exact."""

_AT_ONCE = 2**18
"""So many draws are proposed together; their arrays fit a processor's cache or nearly so."""
_MARGIN = 2.0**-48
"""A double's logarithm, product or square root errs by a few times 2⁻⁵³ of its size."""
_FIRST_BITS = 64
_FEW = 2**12
"""Of a uniform number this small, so few bits are known that more must be drawn."""


class RandomSource(Protocol):
    """Where random bits come from."""

    @property
    def private(self) -> bool:
        """Whether nobody can foretell the bits."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """That many words of 64 random bits."""


class OsRandom:
    """The operating system's cryptographic generator."""

    private = True

    def words(self, count: int) -> NDArray[np.uint64]:
        """That many words of 64 random bits."""
        return np.frombuffer(os.urandom(8 * count), np.uint64)

    def __str__(self) -> str:
        return "the operating system's cryptographic generator"


class SeededForTests:
    """Bits that a test can draw again. NOT PRIVATE: whoever knows the seed knows the noise."""

    private = False

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """That many words of 64 random bits."""
        return self._rng.integers(0, 2**64, count, np.uint64)

    def __str__(self) -> str:
        return "a seeded generator for tests: NOT PRIVATE"


def with_gaussian_noise(
    values: NDArray[np.int64], scale: float, source: RandomSource
) -> NDArray[np.int64]:
    """The values, each plus its own discrete Gaussian of this scale."""
    check_scale(scale)
    if source.private and values.size <= MOST_OPENDP_CELLS:
        # Copied because OpenDP takes no array that is read-only.
        noisy = np.asarray(_opendp_gaussian(scale)(values.ravel().copy()), np.int64)
        return noisy.reshape(values.shape)
    return values + gaussian_noise(values.size, scale, source).reshape(values.shape)


def all_with_gaussian_noise(
    arrays: Sequence[NDArray[np.int64]], scale: float, source: RandomSource
) -> list[NDArray[np.int64]]:
    """Several arrays with noise, drawn together: each draw by itself takes longer."""
    together = np.concatenate([array.ravel() for array in arrays])
    noisy = with_gaussian_noise(together, scale, source)
    parts = np.split(noisy, np.cumsum([array.size for array in arrays])[:-1])
    return [part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True)]


def gaussian_noise(count: int, scale: float, source: RandomSource) -> NDArray[np.int64]:
    """Discrete Gaussians: P(y) is in proportion to exp(-y² / (2 scale²)).

    A discrete Laplace number is proposed and taken with the probability that turns one law into
    the other (Canonne, Kamath and Steinke 2020, algorithm 3).
    """
    check_scale(scale)
    drawn: list[NDArray[np.int64]] = []
    missing = count
    while missing > 0:
        at_once = min(missing, _AT_ONCE)
        proposed = _proposals(at_once + at_once // 2 + 16, scale, source)[:missing]
        drawn.append(proposed)
        missing -= len(proposed)
    return np.concatenate(drawn) if drawn else np.zeros(0, np.int64)


def exponential_choice(scores: Sequence[int], scale: float, source: RandomSource) -> int:
    """The place of one score, drawn in proportion to exp(score / scale)."""
    check_choice(scale)
    if source.private:
        return int(_opendp_choice(scale)(list(scores)))
    return _choice(scores, scale, source)


def joins(rows: int, rate: int, source: RandomSource) -> NDArray[np.intp]:
    """Which of `rows` rows join a sample that each joins with probability rate/RATE_GRID."""
    halves = source.words((rows + 1) // 2).view(np.uint32)[:rows]
    return np.flatnonzero(halves < rate) if rate < RATE_GRID else np.arange(rows)


def below(bound: int, source: RandomSource) -> int:
    """A whole number from 0 to below the bound, each as likely as any other."""
    bits = (bound - 1).bit_length()
    words = -(-bits // 64)
    while True:
        drawn = int.from_bytes(source.words(words).tobytes(), "little") >> (64 * words - bits)
        if drawn < bound:
            return drawn


def logarithmic(gamma: Fraction, source: RandomSource) -> int:
    """A whole number k from 1 on, with a probability in proportion to (1 - γ)^k / k.

    A coin is tossed until it says stop, which it does with probability γ; the number of tosses is
    taken with probability 1/k, or else all begins anew.
    """
    while True:
        tosses = 1
        while below(gamma.denominator, source) >= gamma.numerator:
            tosses += 1
        if not below(tosses, source):
            return tosses


def check_scale(scale: float) -> None:
    """Refuse noise that 64 bits cannot hold, or that is none."""
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
        msg = (
            f"Noise of scale {scale:.3g} cannot be drawn: scales lie between "
            f"{SMALLEST_SCALE:.0e} and {LARGEST_SCALE:.0e}. Spend more, or less, on the request."
        )
        raise NoiseTooLarge(msg)


def check_choice(scale: float) -> None:
    """Refuse a choice without noise, or with more than a number can say."""
    if not 0 < scale < LARGEST_CHOICE_SCALE:
        msg = "A selection with so small an epsilon is a coin toss; spend more on it."
        raise BadInput(msg)


def _proposals(count: int, scale: float, source: RandomSource) -> NDArray[np.int64]:
    """Discrete Gaussians, as many as come out of `count` proposals."""
    width = math.floor(scale) + 1
    words = source.words(2 * count)
    first, second = words[:count], words[count:]
    negative = (first & np.uint64(1)).astype(bool)
    size = _geometric(first >> np.uint64(1), width, source)
    variance = scale * scale
    off = size - variance / width
    exponent = off * off / (2 * variance)
    error = (exponent + np.abs(off) * (size + variance / width) / variance) * _MARGIN
    taken, unsure = _exceeds(second, exponent, error)
    for k in unsure:
        exact = Fraction(scale) ** 2
        exact_exponent = (int(size[k]) - exact / width) ** 2 / (2 * exact)
        taken[k] = _Uniform(int(second[k]), _FIRST_BITS, source).log_exceeds(exact_exponent)
    taken &= ~negative | (size > 0)  # or else zero would come twice as often
    whole = size.astype(np.int64)
    return np.where(negative, -whole, whole)[taken]


def _geometric(bits: NDArray[np.uint64], width: int, source: RandomSource) -> NDArray[np.float64]:
    """Whole numbers g with P(at least g) = exp(-g / width), each from 63 bits."""
    known = bits.astype(np.float64) + 0.5
    value = np.log(known * 2.0**-63) * -width
    error = width * 0.6 / known + (value + width) * _MARGIN
    whole: NDArray[np.float64] = np.floor(value)
    unsure = (np.floor(value - error) != np.floor(value + error)) | (known < _FEW)
    for k in np.flatnonzero(unsure):
        whole[k] = _Uniform(int(bits[k]), _FIRST_BITS - 1, source).log_floor(width)
    return whole


def _exceeds(
    bits: NDArray[np.uint64], exponent: NDArray[np.float64], error: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Where -log U exceeds the exponent, and the places where that is not sure."""
    known = bits.astype(np.float64) + 0.5
    value = -np.log(known * 2.0**-64)
    margin = error + 0.6 / known + (value + 1) * _MARGIN
    unsure = (np.abs(value - exponent) <= margin) | (known < _FEW)
    return value > exponent, np.flatnonzero(unsure)


def _choice(scores: Sequence[int], scale: float, source: RandomSource) -> int:
    """As `exponential_choice`: a candidate drawn evenly, taken with probability exp(-behind)."""
    best = max(scores)
    behind = np.array([best - score for score in scores], np.float64) / scale
    even = (2**64 // len(scores)) * len(scores)
    while True:
        words = source.words(2 * 1024)
        for_place, for_coin = words[:1024], words[1024:]
        fair = for_place <= np.uint64(even - 1)
        places = (for_place % np.uint64(len(scores))).astype(np.intp)
        taken, unsure = _exceeds(for_coin, behind[places], behind[places] * _MARGIN)
        for k in unsure:
            exact = Fraction(best - scores[places[k]]) / Fraction(scale)
            taken[k] = _Uniform(int(for_coin[k]), _FIRST_BITS, source).log_exceeds(exact)
        found = np.flatnonzero(taken & fair)
        if found.size:
            return int(places[found[0]])


class _Uniform:
    """A uniform number between 0 and 1 whose bits are drawn as they are needed."""

    def __init__(self, bits: int, length: int, source: RandomSource) -> None:
        self._bits = bits
        self._length = length
        self._source = source

    def log_exceeds(self, exponent: Fraction) -> bool:
        """Whether -log U exceeds the exponent."""
        for low, high in self._logs():
            if low > exponent:
                return True
            if high is not None and high < exponent:
                return False
        raise AssertionError  # the bits never end

    def log_floor(self, width: int) -> int:
        """The whole part of -log U times the width."""
        for low, high in self._logs():
            if high is not None and math.floor(low * width) == math.floor(high * width):
                return math.floor(low * width)
        raise AssertionError  # the bits never end

    def _logs(self) -> Iterator[tuple[Fraction, Fraction | None]]:
        """Ever closer bounds on -log U; no upper one while all bits are zero."""
        while True:
            digits = 30 + self._length // 3
            decimal = Context(prec=digits)
            one = decimal.multiply(Decimal(self._length), decimal.ln(Decimal(2)))
            # Both logarithms are correctly rounded; four digits of slack cover the difference.
            slack = Fraction(one) / 10 ** (digits - 4)
            low = Fraction(one) - Fraction(decimal.ln(Decimal(self._bits + 1))) - slack
            if self._bits:
                yield low, Fraction(one) - Fraction(decimal.ln(Decimal(self._bits))) + slack
            else:
                yield low, None
            self._bits = self._bits << 64 | int(self._source.words(1)[0])
            self._length += 64


@lru_cache(maxsize=64)
def _opendp_gaussian(scale: float) -> Any:  # noqa: ANN401 - OpenDP's measurements have one type
    # Loaded at the first draw; the package's prelude would load data frames as well.
    from opendp.domains import atom_domain, vector_domain  # noqa: PLC0415
    from opendp.measurements import make_gaussian  # noqa: PLC0415
    from opendp.metrics import l2_distance  # noqa: PLC0415

    _enable()
    space = vector_domain(atom_domain(T="i64")), l2_distance(T="i64")
    return make_gaussian(*space, scale=scale)


@lru_cache(maxsize=64)
def _opendp_choice(scale: float) -> Any:  # noqa: ANN401 - as above
    from opendp.domains import atom_domain, vector_domain  # noqa: PLC0415 - as above
    from opendp.measurements import make_noisy_max  # noqa: PLC0415
    from opendp.measures import zero_concentrated_divergence  # noqa: PLC0415
    from opendp.metrics import linf_distance  # noqa: PLC0415

    _enable()
    space = vector_domain(atom_domain(T="i64")), linf_distance(T="i64")
    return make_noisy_max(*space, zero_concentrated_divergence(), scale=scale)


def _enable() -> None:
    from opendp.mod import enable_features  # noqa: PLC0415 - as above

    enable_features("contrib")
