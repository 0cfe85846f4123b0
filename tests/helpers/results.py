"""Results of an evaluation, found in its JSON."""


def results_in(content):
    """All measured numbers, wherever they stand."""
    if isinstance(content, dict):
        if "direction" in content:
            yield content
        for value in content.values():
            yield from results_in(value)
    elif isinstance(content, list):
        for value in content:
            yield from results_in(value)
