"""The cliques of a model: the sets of columns that its rows may depend on each other within."""

from collections.abc import Iterable

from understudy.domain import Clique, Domain


def cliques_of(model: object) -> tuple[Clique, ...] | None:
    """Return the cliques of a model, or None if its class does not state them.

    The class itself has to define `cliques`. A subclass does not inherit the statement, because
    it may draw rows in another way, and a wrapper cannot pass it on. A model whose cliques miss
    columns of its own domain has not stated all of them.
    """
    if "cliques" not in vars(type(model)):
        return None
    stated = getattr(model, "cliques", None)
    domain = getattr(model, "domain", None)
    if stated is None or not isinstance(domain, Domain):
        return None
    cliques = tuple(tuple(clique) for clique in stated)
    covered = {name for clique in cliques for name in clique}
    return cliques if covered.issuperset(domain.names) else None


def with_single_columns(domain: Domain, cliques: Iterable[Clique]) -> tuple[Clique, ...]:
    """Add a clique of its own for each column that no other clique holds.

    >>> with_single_columns(Domain.of({"a": 2, "b": 2, "c": 2}), [("a", "b")])
    (('c',), ('a', 'b'))
    """
    cliques = tuple(cliques)
    covered = {name for clique in cliques for name in clique}
    return (*((name,) for name in domain.names if name not in covered), *cliques)
