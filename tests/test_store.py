"""Store, view and orders on a disk, with artifacts that cost nothing."""

import json
import os
import platform
import shutil
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest
from helpers import refused, study

from initscope import orders, records, store, view

RECORD = "results/test/weights/initial/seed~7/std~0.1"


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """The initial weights of four cells, planned in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return init_only([0.1, 1.0])


def init_only(stds):
    return [a for a in records.of_study(study({"seed": [7, 8], "std": stds})) if a.stage == "init"]


def make(stack, read):
    for key, spec in stack.items():
        yield key, {"weights.safetensors": f"weights of {spec['settings']['init']}".encode()}


def complete(plan):
    store.complete({a.digest: a.spec for a in view.missing(plan)}, make)


def shown():
    return {path: Path(path).read_bytes() for path in view.files("results")}


def test_artifacts_are_stored_whole_and_shown(plan):
    complete(plan)
    assert view.show(plan) == (4, 0)
    assert Path("results/test/weights/initial/seed~7/std~0.1.safetensors").read_bytes().startswith(b"weights of")
    assert Path("results/test/weights/initial/seed~7/_std~0.1.json").exists()
    assert view.show(plan) == (0, 0)
    assert view.missing(plan) == []


def test_stored_files_are_read_only(plan):
    complete(plan)
    assert {p.stat().st_mode & 0o777 for p in (store.ROOT / plan[0].digest).iterdir()} == {0o444}


def test_a_kill_in_the_middle_leaves_nothing(plan):
    def dies(stack, read):
        yield from list(make(stack, read))[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.complete({a.digest: a.spec for a in plan}, dies)
    assert len(store.held()) == 2 and len(view.missing(plan)) == 2
    with pytest.raises(ZeroDivisionError), store.new_folder("0" * 32) as new:
        (new / "half").write_text("half")
        raise ZeroDivisionError
    assert "0" * 32 not in store.held() and not list(store.ROOT.glob("tmp-*"))


def test_two_jobs_for_one_artifact_cannot_mix(plan):
    complete(plan)
    before = store.read(plan[0].digest, "weights.safetensors")
    store.put(plan[0].spec, {"weights.safetensors": b"from the second job"})
    assert store.read(plan[0].digest, "weights.safetensors") == before


def test_a_job_that_is_overtaken_as_it_finishes_gives_way(plan, monkeypatch):
    """Two jobs at one artifact, on two nodes: the first enters just as the second is about to."""
    rename = Path.rename

    def overtaken(new, target):
        monkeypatch.setattr(Path, "rename", rename)
        store.put(plan[0].spec, {"weights.safetensors": b"first"})
        return new.rename(target)

    monkeypatch.setattr(Path, "rename", overtaken)
    store.put(plan[0].spec, {"weights.safetensors": b"second"})
    assert store.read(plan[0].digest, "weights.safetensors") == b"first"
    assert not list(store.ROOT.glob("tmp-*"))


def test_what_jobs_say_is_done_is_shown_though_the_listing_is_older(plan, monkeypatch):
    """A network file system may list a folder as it was a minute ago."""
    complete(plan)
    monkeypatch.setattr(view, "held", set)
    assert view.show(plan) == (0, 0)
    assert view.show(plan, {plan[0].digest}) == (1, 0)


def test_a_deleted_file_comes_back(plan):
    complete(plan)
    view.show(plan)
    before = shown()
    os.remove(f"{RECORD}.safetensors")
    assert view.show(plan) == (1, 0)
    assert shown() == before


def flip(path):
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[::-1])


def inside(artifact):
    return store.ROOT / artifact.digest / "weights.safetensors"


@pytest.mark.parametrize(("shown_too", "made_again"), [(False, 0), (True, 1)])
def test_flipped_bytes_are_found_by_verify(plan, shown_too, made_again):
    """A damaged copy gives way to the sound one; where both are damaged, the artifact is made again."""
    complete(plan)
    view.show(plan)
    before = shown()
    flip(inside(plan[0]))
    flip(Path("results/test/weights/initial/seed~8/std~1.0.safetensors"))
    if shown_too:
        flip(Path(f"{RECORD}.safetensors"))
    view.verify(plan)
    assert len(view.missing(plan)) == made_again
    complete(plan)
    view.show(plan)
    assert shown() == before
    assert inside(plan[0]).read_bytes() == before[f"{RECORD}.safetensors"]


UNKNOWN = b'{"format": 1, "spec": {"stage": "other"}, "files": {"x": [1, "y"]}}'


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", UNKNOWN])
def test_a_damaged_record_counts_as_none(plan, content):
    complete(plan)
    view.show(plan)
    before = shown()
    shutil.rmtree(store.ROOT)
    record = Path("results/test/weights/initial/seed~7/_std~0.1.json")
    record.write_bytes(content)
    assert len(view.missing(plan)) == 1
    complete(plan)
    view.show(plan)
    assert shown() == before


def test_a_record_of_a_newer_version_is_refused_in_one_line(plan):
    complete(plan)
    view.show(plan)
    shutil.rmtree(store.ROOT)
    record = Path("results/test/weights/initial/seed~7/_std~0.1.json")
    newer = json.loads(record.read_bytes()) | {"format": 2, "spec": "of another kind"}
    record.write_text(json.dumps(newer))
    before = shown()
    with pytest.raises(SystemExit, match=r"_std~0.1.json: written by a newer initscope \(format 2\)"):
        view.missing(plan)
    assert shown() == before


def test_damage_in_the_store_is_reported_not_read(plan):
    complete(plan)
    flip(inside(plan[0]))
    with pytest.raises(SystemExit, match="damaged; `snakemake"):
        store.read(plan[0].digest, "weights.safetensors")


def test_results_without_a_store_are_adopted(plan):
    """A clone after `dvc pull`."""
    complete(plan)
    view.show(plan)
    shutil.rmtree(store.ROOT)
    for path in view.files("results"):
        os.utime(path, (0, hash(path) % 10**9))  # times say nothing
    assert view.missing(plan) == []
    assert view.show(plan) == (0, 0)


def test_truncated_results_are_not_adopted(plan):
    complete(plan)
    view.show(plan)
    shutil.rmtree(store.ROOT)
    path = Path(f"{RECORD}.safetensors")
    path.write_bytes(path.read_bytes()[:-1])
    assert len(view.missing(plan)) == 1


def test_what_the_config_no_longer_names_leaves_and_returns(plan):
    complete(plan)
    view.show(plan)
    before = shown()
    assert view.show(init_only([0.1])) == (0, 4)  # two cells, a file and a record each
    assert not list(Path("results").rglob("std~1.0*"))
    assert view.missing(plan) == []
    view.show(plan)
    assert shown() == before


def test_what_a_user_put_into_results_is_set_aside_not_deleted(plan):
    complete(plan)
    view.show(plan)
    Path("results/test/notes.txt").write_text("mine")
    assert view.show(plan) == (0, 1)
    assert (store.ROOT / "aside/results/test/notes.txt").read_text() == "mine"


def test_orders_hold_what_is_missing_once(plan):
    done = orders.write(plan + plan)
    assert set(done) == {a.digest for a in plan}
    (path,) = Path("work").rglob("*.json")
    assert [records.digest(spec) for spec in orders.read(path)["specs"]] == [a.digest for a in plan]
    assert set(done.values()) == {str(path.with_suffix(".done"))}


def test_jobs_are_even_and_their_stacks_of_one_shape(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = study({"norm": ["none", "layernorm"], "seed": [1, 2, 3, 4, 5]}, compute={"stack": 4})
    jobs = list(orders.jobs(records.of_study(cells)))
    train = [job for stage, job in jobs if stage == "train"]
    assert [len(job) for job in train] == [3, 3, 4]
    for job in train:
        stacks = orders.stacks({a.digest: a.spec for a in job})
        assert sum(len(stack) for stack in stacks) == len(job)
        assert all(len({spec["settings"]["model"]["norm"] for spec in stack.values()}) == 1 for stack in stacks)
    order = [stage for stage, _ in jobs]
    assert order == sorted(order, key=list(records.STAGES).index)


@pytest.mark.parametrize(
    ("cells", "stack", "cores", "sizes"),
    [
        (20, 100, 1, [20]),
        (20, 100, 2, [10, 10]),
        (20, 100, 8, [10, 10]),  # fewer than eight cells are no job of their own
        (7, 100, 8, [7]),
        (20, 5, 2, [5, 5, 5, 5]),
        (20, 1, 2, [1] * 20),
    ],
)
def test_there_are_jobs_for_all_cores(cells, stack, cores, sizes):
    plan = records.of_study(study({"seed": list(range(cells))}, compute={"stack": stack}))
    assert [len(job) for stage, job in orders.jobs(plan, cores) if stage == "train"] == sizes
    assert [len(job) for stage, job in orders.jobs(plan, cores) if stage in ("corpus", "summary")] == [1, 1]


def test_optimizers_and_learning_rates_share_a_stack():
    cells = study({"optimizer": ["adam", "sgd"], "learning_rate": [0.1, 0.01]})
    specs = {a.digest: a.spec for a in records.of_study(cells) if a.stage == "train"}
    assert len(orders.stacks(specs)) == 1


def test_an_order_waits_for_those_that_make_its_upstream(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = records.of_study(study({"seed": [1, 2]}))
    done = orders.write(plan)
    train = next(a for a in plan if a.stage == "train")
    after = orders.read(Path(done[train.digest]).with_suffix(".json"))["after"]
    assert after == sorted({done[a.digest] for a in plan if a.stage in ("corpus", "init")})


def test_fulfilling_a_fulfilled_order_imports_nothing(plan, monkeypatch):
    complete(plan)
    path = Path(next(iter(orders.write(plan).values()))).with_suffix(".json")
    monkeypatch.setattr(orders, "import_module", lambda name: pytest.fail(f"{name} was imported"))
    orders.fulfil(path)


def test_orders_of_two_runs_share_no_file(plan):
    """Else a job that outlived its main process would touch, and when it fails delete, a later run's `.done`."""
    first, second = (set(orders.write(plan, run).values()) for run in "ab")
    assert len(first) == len(second) == 1 and not first & second


def test_a_job_whose_order_is_gone_ends_in_one_line():
    assert "work/init/scale-1.json is gone" in refused(lambda: orders.read("work/init/scale-1.json"))


@pytest.mark.parametrize(
    ("part", "planned", "said"),
    [
        ("code", "another", "its code changed"),
        ("libraries", {"numpy": "1.0", "safetensors": version("safetensors")}, "numpy changed: 1.0 -> "),
        ("machine", "riscv64", "made on riscv64"),
    ],
)
def test_a_job_on_a_node_that_is_not_as_planned_makes_nothing(plan, part, planned, said):
    """Its record would tell of what was not done."""
    elsewhere = [replace(artifact, spec={**artifact.spec, part: planned}) for artifact in plan]
    path = Path(next(iter(orders.write(elsewhere).values()))).with_suffix(".json")
    line = refused(lambda: orders.fulfil(path))
    assert said in line and platform.node() in line and not store.held()
