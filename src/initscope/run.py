"""One call of Snakemake's main process: what was asked for, what of it is missing, its orders, and the view."""

import fcntl
import os
import shutil
import sys
from uuid import uuid4

from initscope import orders, records, targets, view, why
from initscope.store import ROOT, in_one_line


class Run:
    """Plans once; a real run (not `dry`) also locks the directory and brings results/ up to the plan.

    cores: jobs that run at once on this machine, and share the work. SystemExit with one line where a target names
    nothing, the config is wrong, or another run is at work.
    """

    def __init__(self, config, asked, dry=False, verify=False, cores=1):
        self.config, self.dry, self.cores = config, dry, cores
        self.plan = records.plan(config, self.studies(asked))
        self.places = targets.places(self.plan)
        needed = targets.needed(targets.chosen(asked, self.plan, config), self.plan)
        with in_one_line():
            self.begin(needed, verify)

    def begin(self, needed, verify):
        """Write the orders for what is needed and missing; in a real run after the view is right."""
        self.lock = None if self.dry else locked()
        if not self.dry:
            shutil.rmtree(orders.WORK, ignore_errors=True)
        if verify and not self.dry:
            view.verify(self.plan)
        missing = view.missing(self.plan)
        for line in why.stale(missing):
            print(line, file=sys.stderr)
        run = "" if self.dry else uuid4().hex
        self.done = orders.write([a for a in missing if a.digest in needed], run, self.cores)
        self.show()

    def studies(self, asked):
        """What is asked for, what is published, and what results/ holds already: all that the view must keep right."""
        present = [name for name in [*self.config.studies, "claims"] if os.path.isdir(f"{view.RESULTS}/{name}")]
        return dict.fromkeys([*self.config.published, *present, *targets.studies(asked, self.config)])

    def show(self):
        """Bring results/ up to the plan, and say what came and what left."""
        if self.dry:
            return
        made = {key for key, done in self.done.items() if os.path.exists(done)}
        with in_one_line():
            came, left = view.show(self.plan, made)
        if came or left:
            print(f"results/: {came} artifacts came from the store, {left} files left for it", file=sys.stderr)

    def orders(self, target):
        """The orders that a target waits for."""
        waits = targets.chosen([target], self.plan, self.config)
        return list(dict.fromkeys(self.done[a.digest] for a in waits if a.digest in self.done))

    def figures(self, target):
        """The SVG figures of a target."""
        drawn = targets.chosen([target], self.plan, self.config)
        return [place for a in drawn for name, place in a.places.items() if name.endswith(".svg")]

    def stored(self, place):
        """Where the store holds, or will hold, a file of results/."""
        artifact = self.places[place]
        name = next(name for name, path in artifact.places.items() if path == place)
        return str(ROOT / artifact.digest / name)


def locked():
    """A file descriptor, locked until this process ends, however it ends: no lock is left behind by a kill."""
    ROOT.mkdir(exist_ok=True)
    file = os.open(ROOT / "lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except BlockingIOError:
        raise SystemExit("Another run is at work in this directory; wait for it to end.") from None
