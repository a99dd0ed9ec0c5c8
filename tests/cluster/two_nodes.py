"""A real Slurm of two nodes on this machine, for tests: its files in one folder, its services on loopback.

No systemd, no cgroups; a munge key of its own. The services are children of this process, so that it stops what it
started and nothing else; should it be killed, they end with it.
"""

import fcntl
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from sites import SETTINGS

NODES = ("n1", "n2")
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
# processes are found by their parents; neither CPUs nor memory are enforced, and the nodes claim what they like
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
{accounting}
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
KillWait=2
ReturnToService=1
GresTypes=gpu
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=1-00:00:00 DefaultTime=30 State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 RealMemory=16000 Gres=gpu:1"


MUNGE = {"key-file": "/key", "seed-file": "/seed", "socket": ".socket", "pid-file": ".pid", "log-file": ".log"}
SECONDS = 1200  # that a service lives at most


class Slurm:
    """Two nodes of one CPU and one pretended GPU each. `environment` is the way in for commands."""

    packages = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
    accounting = "AccountingStorageType=accounting_storage/none"

    @classmethod
    def install(cls):
        """Debian's packages, where their commands are missing; one process at a time, as apt-get does not wait."""
        with (Path(tempfile.gettempdir()) / "initscope-apt.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            missing = [package for command, package in cls.packages.items() if not shutil.which(command)]
            for command in (["update"], ["install", "-y", "--no-install-recommends", *missing]) if missing else ():
                environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
                subprocess.run(["apt-get", *command], env=environment, check=True, timeout=300, capture_output=True)

    def __init__(self, folder):
        self.folder, self.services = Path(folder), []
        self.environment = {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{self.folder}/bin{os.pathsep}{SETTINGS['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "",  # every job starts Snakemake three times
        }
        for name in ("state", "bin", "munge", *NODES):
            (self.folder / name).mkdir()
        self.secret()
        self.configuration()
        self.srun()

    def secret(self):
        (self.folder / "munge").chmod(0o700)
        key = self.folder / "munge/key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)

    def configuration(self):
        host, ports = socket.gethostname().partition(".")[0], free_ports(1 + len(NODES))
        nodes = [NODE.format(name=name, host=host, port=port) for name, port in zip(NODES, ports[1:])]
        conf = CONF.format(
            folder=self.folder, host=host, port=ports[0], accounting=self.accounting, nodes="\n".join(nodes)
        )
        (self.folder / "slurm.conf").write_text(conf)
        # slurmd wants a device for a GPU, and does nothing with it
        (self.folder / "gres.conf").write_text("".join(f"NodeName={name} Name=gpu File=/dev/null\n" for name in NODES))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")

    def srun(self):
        """One that knows this cluster: the plugin's job step drops SLURM_CONF before it calls srun."""
        srun = self.folder / "bin/srun"
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {shutil.which("srun")} "$@"\n')
        srun.chmod(0o755)

    def __call__(self, *command):
        """Run one of Slurm's commands; what it says."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=os.environ | self.environment)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def start(self):
        munge = [f"--{option}={self.folder}/munge{end}" for option, end in MUNGE.items()]
        self.service("munged", "--foreground", "--force", *munge)
        until(lambda: (self.folder / "munge.socket").exists(), "munged")
        self.storage()
        self.service("slurmctld", "-D")
        for name in NODES:
            self.service("slurmd", "-D", "-N", name)
        until(lambda: self("sinfo", "--noheader", "--states=idle", "--format=%D") == str(len(NODES)), "every node")

    def storage(self):
        """What must run before the controller."""

    def service(self, *command):
        with (self.folder / f"{command[0]}{command[-1][-2:]}.out").open("w") as out:
            bounded = ["setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=10", str(SECONDS), *command]
            environment = os.environ | self.environment
            service = subprocess.Popen(bounded, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
        self.services.append(service)

    def stop(self):
        """Cancel what is queued, then end the services, munged last."""
        with suppress(AssertionError, subprocess.TimeoutExpired):
            self("scancel", "--user", getpass.getuser())
            until(lambda: not self.jobs(), "the end of all jobs")
        for service in reversed(self.services):
            service.terminate()
            service.wait(timeout=30)

    def jobs(self, state="pending,running,completing"):
        """[{id, rule, state, node, memory, time}] of the jobs in a state: in any of these, unless told otherwise."""
        lines = self("squeue", "--noheader", "--sort=i", f"--states={state}", "--format=%i|%k|%T|%N|%m|%l").splitlines()
        found = [dict(zip(("id", "rule", "state", "node", "memory", "time"), line.split("|"))) for line in lines]
        return [{**job, "rule": job["rule"].removeprefix("rule_").partition("_")[0]} for job in found]


def free_ports(count):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in taken]
    for server in taken:
        server.close()
    return ports


def until(holds, what, seconds=60):
    """Wait until something holds, and return it. AssertionError where it does not come."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.3)
    return found
