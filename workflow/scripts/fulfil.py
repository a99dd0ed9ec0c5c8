"""Complete the stack of one work order into the store."""

import logging

from initscope import orders

logging.basicConfig(
    level=logging.INFO,
    format=f"{snakemake.rule} {snakemake.wildcards.stack}: %(message)s",
    handlers=[logging.FileHandler(snakemake.log[0], mode="w"), logging.StreamHandler()],
)
orders.fulfil(snakemake.input.order)
