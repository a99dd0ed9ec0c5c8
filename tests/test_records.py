"""Specs and digests: what makes an artifact another one, and what does not."""

import shutil
import subprocess
import sys

import pytest
from helpers import PUBLISHED, study

from initscope import records


def plan(**over):
    return records.of_study(study({"seed": [7, 8], "std": [0.1, 1.0]}, **over))


def changed(one, other):
    """The stages whose digests differ between two plans of the same cells."""
    return {a.stage for a, b in zip(one, other) if a.digest != b.digest}


@pytest.mark.parametrize(
    ("over", "stages"),
    [
        ({"training": {"learning_rate": 0.01}}, {"train", "summary", "figures"}),
        ({"outcome": {"learned_below": 0.2}}, {"summary", "figures"}),
        ({"batches": {"seed": 14}}, {"audit", "train", "summary", "figures"}),
        ({"corpus": {"seed": 12}}, {"corpus", "audit", "train", "summary", "figures"}),
        ({"model": {"norm": "rmsnorm"}}, {"init", "audit", "train", "summary", "figures"}),
        ({"compute": {"determinism": "native"}}, {"audit", "train", "summary", "figures"}),
        ({"compute": {"stack": 1}}, set()),
    ],
)
def test_a_setting_changes_the_stages_that_it_reaches(over, stages):
    assert changed(plan(), plan(**over)) == stages


@pytest.mark.parametrize(
    ("over", "stages"),
    [
        ({"training": {"learning_rate": 0.01}}, {"zone", "brackets", "figures"}),
        ({"outcome": {"learned_below": 0.2}}, {"zone", "brackets", "figures"}),
        ({"zone": {"apart": 1.2}}, {"zone", "brackets", "figures"}),
        ({"corpus": {"seed": 12}}, {"corpus", "zone", "brackets", "figures"}),
        ({"compute": {"stack": 1}}, set()),
    ],
)
def test_a_setting_changes_the_stages_of_a_zone_that_it_reaches(over, stages):
    assert changed(plan(stages=["zone"]), plan(stages=["zone"], **over)) == stages


@pytest.mark.parametrize(
    ("does", "stages"),
    [
        (["audit"], ["corpus", "init", "audit", "summary", "figures"]),
        (["zone"], ["corpus", "zone", "brackets", "figures"]),
        (["sweep"], ["corpus", "sweep", "summary"]),
        (["train", "cascade"], ["corpus", "init", "train", "summary", "cascade", "figures"]),
    ],
)
def test_the_stages_of_a_study(does, stages):
    assert list(dict.fromkeys(a.stage for a in plan(stages=does, training={"updates": 60}))) == stages


def test_studies_share_what_is_equal():
    made = records.plan(PUBLISHED, ["frozen", "scale"])
    frozen = {a.stage: a.digest for a in made if a.cell.study == "frozen"}
    scale = {a.digest for a in made if a.cell.study == "scale"}
    assert {stage for stage in frozen if frozen[stage] in scale} == {"corpus", "init"}


def test_the_studys_name_is_not_in_the_specs():
    assert all("test" not in records.canonical({k: v for k, v in a.spec.items() if k != "upstream"}) for a in plan())


def test_axes_are_in_the_specs_of_tables_only():
    axes = {a.stage: a.spec["axes"] for a in plan()}
    assert axes["corpus"] == axes["init"] == {}
    assert axes["audit"] == axes["train"] == {"seed": 8, "std": 1.0}
    assert axes["summary"] == {"seed": [7, 8], "std": [0.1, 1.0]}


def test_digests_do_not_depend_on_the_hash_seed():
    # C3 of the public cases: params in set or hash order rerun finished jobs
    program = (
        "from initscope import config, records;"
        "print([a.digest for a in records.plan(config.load('config.yaml'), ['frozen', 'scale'])])"
    )
    run = [sys.executable, "-c", program]
    found = {
        subprocess.run(
            run, capture_output=True, text=True, check=True, env={"PYTHONPATH": "src", "PYTHONHASHSEED": seed}
        ).stdout
        for seed in "123"
    }
    assert len(found) == 1


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """The stages whose code changes by an edit of a module: in a copy of the package, where it is undone again."""
    copy = tmp_path_factory.mktemp("package") / "initscope"
    with pytest.MonkeyPatch.context() as patch:
        shutil.copytree(records.PACKAGE, copy)
        patch.setattr(records, "PACKAGE", copy)
        before = code()

        def edit(module, change):
            path = copy / module
            text = path.read_text()
            path.write_text(change(text))
            after = code()
            path.write_text(text)
            return {name for name in after if after[name]["code"] != before[name]["code"]}

        yield edit
    records.code.cache_clear()


def code():
    """{stage: code and libraries}, of the Markov corpus where the source decides.

    Without the claims, which may draw on any module that holds no torch.
    """
    records.code.cache_clear()
    stages = {name: stage for name, stage in records.STAGES.items() if name != "verdicts"}
    return {name: records.code(stage.module.format(source="markov")) for name, stage in stages.items()}


@pytest.mark.parametrize("module", ["training.py", "tables.py", "models/transformer.py"])
def test_comments_docstrings_and_formatting_are_no_change(edited, module):
    noise = lambda text: f'"""Another docstring."""\n\n\n# a comment\n{text}\n\n# the end\n'
    assert edited(module, noise) == set()


@pytest.mark.parametrize(
    ("module", "stages"),
    [
        ("training.py", {"train", "sweep", "zone"}),
        ("audit.py", {"audit"}),
        ("theory/loss.py", {"audit"}),
        ("search.py", {"zone"}),
        ("sweep.py", {"sweep"}),
        ("verdicts.py", {"zone", "summary", "cascade"}),
        ("zones.py", {"zone", "brackets", "cascade"}),
        ("intervals.py", {"brackets", "cascade"}),
        ("brackets.py", {"brackets", "cascade"}),
        ("cascade.py", {"cascade"}),
        ("claims/claim.py", set()),
        ("schemes.py", {"init", "audit", "sweep", "zone"}),
        ("batches.py", {"audit", "train", "sweep", "zone"}),
        ("models/transformer.py", {"audit", "train", "sweep", "zone"}),
        ("models/layout.py", {"init", "audit", "train", "sweep", "zone"}),
        ("compute.py", {"audit", "train", "sweep", "zone"}),
        ("corpora/markov.py", {"corpus"}),
        ("corpora/digits.py", set()),
        ("models/mlp.py", {"audit", "train", "sweep", "zone"}),
        ("optimizers.py", {"train", "sweep", "zone"}),
        ("distributions.py", {"init", "audit", "sweep", "zone"}),
        ("streams.py", {"corpus", "init", "audit", "train", "sweep", "zone"}),
        ("tensors.py", {"corpus", "init", "audit", "train", "sweep", "zone"}),
        ("tables.py", {"audit", "train", "sweep", "zone", "summary", "brackets", "cascade", "figures"}),
        ("spelling.py", {"summary", "brackets", "cascade", "figures"}),
        ("figures/standard.py", {"figures"}),
        ("store.py", set()),
        ("view.py", set()),
        ("orders.py", set()),
        ("config.py", set()),
        ("records.py", set()),
    ],
)
def test_an_edit_is_a_change_of_the_stages_that_import_the_module(edited, module, stages):
    assert edited(module, lambda text: text + "\nEDITED = 1\n") == stages


def test_the_libraries_that_decide_bytes():
    libraries = {name: set(made["libraries"]) for name, made in code().items()}
    assert libraries["init"] == libraries["corpus"] == {"numpy", "safetensors"}
    trained = {"numpy", "safetensors", "pyarrow", "torch"}
    assert libraries["train"] == libraries["sweep"] == libraries["zone"] == trained
    assert libraries["audit"] == trained | {"scipy"}
    assert libraries["brackets"] == libraries["cascade"] == {"pyarrow", "scipy"}
    assert "torch" not in libraries["summary"] | libraries["figures"] | set(records.code("claims.make")["libraries"])
    assert {"matplotlib", "seaborn"} <= libraries["figures"]


def test_nan_never_reaches_a_spec():
    with pytest.raises(ValueError):
        records.canonical({"std": float("nan")})
