import getpass
import shutil
from contextlib import contextmanager

import pytest
from accounting import Accounted
from two_nodes import Slurm


@contextmanager
def running(kind, folder):
    if getpass.getuser() != "root" or not (shutil.which("slurmctld") or shutil.which("apt-get")):
        pytest.skip("a Slurm of one's own needs root, and Debian's packages")
    kind.install()
    cluster = kind(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A Slurm of two nodes, for as long as the tests run."""
    with running(Slurm, tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def accounted(tmp_path_factory):
    """One with an accounting database."""
    with running(Accounted, tmp_path_factory.mktemp("accounted")) as cluster:
        yield cluster
