import getpass
import shutil

import pytest
import two_nodes


@pytest.fixture(scope="session")
def slurm(tmp_path_factory):
    """A Slurm of two nodes, for as long as the tests run."""
    if getpass.getuser() != "root" or not (shutil.which("slurmctld") or shutil.which("apt-get")):
        pytest.skip("a Slurm of one's own needs root, and Debian's packages")
    two_nodes.install()
    cluster = two_nodes.Slurm(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
