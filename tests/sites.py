"""A user's site for the tests: a git repository with DVC and the workflow, on a small study."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

from helpers import REPOSITORY, SMALL
from ruamel.yaml import YAML

BIN = Path(sys.executable).parent
FILES = (
    "Snakefile",
    "workflow",
    "src",
    "profiles",
    "slurm",
    "requirements.lock",
    "dvc.yaml",
    ".gitignore",
    ".dvcignore",
)
STAGES = ("corpus", "init", "audit", "train", "summary", "figures")
SETTINGS = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@t",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@t",
    "DVC_NO_ANALYTICS": "1",
    "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
}
YAML_FILE = YAML()
RETRAINED = {"train": 1, "summary": 1, "figures": 1}
RATE, OTHER_RATE = "learning_rate: 0.003", "learning_rate: 0.01"


class Site:
    """A folder in which commands run; `jobs` of the last one counts the stages that Snakemake ran."""

    def __init__(self, folder):
        self.folder, self.said, self.jobs = Path(folder), "", Counter()

    def __call__(self, *command, ok=True, **environment):
        environment = {**os.environ, **SETTINGS, **environment}
        done = subprocess.run(
            [str(part) for part in command],
            cwd=self.folder,
            capture_output=True,
            text=True,
            env=environment,
            timeout=600,
        )
        self.said = done.stdout + done.stderr
        assert not ok or done.returncode == 0, self.said
        ran = re.findall(r"Finished jobid: \d+ \(Rule: (\w+)\)", self.said)
        self.jobs = Counter(rule for rule in ran if rule in STAGES)
        return done.returncode

    def start(self, *command):
        """A command that goes on beside the test, in a process group of its own; what it says is lost."""
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, **SETTINGS}
        return subprocess.Popen(command, cwd=self.folder, start_new_session=True, env=environment, **quiet)

    @property
    def held(self):
        """The folders of the store, each a finished artifact."""
        return [path for path in (self.folder / ".store").glob("*") if len(path.name) == 32]

    def snakemake(self, *args, **how):
        return self("snakemake", "--cores", "2", *args, **how)

    def repro(self, *args, **how):
        return self("dvc", "repro", *args, **how)

    def edit(self, path, old, new):
        text = (self.folder / path).read_text()
        assert old in text
        (self.folder / path).write_text(text.replace(old, new, 1))

    def axis(self, name, values):
        config = YAML_FILE.load(self.folder / "config.yaml")
        config["studies"]["scale"]["axes"][name] = values
        YAML_FILE.dump(config, self.folder / "config.yaml")

    @property
    def lock(self):
        return (self.folder / "dvc.lock").read_bytes()

    @property
    def results(self):
        shown = (p for p in sorted((self.folder / "results").rglob("*")) if p.is_file())
        return {str(p.relative_to(self.folder)): p.read_bytes() for p in shown}

    def copy(self, folder):
        """The same site, finished artifacts and all, elsewhere."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True, symlinks=True)
        return Site(folder)


def new(folder):
    """A site whose one published study has four cells, nothing made yet."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, folder / name)
    config = YAML_FILE.load(REPOSITORY / "config.yaml")
    for section, keys in SMALL.items():
        config["setup"][section].update(keys)
    config["studies"] = {"scale": {"axes": {"seed": [7, 8], "std": [0.1, 1.0]}}}
    config["published"] = config["claims"] = ["scale"]
    YAML_FILE.dump(config, folder / "config.yaml")
    stages = YAML_FILE.load(folder / "dvc.yaml")
    stages["plots"] = [
        {"scale": {"x": "update", "y": {"results/scale/summary/loss_curves.csv": ["std~0.1", "std~1.0"]}}}
    ]
    YAML_FILE.dump(stages, folder / "dvc.yaml")
    site = Site(folder)
    site("git", "init", "--quiet")
    site("dvc", "init", "--quiet")
    site("dvc", "remote", "add", "--quiet", "--default", "shared", folder.parent / "remote")
    site("git", "add", ".")
    site("git", "commit", "--quiet", "--message", "a site")
    return site


def finished(folder):
    """A site whose study was made by `dvc repro` from nothing, pushed and committed."""
    site = new(folder)
    site.repro()
    assert site.jobs == dict.fromkeys(STAGES, 1)
    site("dvc", "push", "--quiet")
    site("git", "add", ".")
    site("git", "commit", "--quiet", "--message", "results")
    return site
