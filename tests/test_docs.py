"""What the documents say is what the code does."""

import re
import shutil

import pytest
from helpers import PUBLISHED, REPOSITORY
from ruamel.yaml import YAML

from initscope import config
from initscope.reference import reference
from initscope.setup import Setup, variants
from initscope.targets import GROUPS

TEXTS = ["README.md", "config.yaml", *(str(p.relative_to(REPOSITORY)) for p in (REPOSITORY / "docs").glob("*.md"))]


def text(name):
    return (REPOSITORY / name).read_text()


def test_the_reference_is_up_to_date():
    assert text("docs/reference.md") == reference(), "run `make docs`"


def test_the_reference_has_every_key_and_scheme():
    for name in Setup.model_fields:
        assert f"### `{name}`" in reference()
        for section in variants(name):
            assert all(f"| `{key}` |" in reference() for key in section.model_fields)


CODE = [str(p.relative_to(REPOSITORY)) for p in (REPOSITORY / "src").rglob("*.py")]
PRAISE = r"\b(best|optimal|ideal|perfect)\b[^.\n]{0,40}\b(std|scale|standard deviation|initiali[sz]ation)\b"


@pytest.mark.parametrize("name", TEXTS + CODE)
def test_no_std_is_praised(name):
    """The source: 'Do not describe one successful standard deviation as universally optimal.'"""
    found = text(name).lower()
    turned = r"\b(std|standard deviation)\b[^.\n]{0,20}\bis (the )?(best|optimal|ideal|perfect)\b"
    assert not re.search(PRAISE, found) and not re.search(turned, found)


def test_the_configs_comments_name_the_sources_settings():
    source = {line.split(":")[0].strip() for line in text("config.yaml").splitlines() if re.search(r"# source\b", line)}
    assert source == {"vocabulary", "norm", "dropout", "scheme", "std", "seed"}


def test_ci_runs_what_the_readme_tells_users():
    for command in ("make run", "make test"):
        assert command in text("README.md") and f"\n{command}\n" in text(".ci/run")


def test_the_readme_names_only_targets_that_exist():
    named = {"claims", "norms", *PUBLISHED.studies}
    for target in re.findall(r"snakemake --cores \S+ (\w+)\s", text("README.md")):
        study, _, stage = target.partition("_")
        assert target in named or (study in named and stage in GROUPS)


def test_dvc_plots_name_the_columns_of_the_published_studies():
    stages = YAML(typ="safe").load(REPOSITORY / "dvc.yaml")
    plots = {name: plot for entry in stages["plots"] if isinstance(entry, dict) for name, plot in entry.items()}
    for study in PUBLISHED.published:
        (columns,) = plots[study]["y"].values()
        assert columns == [f"std~{std!r}" for std in PUBLISHED.study(study).axes.get("std", [])] or columns == ["cell"]


def test_the_readmes_studies_are_accepted(tmp_path, monkeypatch):
    """Every study that the README shows, as it stands there; `data/mine.txt` is the user's own text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    shutil.copy(REPOSITORY / "data" / "sonnets.txt", tmp_path / "data" / "mine.txt")
    shown = {}
    for block in re.findall(r"```yaml\n(.*?)```", text("README.md"), re.DOTALL):
        shown |= YAML(typ="safe").load(block if block.startswith("studies:") else "studies:\n" + block)["studies"]
    assert set(shown) == {"norms", "mine", "deep"}
    studies = config.Config("README.md", PUBLISHED.setup, shown, list(shown), [])
    assert all(studies.study(name).cells for name in shown)
