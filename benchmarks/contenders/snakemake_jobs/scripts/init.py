"""The initial weights of a cell."""

import numpy as np

from initscope.init import weights

setup = snakemake.config["setup"]
setup["init"] |= {"seed": int(snakemake.wildcards.seed), "std": float(snakemake.wildcards.std)}
np.savez(snakemake.output[0], **weights(setup))
