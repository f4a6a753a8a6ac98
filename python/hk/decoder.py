"""Sequences over the paged caches of an imported decoder: prefill, then a token at a time.

For checks and demonstrations: every sequence owns its blocks from the start, in an order
that is not that of memory. Needs NumPy.
"""

import typing

from .errors import InvalidArgument
from .module import Function


class Decoder:
    """`function` has the paged signature (docs/models.md); room for `sequences` of at most
    `length` tokens."""

    def __init__(self, function: Function, sequences: int, length: int):
        import numpy as np

        self._np, self.function, self.length = np, function, length
        states = [a for a in function.inputs if a.role == "state"]
        if not states or {"ids", "slots", "block_table", "logits_at"} - {
                a.name for a in function.inputs}:
            raise InvalidArgument(f"function '{function.name}' has no paged signature: "
                                  + ", ".join(a.name for a in function.inputs))
        paged = {a.name for a in states if a.name.startswith(("keys_", "values_"))}
        self.block = next((a.shape[1] for a in states if a.name in paged), 16)
        per = -(-length // self.block)
        blocks = np.random.default_rng(0).permutation(sequences * per).astype(np.int32)
        self.table = blocks.reshape(sequences, per)
        self.lengths = np.zeros(sequences, np.int32)
        # Pages of keys and values, or a line of a recurrent layer for each sequence.
        self.caches = {a.name: function.device.zeros(
            (sequences * per if a.name in paged else sequences, *a.shape[1:]), a.dtype)
            for a in states}
        self.lines = {"lines": np.arange(sequences, dtype=np.int32)[::-1].copy()} if any(
            a.name == "lines" for a in function.inputs) else {}
        self._step: typing.Any = None

    def reset(self) -> None:
        """Forgets every sequence's tokens; the caches' memory stays, for the next prompts."""
        self.lengths[:] = 0

    def _inputs(self, counts: typing.Any) -> dict:
        """Positions and slots of the next counts[b] tokens of every sequence."""
        np = self._np
        if (self.lengths + counts > self.length).any():
            raise InvalidArgument(f"a sequence would have {int((self.lengths + counts).max())} "
                                  f"tokens; there is room for {self.length}")
        positions = np.concatenate([np.arange(n, n + c) for n, c in
                                    zip(self.lengths, counts, strict=True)]).astype(np.int32)
        owner = np.repeat(np.arange(len(counts)), counts)
        slots = self.table[owner, positions // self.block] * self.block + positions % self.block
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return {"positions": positions, "slots": slots.astype(np.int32), "q_offsets": offsets,
                "kv_lens": (self.lengths + counts).astype(np.int32), "block_table": self.table,
                **self.lines}

    def _known(self, ids: typing.Any) -> typing.Any:
        """The ids as i32. A row that an embedding does not have is zeros, which gives logits of
        nothing, so ids that the model does not know are errors."""
        words = self.function.outputs[0].shape[-1]
        strange = ids[(ids < 0) | (ids >= words)]
        if strange.size:
            raise InvalidArgument(f"id {int(strange[0])} is none of the model's {words} tokens; is "
                                  "the tokenizer another model's?")
        return ids.astype(self._np.int32)

    def prefill(self, prompts: typing.Sequence, every: bool = False) -> typing.Any:
        """Appends tokens to every sequence; the logits behind the last one of each, or of all."""
        np = self._np
        counts = np.array([len(p) for p in prompts], np.int32)
        if len(counts) != len(self.lengths) or not counts.all():
            raise InvalidArgument(f"expected {len(self.lengths)} prompts of at least one token, "
                                  f"got prompts of {counts.tolist()} tokens")
        inputs = self._inputs(counts)
        ids = self._known(np.concatenate(prompts))
        rows = np.arange(len(ids)) if every else inputs["q_offsets"][1:] - 1
        result = self.function(ids=ids, logits_at=rows.astype(np.int32), **inputs, **self.caches)
        self.lengths += counts
        return result[0].numpy()

    def step(self, tokens: typing.Any) -> typing.Any:
        """Appends one token to every sequence; the logits behind it. The array is reused."""
        np = self._np
        inputs = self._inputs(np.ones(len(self.lengths), np.int32))
        inputs["ids"] = self._known(np.asarray(tokens))
        if self._step is None:
            self._held = {n: v.copy() for n, v in inputs.items()}
            self._held["logits_at"] = np.arange(len(self.lengths), dtype=np.int32)
            self._step = self.function.bind(**self._held, **self.caches)
        for name, value in inputs.items():
            self._held[name][...] = value
        self.lengths += 1
        return self._step()[0].numpy()
