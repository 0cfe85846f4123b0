"""One release of the messy table for each engine that holds it, at ε = 1 with nothing declared."""

import pytest

import understudy as us
from helpers.messy import TARGET, messy_table
from helpers.messy_releases import Released, held_by, saved


@pytest.fixture(scope="session")
def messy():
    """The table as the text of a CSV file; tests do not change it."""
    return messy_table()


@pytest.fixture(scope="session")
def releases():
    """By engine, the release of the messy table, once it has been made."""
    return {}


@pytest.fixture
def released(request, messy, releases, tmp_path_factory):
    """The release of the messy table, by the engine that holds it; made by the first who asks."""
    engine = request.param
    if engine not in releases:
        held = engine not in {"csv", "pandas"}
        backend = request.getfixturevalue(f"{engine}_engine") if held else None
        folder = tmp_path_factory.mktemp(engine)
        source = held_by(engine, backend, messy, folder)
        release = us.synthesize(source, target=TARGET, epsilon=1.0)
        releases[engine] = Released(engine, release, *saved(release, folder / "release"), messy)
    return releases[engine]
