import pytest
from hypothesis import settings

from initscope import compute

# As a job does, before torch is first imported; one thread, so that tests side by side do not fight for the cores.
compute.before_torch("portable")
compute.settle("portable")

# Seeded, and without a deadline: the first example of a test pays for imports.
settings.register_profile("initscope", derandomize=True, deadline=None, max_examples=50)
settings.load_profile("initscope")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A site of tests/sites.py whose study was made by `dvc repro`, pushed and committed."""
    import sites

    return sites.finished(tmp_path_factory.mktemp("site") / "main")


@pytest.fixture
def site(finished, tmp_path):
    """A copy of the finished site, to be changed."""
    return finished.copy(tmp_path / "site")
