"""Finished artifacts: one read-only folder each, named by the digest of its spec, there complete or not at all."""

import hashlib
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from initscope.records import canonical, digest

ROOT = Path(".store")


def held():
    """The digests of all artifacts in the store."""
    return {name for name in os.listdir(ROOT) if len(name) == 32} if ROOT.exists() else set()


def read(key, name):
    """The bytes of one file of an artifact."""
    return (ROOT / key / name).read_bytes()


def complete(stack, make):
    """Make what the store lacks of a stack ({digest: spec}); each artifact enters the store as it is finished."""
    for key, files in make(stack, read):
        put(stack[key], files)


def put(spec, files):
    """Take the files ({name: bytes}) of a finished artifact in, with a record of their sizes and hashes."""
    record = {"spec": spec, "files": {name: [len(data), sha256(data)] for name, data in files.items()}}
    with new_folder(digest(spec)) as new:
        for name, data in {**files, "record.json": canonical(record).encode() + b"\n"}.items():
            (new / name).write_bytes(data)
            (new / name).chmod(0o444)


@contextmanager
def new_folder(key):
    """A temporary folder, renamed to ROOT/key at the end: a kill leaves the whole or nothing."""
    ROOT.mkdir(exist_ok=True)
    new = Path(tempfile.mkdtemp(prefix="tmp-", dir=ROOT))
    try:
        yield new
        new.chmod(0o755)
        if not (ROOT / key).exists():  # else another job was first, with the same bytes
            new.rename(ROOT / key)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def record(path):
    """The record at a path; None where there is none that can be read."""
    try:
        found = json.loads(Path(path).read_bytes())
        return found if found["spec"]["stage"] and found["files"] else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def intact(places, verify=False):
    """Do an artifact's files have the size (with verify, the bytes) that its record says?"""
    found = record(places["record.json"])
    try:
        return found is not None and all(
            os.stat(places[name]).st_size == size and (not verify or sha256(Path(places[name]).read_bytes()) == sha)
            for name, (size, sha) in found["files"].items()
        )
    except (OSError, KeyError):
        return False


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def copy(source, target):
    """A copy that appears whole."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    new = f"{target}.{os.getpid()}.tmp"
    shutil.copyfile(source, new)
    os.replace(new, target)
