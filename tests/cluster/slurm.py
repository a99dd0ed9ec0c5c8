"""A real Slurm of two nodes on this machine, for tests: its files in one folder, its services on loopback.

No systemd, no cgroups, no accounting database; a munge key of its own. It stops what it started and nothing else.
"""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PACKAGES = {"munged": "munge", "slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client"}
NODES = ("n1", "n2")
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
# processes are found by their parents; neither CPUs nor memory are enforced, and the nodes claim what they like
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
KillWait=2
ReturnToService=2
GresTypes=gpu
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=1-00:00:00 DefaultTime=30 State=UP
"""
NODE = "NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=16000 Gres=gpu:1"


class Slurm:
    """Two nodes of `cpus` CPUs and one pretended GPU each. `environment` is the way in for commands."""

    def __init__(self, folder, cpus=2):
        self.folder = Path(folder)
        self.environment = {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}",
        }
        self.configure(cpus)

    def configure(self, cpus):
        for name in ("state", "bin", "munge", *NODES):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "munge").chmod(0o700)
        key = self.folder / "munge/key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        host, ports = socket.gethostname().partition(".")[0], free_ports(1 + len(NODES))
        nodes = [NODE.format(name=name, host=host, port=port, cpus=cpus) for name, port in zip(NODES, ports[1:])]
        conf = CONF.format(folder=self.folder, host=host, ports=ports, nodes="\n".join(nodes))
        (self.folder / "slurm.conf").write_text(conf)
        # slurmd wants a device for a GPU; nothing is done with it
        (self.folder / "gres.conf").write_text("".join(f"NodeName={name} Name=gpu File=/dev/null\n" for name in NODES))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        # The plugin's job step drops SLURM_CONF before it calls srun, which then looks in /etc.
        srun = self.folder / "bin/srun"
        srun.write_text(f"#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec {shutil.which('srun')} \"$@\"\n")
        srun.chmod(0o755)

    def __call__(self, *command):
        """Run one of Slurm's commands; what it says."""
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=60, env={**os.environ, **self.environment}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def start(self):
        munge = [f"--{key}={self.folder}/munge{end}" for key, end in MUNGE.items()]
        self.daemon("munged", "--force", *munge)
        self.daemon("slurmctld", "-f", self.folder / "slurm.conf")
        for name in NODES:
            self.daemon("slurmd", "-f", self.folder / "slurm.conf", "-N", name)
        self("srun", "--quiet", f"--nodes={len(NODES)}", "--mem=1", "true")

    def daemon(self, *command):
        with (self.folder / "daemons.log").open("a") as log:
            run = [str(part) for part in command]
            environment = {**os.environ, **self.environment}
            subprocess.run(run, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=True, timeout=60, env=environment)

    def stop(self):
        for daemon in (*(f"slurmd-{name}" for name in NODES), "slurmctld", "munge"):
            end(self.folder / f"{daemon}.pid")


MUNGE = {"key-file": "/key", "seed-file": "/seed", "socket": ".socket", "pid-file": ".pid", "log-file": ".log"}


def install():
    """Debian's packages, where their commands are missing."""
    missing = [package for command, package in PACKAGES.items() if not shutil.which(command)]
    if missing:
        quiet = {"check": True, "timeout": 300, "capture_output": True}
        subprocess.run(["apt-get", "update"], **quiet)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], env=environment, **quiet)


def free_ports(count):
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in taken]
    for server in taken:
        server.close()
    return ports


def end(pid_file):
    """SIGTERM, then SIGKILL, to the daemon of a pid file, if that process still is what the file is named for."""
    pid, name = int(pid_file.read_text()), pid_file.stem.partition("-")[0]
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if running(pid, name):
            os.kill(pid, sign)
        for _ in range(100):
            if not running(pid, name):
                return
            time.sleep(0.1)


def running(pid, name):
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return status.startswith(f"Name:\t{name}") and "\nState:\tZ" not in status
