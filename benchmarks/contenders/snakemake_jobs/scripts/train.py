"""The training of a cell."""

from pathlib import Path

import numpy as np
from eager import save, train

weights, tokens = np.load(snakemake.input.weights), np.load(snakemake.input.corpus)
rows = train(snakemake.config["setup"], weights, tokens)
save(Path(snakemake.output[0]), rows, **snakemake.wildcards)
