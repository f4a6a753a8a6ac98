"""What is timed at the sizes of a model, from benchmarks/amd/timed.mlir, and with what beside it.

`peer`: the operation of peers.py and its sizes, or None where no other library has it.
`flops` and `bytes` are those of the definition, for rates. Sizes are such that drawing the inputs on the
host takes seconds: random ones, as a chip with constant data draws less power and runs faster.
"""

import typing

SOURCE = "benchmarks/amd/timed.mlir"
BF16, F32 = 2, 4


class Case(typing.NamedTuple):
    name: str
    function: str
    options: tuple
    peer: tuple
    flops: int
    bytes: int


def matmul(m, n, k):
    return Case(f"matmul_{m}_{n}_{k}", f"matmul_{m}_{n}_{k}", (), ("matmul", m, n, k), 2 * m * n * k,
                BF16 * (m * k + n * k + m * n))


def rows(function, count, width, values, size):
    """`values`: how many a row reads and writes."""
    return Case(f"{function}_{count}", function, (f"--dim=x.0={count}",), (function, count, width), 0,
                count * values * size)


def attention(name, batch, queries, keys, causal):
    heads, groups, width = 32, 8, 128
    seen = queries * keys // 2 if causal else queries * keys
    return Case(name, name, (), ("attention", batch, queries, keys, causal), 4 * batch * heads * seen * width,
                BF16 * batch * width * (2 * heads * queries + 2 * groups * keys))


CASES = [
    rows("rms_norm", 16, 4096, 2 * 4096, BF16), rows("rms_norm", 4096, 4096, 2 * 4096, BF16),
    rows("silu_and_mul", 16, 14336, 3 * 14336, BF16), rows("silu_and_mul", 2048, 14336, 3 * 14336, BF16),
    rows("softmax", 4096, 4096, 2 * 4096, F32),
    matmul(1, 4096, 4096), matmul(16, 28672, 4096), matmul(4096, 4096, 4096), matmul(8192, 8192, 8192),
    attention("attention_4096", 1, 4096, 4096, True), attention("decode_64_1024", 64, 1, 1024, False),
]
