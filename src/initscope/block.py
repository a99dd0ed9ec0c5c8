"""The tensors of a stack in one block of memory: what is done to all entries alike is then one operation."""

ALIGNED = 16  # float32 values, 64 bytes: where a tensor begins may decide how fast a product is, and natively its bits


class Block:
    """`values` (cells, entries) and `tensors`, its parts by name: {name: a view (cells, *shape)}.

    Zeros, unless filled; every tensor takes a whole multiple of ALIGNED entries.
    """

    def __init__(self, like):
        """like: {name: (cells, *shape)}"""
        some = next(iter(like.values()))
        sizes = [value.shape[1:].numel() for value in like.values()]
        widths = [-(-size // ALIGNED) * ALIGNED for size in sizes]
        self.values = some.new_zeros(len(some), sum(widths))
        parts = zip(like.items(), sizes, self.values.split(widths, 1))
        self.tensors = {name: part[:, :size].unflatten(1, value.shape[1:]) for (name, value), size, part in parts}

    def fill(self, tensors):
        for name, value in tensors.items():
            self.tensors[name].copy_(value)
        return self
