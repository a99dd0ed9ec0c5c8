"""What every source writes beside its examples."""

import json
import math

from initscope.tensors import pack


def written(stack, examples):
    """The files of every corpus of a stack.

    examples: corpus section -> ({name: array}, about). `about` has at least entropy_rate (nats per target; null where
    none is known), x_zero_loss (the loss at which x = 0) and unigram_entropy (the loss that biases alone reach: x = 1).
    """
    for digest, spec in stack.items():
        corpus = spec["settings"]["corpus"]
        arrays, about = examples(corpus)
        source = {
            "source": corpus["source"],
            "vocabulary": corpus["vocabulary"],
            "ln_vocabulary": math.log(corpus["vocabulary"]),
            **about,
        }
        text = (json.dumps(source, indent=1) + "\n").encode()
        yield digest, {"examples.safetensors": pack(arrays, digest=digest), "source.json": text}


def entropy(p):
    """H = -sum p ln p, in nats."""
    return -math.fsum(x * math.log(x) for x in p if x > 0)


def shares(counts):
    """Counts -> relative frequencies."""
    total = sum(counts)
    return [count / total for count in counts]
