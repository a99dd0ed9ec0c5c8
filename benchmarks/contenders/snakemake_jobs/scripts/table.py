"""The losses of all cells as one table."""

import pandas as pd

pd.concat(map(pd.read_csv, snakemake.input)).to_csv(snakemake.output[0], index=False)
