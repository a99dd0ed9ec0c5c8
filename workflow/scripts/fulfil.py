"""Complete the stack of one work order into the store."""

import logging

from initscope import orders, store

logging.basicConfig(
    level=logging.INFO,
    format=f"{snakemake.rule} {snakemake.wildcards.stack}: %(message)s",
    handlers=[logging.FileHandler(snakemake.log[0], mode="w"), logging.StreamHandler()],
)
with store.in_one_line():
    orders.fulfil(snakemake.input.order)
