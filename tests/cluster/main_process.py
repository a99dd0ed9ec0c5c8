import os
import subprocess
import sys

import sites


class Run:
    """`snakemake --profile slurm` as a process, to be disturbed; it never outlives its `with`."""

    def __init__(self, site, slurm, *targets, python=sys.executable):
        self.said = site.folder / "said"
        command = [python, "-m", "snakemake", "--profile", "slurm", *targets]
        environment = os.environ | sites.SETTINGS | slurm.environment
        with self.said.open("w") as said:
            self.process = subprocess.Popen(command, cwd=site.folder, stdout=said, stderr=said, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def ends(self, well=True):
        assert (self.process.wait(timeout=240) == 0) == well, self.said.read_text()
