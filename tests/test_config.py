import copy
from itertools import product

import pytest
from helpers import PUBLISHED, REPOSITORY, study
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from initscope import config

TEXT = (REPOSITORY / "config.yaml").read_text()
BARE = TEXT.partition("\nstudies:")[0] + "\nstudies: {frozen: {}}\npublished: [frozen]\nclaims: [frozen]\n"
STDS = "std: [0.001, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0, 3.0]"


@pytest.fixture
def edited(tmp_path):
    """Write the published config with one piece of its text replaced."""

    def write(old, new):
        assert old in TEXT
        path = tmp_path / "config.yaml"
        path.write_text(TEXT.replace(old, new, 1))
        return path

    return write


def plan(path):
    found = config.load(path)
    return [found.study(name) for name in found.studies]


def test_the_published_studies():
    assert [len(PUBLISHED.study(name).cells) for name in ("frozen", "scale")] == [1, 72]
    assert PUBLISHED.published == ["frozen", "scale"]
    cell = PUBLISHED.study("scale").cells[5]
    assert (cell.path, cell.setup.init.std, cell.setup.init.seed) == ("seed~7/std~0.1", 0.1, 7)
    assert PUBLISHED.study("frozen").cells[0].path == "cell"


def test_the_frozen_setup_is_the_sources():
    # shared by all cells; the source: seed 7, std 0.1, zero biases (schemes.CONSTANTS), no dropout, eight entries
    setup = PUBLISHED.study("frozen").cells[0].setup
    assert (setup.init.seed, setup.init.std, setup.init.scheme) == (7, 0.1, "normal")
    assert (setup.model.dropout, setup.model.norm, setup.corpus.vocabulary) == (0, "layernorm", 8)


# what is replaced, by what, and what the one line must say: key, value and mend
FAULTS = [
    ("    std: 0.1 ", "    sdt: 0.1 ", ["setup.init.sdt is not a key", "'std'"]),
    ("    eps: 1.0e-8\n", "", ["setup.training.eps is missing", "second moment"]),
    ("    std: 0.1 ", "    std: 0.1\n    std: 0.2 ", ["line", "'std' is written twice", "keep one"]),
    ("    std: 0.1 ", "    std: big ", ["setup.init.std", "'big'", "number"]),
    ("    std: 0.1 ", "    std: true ", ["setup.init.std", "True", "number"]),
    ("    std: 0.1 ", "    std: -0.1 ", ["setup.init.std", "-0.1", "greater than 0"]),
    ("    std: 0.1 ", "    std: .nan ", ["setup.init.std", "nan", "finite"]),
    ("    std: 0.1 ", "    std: .inf ", ["setup.init.std", "inf", "finite"]),
    ("width: 24", "width: 24.5", ["setup.model.width", "24.5", "integer"]),
    ("width: 24", "width: wide", ["setup.model.width", "'wide'", "integer"]),
    ("heads: 3", "heads: 5", ["setup.model.heads", "5", "divide the width 24"]),
    ("dropout: 0.0", "dropout: 0.1", ["setup.model.dropout", "0.1", "only 0"]),
    ("layers: 2", "layers: 0", ["setup.model.layers", "0", "greater than or equal to 1"]),
    ("scheme: normal", "scheme: norml", ["setup.init.scheme", "'norml'", "'normal'"]),
    ("activation: gelu", "activation: swish", ["setup.model.activation", "'swish'", "'gelu'"]),
    ("norm: layernorm", "norm: layer_norm", ["setup.model.norm", "'layer_norm'", "'layernorm'"]),
    ("vocabulary: 8", "vocabulary: 1", ["setup.corpus.vocabulary", "1", "greater than or equal to 2"]),
    ("context: 16", "context: 17", ["setup.model.context", "17", "at most 16"]),
    ("size: 16 ", "size: 2000 ", ["setup.batches.size", "2000", "1024 training examples"]),
    (STDS, "std: []", ["studies.scale.axes.std", "[]", "at least one value"]),
    (STDS, "std: 0.1", ["studies.scale.axes.std", "0.1", "list"]),
    (STDS, "std: [0.1, 1.0, 1e-1]", ["studies.scale.axes.std", "twice"]),
    (STDS, "std: [0.1, -1.0]", ["studies.scale.axes.std", "-1.0", "greater than 0"]),
    (STDS, "sdt: [0.1]", ["studies.scale.axes", "'sdt' is no axis", "'std'"]),
    ("frozen: {}", "frozen: {init: {sdt: 1}}", ["studies.frozen.init.sdt is not a key", "'std'"]),
    ("frozen: {}", "frozen: {init: {std: -1}}", ["studies.frozen.init.std", "-1", "greater than 0"]),
    ("frozen: {}", "frozen: {initt: {std: 1}}", ["studies.frozen.initt is not a key", "'init'"]),
    ("frozen: {}", "frozen: 3", ["studies.frozen", "3", "{}"]),
    ("frozen: {}", "Frozen: {}", ["'Frozen'", "lower-case"]),
    ("published: [frozen, scale]", "published: [frozn]", ["published", "'frozn'", "'frozen'"]),
    ("published:", "publishd:", ["'publishd' is not a key", "'published'"]),
    ("published: [frozen, scale]", "", ["published is missing"]),
    ("\nclaims: [frozen, ", "\nclaims: [frozn, ", ["claims", "no study 'frozn'", "'frozen'"]),
    ("\nclaims:", "\nclaimz:", ["'claimz' is not a key", "'claims'"]),
    ("frozen: {}", "frozen: {stages: audit}", ["studies.frozen.stages", "'audit'", "list"]),
    ("frozen: {}", "frozen: {stages: [zoo]}", ["studies.frozen.stages", "'zoo'", "'zone'"]),
    ("frozen: {}", "frozen: {stages: [train, sweep]}", ["studies.frozen.stages", "['train', 'sweep']", "out"]),
    ("setup:", "setup: [", ["line", "not YAML"]),
    ("setup:", "\tsetup:", ["line", "not YAML"]),
]


@pytest.mark.parametrize(("old", "new", "said"), FAULTS)
def test_a_fault_is_one_line_that_names_key_value_and_mend(edited, old, new, said):
    with pytest.raises(SystemExit) as stop:
        plan(edited(old, new))
    line = str(stop.value)
    assert "\n" not in line
    assert line.startswith(str(edited(old, new)))
    for part in said:
        assert part in line, line


@pytest.mark.parametrize("content", ["- a\n- b\n", "just text\n", "", "3\n"])
def test_a_file_that_is_no_mapping(tmp_path, content):
    path = tmp_path / "config.yaml"
    path.write_text(content)
    with pytest.raises(SystemExit, match="not a config"):
        config.load(path)


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(SystemExit, match="No such file"):
        config.load(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\x80\x81")
    with pytest.raises(SystemExit, match="not YAML"):
        config.load(tmp_path / "binary.yaml")


def test_an_unknown_study():
    with pytest.raises(SystemExit, match="no study 'scal'; did you mean 'scale'"):
        PUBLISHED.study("scal")


@pytest.mark.parametrize("spelling", ["1e-3", "1E-3", "1.0e-3", "'1e-3'", "0.001"])
def test_every_spelling_of_a_number_is_that_number(edited, spelling):
    # D2 of the public cases: YAML 1.1 readers take 1e-3 for text
    setup = config.load(edited("    std: 0.1 ", f"    std: {spelling} ")).study("frozen").cells[0].setup
    assert setup.init.std == 0.001


@given(st.floats(1e-300, 1e300))
def test_a_std_comes_through_the_file_as_it_was_written(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("config") / "config.yaml"
    path.write_text(BARE.replace("    std: 0.1 ", f"    std: {value!r} ", 1))
    assert config.load(path).study("frozen").cells[0].setup.init.std == value


@given(
    st.dictionaries(
        st.sampled_from(["layers", "width", "mlp_width", "std", "learning_rate"]),
        st.lists(st.integers(1, 4), min_size=1, max_size=3, unique=True),
        max_size=3,
    )
)
def test_a_grid_is_the_product_of_its_axes(axes):
    found = study(axes, model={"heads": 1})
    assert len({cell.path for cell in found.cells}) == len(found.cells)
    assert {tuple(cell.axes.values()) for cell in found.cells} == set(product(*axes.values()))


def test_a_later_file_and_the_command_line_lie_over_the_first(tmp_path):
    (tmp_path / "mine.yaml").write_text("setup: {training: {updates: 7}}\n")
    found = config.load(REPOSITORY / "config.yaml", tmp_path / "mine.yaml", over={"setup": {"init": {"std": "1e-2"}}})
    setup = found.study("frozen").cells[0].setup
    assert (setup.training.updates, setup.init.std, setup.init.seed) == (7, 0.01, 7)


def test_reading_changes_nothing_in_what_was_read():
    before = copy.deepcopy(PUBLISHED.studies)
    PUBLISHED.study("scale")
    assert before == PUBLISHED.studies == YAML(typ="safe").load(REPOSITORY / "config.yaml")["studies"]
