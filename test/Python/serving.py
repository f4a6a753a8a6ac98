"""Requests that come and go over one function with the paged signature, as a server calls it.

Each call has some tokens of some requests: parts of prompts beside single tokens, rows of the batch
that have none this time or belong to nobody, tokens of padding behind them all (slot -1). Blocks and
lines of a request that has ended go to others with what is left in them, and at first every element
of the caches is NaN: whatever is read without having been written shows.
"""

import dataclasses
import typing

import numpy as np


@dataclasses.dataclass
class Request:
    """A sequence, how many of its tokens were computed, and the logits that were asked for."""

    ids: np.ndarray
    line: int
    blocks: list = dataclasses.field(default_factory=list)
    done: int = 0
    logits: dict = dataclasses.field(default_factory=dict)


class Server:
    """`rows` requests at a time, of at most `longest` tokens, over `blocks` blocks."""

    def __init__(self, function: typing.Any, words: int, rows: int, blocks: int, longest: int):
        self.function, self.words, self.longest = function, words, longest
        self.random = np.random.default_rng(8)
        states = [a for a in function.inputs if a.role == "state"]
        paged = {a.name for a in states if a.name.startswith(("keys_", "values_"))}
        self.block = next((a.shape[1] for a in states if a.name in paged), 16)
        self.caches = {a.name: function.device.zeros(
            (blocks if a.name in paged else rows + 1, *a.shape[1:]), a.dtype) for a in states}
        for cache in self.caches.values():
            cache.numpy()[...] = np.nan
        self.names = {a.name for a in function.inputs} - self.caches.keys()
        self.free = list(self.random.permutation(blocks))
        self.lines = list(self.random.permutation(rows + 1))
        self.batch: list[Request | None] = [None] * rows
        self.ended: list[Request] = []

    def _admit(self, i: int) -> None:
        if self.batch[i] is None and self.random.random() < 0.7:
            length = int(self.random.integers(1, self.longest + 1))
            self.batch[i] = Request(self.random.integers(0, self.words, length), self.lines.pop())

    def _count(self, request: Request) -> int:
        """Tokens of a request in this call, which have blocks behind this."""
        count = min(int(self.random.choice([0, 1, 1, 5, 16, 99])), len(request.ids) - request.done)
        short = -(-(request.done + count) // self.block) - len(request.blocks)
        if short > len(self.free):
            return 0
        for _ in range(short):
            request.blocks.append(self.free.pop(self.random.integers(len(self.free))))
        return count

    def step(self) -> None:
        """One call."""
        for i in range(len(self.batch)):
            self._admit(i)
        counts = [0 if r is None else self._count(r) for r in self.batch]
        tokens = [(r, r.done + t) for r, n in zip(self.batch, counts, strict=True)
                  for t in range(n)]
        padding = [-1] * int(self.random.integers(0, 3))
        table = np.full((len(self.batch), -(-self.longest // self.block) + 1), -1, np.int32)
        for i, r in enumerate(self.batch):
            table[i, :len(r.blocks) if r else 0] = r.blocks if r else []
        asked = self.random.permutation(len(tokens))[:int(self.random.integers(len(tokens) + 1))]
        inputs = {
            "ids": [r.ids[t] for r, t in tokens] + [0] * len(padding),
            "positions": [t for _, t in tokens] + [0] * len(padding), "block_table": table,
            "slots": [r.blocks[t // self.block] * self.block + t % self.block
                      for r, t in tokens] + padding,
            "q_offsets": np.cumsum([0, *counts]), "logits_at": asked,
            "kv_lens": [r.done + n if r else 0 for r, n in zip(self.batch, counts, strict=True)],
            "lines": [r.line if r else -1 for r in self.batch]}
        result = self.function(**{n: np.array(v, np.int32) for n, v in inputs.items()
                                  if n in self.names}, **self.caches)
        for row, at in zip(result.logits.numpy(), asked, strict=True):
            request, t = tokens[at]
            request.logits[t] = row.copy()
        for i, (r, n) in enumerate(zip(self.batch, counts, strict=True)):
            if r is not None:
                r.done += n
                self._end(i, r)

    def _end(self, i: int, request: Request) -> None:
        if request.done == len(request.ids):
            self.ended.append(request)
            self.free += request.blocks
            self.lines.insert(0, request.line)
            self.batch[i] = None


def largest_difference(function: typing.Any, model: typing.Any, longest: int, calls: int = 30
                       ) -> float:
    """Of logits of requests from those of the model, which runs each one alone, in parts of the
    largest."""
    import torch

    server = Server(function, function.outputs[0].shape[-1], 4, 3 * -(-longest // 4), longest)
    for _ in range(calls):
        server.step()
    apart, largest, rows = 0.0, 0.0, 0
    for request in server.ended:
        with torch.no_grad():
            expected = model(input_ids=torch.from_numpy(request.ids)[None]).logits[0].numpy()
        largest = max(largest, float(np.abs(expected).max()))
        for t, row in request.logits.items():
            off = np.nan_to_num(np.abs(row - expected[t]), nan=np.inf)
            apart, rows = max(apart, float(off.max())), rows + 1
    assert len(server.ended) > 8 and rows > 50
    return apart / largest
