"""The two nodes with an accounting database: MariaDB, slurmdbd before it, and one account, `lab`."""

import socket
from contextlib import suppress

from two_nodes import Slurm, free_ports, until

DATABASE = """
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=root
"""
ACCOUNTING = """
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort={port}
# the key to talk to slurmdbd with is munge's
AccountingStoragePass={folder}/munge.socket
AccountingStorageEnforce=associations
"""


class Accounted(Slurm):
    packages = Slurm.packages | {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server-core"}

    def configuration(self):
        self.port, self.storage_port = free_ports(2)
        self.accounting = ACCOUNTING.format(folder=self.folder, port=self.port)
        super().configuration()
        conf = self.folder / "slurmdbd.conf"
        conf.write_text(DATABASE.format(folder=self.folder, port=self.port, storage=self.storage_port))
        conf.chmod(0o600)

    def storage(self):
        data = self.folder / "data"
        data.mkdir()
        where = [f"--datadir={data}", f"--socket={data}/socket", f"--port={self.storage_port}"]
        lone = ["--bind-address=127.0.0.1", "--skip-grant-tables", "--user=root"]
        self.service("mariadbd", "--no-defaults", *where, *lone)
        until(lambda: listens(self.storage_port), "the database")
        self.service("slurmdbd", "-D")
        until(lambda: listens(self.port), "slurmdbd")

    def start(self):
        super().start()
        until(lambda: "test" in self("sacctmgr", "--noheader", "list", "cluster"), "the cluster in its database")
        self("sacctmgr", "--immediate", "add", "account", "lab")
        self("sacctmgr", "--immediate", "add", "user", "root", "account=lab")

    def accounted(self):
        """[(job's account, state)] as the database has them."""
        lines = self("sacct", "--allusers", "--allocations", "--noheader", "--parsable2", "--format=Account,State")
        return [tuple(line.split("|")) for line in lines.splitlines()]


def listens(port):
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False
