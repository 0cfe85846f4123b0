import pytest

from understudy.domain import Attribute, Domain
from understudy.errors import BadInput, UnknownColumn

DOMAIN = Domain.of({"a": 2, "b": 3, "c": 5})


def test_shapes_follow_the_clique_and_sizes_multiply():
    assert DOMAIN.shape(("c", "a")) == (5, 2)
    assert DOMAIN.size(("c", "a")) == 10
    assert DOMAIN.size(()) == 1


def test_sizes_are_exact_beyond_64_bits():
    wide = Domain.of({f"x{k}": 10**6 for k in range(20)})
    assert wide.size(wide.names) == 10**120


def test_canonical_order_is_the_domains():
    assert DOMAIN.canonical(("c", "a")) == ("a", "c")
    assert DOMAIN.project(("c", "a")).names == ("a", "c")


def test_it_is_a_collection_of_attributes():
    assert list(DOMAIN) == [Attribute("a", 2), Attribute("b", 3), Attribute("c", 5)]
    assert len(DOMAIN) == 3
    assert "a" in DOMAIN
    assert "z" not in DOMAIN


def test_mistakes_are_refused():
    with pytest.raises(UnknownColumn, match="Did you mean 'a'"):
        DOMAIN.shape(("aa",))
    with pytest.raises(BadInput, match="names a twice"):
        DOMAIN.canonical(("a", "b", "a"))
    with pytest.raises(BadInput, match="repeated: a"):
        Domain((Attribute("a", 1), Attribute("a", 2)))
    with pytest.raises(BadInput, match="at least one cell"):
        Attribute("a", 0)
