"""Methods against each other: each at several ε, several times, on rows that they never saw."""
