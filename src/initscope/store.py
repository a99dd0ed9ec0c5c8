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
FORMAT = 1  # of the records; a later initscope that writes others counts on


def held():
    """The digests of all artifacts in the store."""
    return {name for name in os.listdir(ROOT) if len(name) == 32} if ROOT.exists() else set()


def read(key, name):
    """The bytes of one file of an artifact. SystemExit with one line where they are not those that were stored."""
    data, found = (ROOT / key / name).read_bytes(), record(ROOT / key / "record.json")
    if found is None or [len(data), sha256(data)] != found["files"].get(name):
        raise SystemExit(f"{ROOT / key / name}: damaged; `snakemake --cores all --config verify=1` makes it again")
    return data


def complete(stack, make):
    """Make what the store lacks of a stack ({digest: spec}); each artifact enters the store as it is finished."""
    for key, files in make(stack, read):
        put(stack[key], files)


def put(spec, files):
    """Take the files ({name: bytes}) of a finished artifact in, with a record of their sizes and hashes."""
    record = {
        "format": FORMAT,
        "spec": spec,
        "files": {name: [len(data), sha256(data)] for name, data in files.items()},
    }
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
        try:
            new.rename(ROOT / key)
        except OSError:  # another job was first, with the same bytes; to ask before renaming would be too early
            if not (ROOT / key).exists():
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def record(path):
    """The record at a path; None where there is none that can be read. SystemExit for one of a newer initscope."""
    try:
        found = json.loads(Path(path).read_bytes())
        newer = found["format"] > FORMAT
        if not newer and not (found["spec"]["stage"] and found["files"]):
            return None
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if newer:
        raise SystemExit(f"{path}: written by a newer initscope (format {found['format']}); update, or move it away")
    return found


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


def size():
    """(artifacts, bytes) that the store holds, set-aside files included."""
    found = [Path(folder) / name for folder, _, names in os.walk(ROOT) for name in names]
    return len(held()), sum(path.stat().st_size for path in found)


def empty():
    """Remove everything but the lock. What results/ shows is taken in again by the next run."""
    for path in ROOT.iterdir():
        if path.is_dir():
            shutil.rmtree(path)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def copy(source, target):
    """A copy that appears whole."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    new = f"{target}.{os.getpid()}.tmp"
    try:
        shutil.copyfile(source, new)
        os.replace(new, target)
    finally:
        Path(new).unlink(missing_ok=True)


@contextmanager
def in_one_line():
    """A disk that is full, a folder that may not be written, a file where a folder belongs: SystemExit, one line."""
    try:
        yield
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        raise SystemExit(f"{named}{error.strerror or error}. Nothing is lost; mend that and run again.") from None
