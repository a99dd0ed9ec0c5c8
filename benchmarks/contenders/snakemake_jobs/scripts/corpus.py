"""The tokens of both parts of the corpus."""

import numpy as np

from initscope.corpora import markov

tokens, _ = markov.examples(snakemake.config["setup"]["corpus"])
np.savez(snakemake.output[0], **tokens)
