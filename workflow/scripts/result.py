"""Show one file of the store under results/."""

from initscope import store

store.copy(snakemake.params.stored, snakemake.output[0])
