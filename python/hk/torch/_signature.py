"""What an imported function looks like from outside, and how its attention is written.

Paged (decoders), one function for prefill and decode:
    ids [T], positions [T], slots [T], block_table [B, n], q_offsets [B + 1], kv_lens [B],
    logits_at [N] (all i32), keys_i, values_i [blocks, block, Hk, D] (states)
    -> logits [N, V] in f32
    Latent attention has keys_i [blocks, block, 1, rank + rope] and no values_i.
    Recurrent layers add lines [B] (i32), each sequence's line of the states conv_i
    [lines, W - 1, C] and state_i [lines, HV, K, V] (f32); a sequence whose tokens are all in
    the call starts from 0, whatever its line holds.
Dense (encoders): ids [B, S], kv_lens [B] (i32) -> hidden [B, S, H] in f32, or what a head makes
    of it: logits [B, S, C] or [B, C], start_logits and end_logits [B, S]
"""

import contextlib
import inspect
import typing

import torch

from ..errors import UnsupportedModel
from ._aten import Result
from ._builder import Builder, Value
from ._mlir import tensor_type
from ._recurrent import State
from ._substitution import Substitution


class Argument(typing.NamedTuple):
    """An argument of the function; `stored` has "?" where a size is dynamic."""

    name: str
    stored: tuple
    element: str
    state: bool = False

    @property
    def type(self) -> str:
        return tensor_type(self.stored, self.element)


def _columns(b: Builder, cache: Value, count: int) -> Value:
    """The first columns of a cache, as a view."""
    blocks = b.writer.emit("dim", "blocks", x=cache.ssa, index=b.index(0), tx=cache.type)
    return b.value("slice", (*cache.stored[:-1], count), cache.element, x=cache.ssa, tx=cache.type,
                   offsets="0, 0, 0, 0", strides="1, 1, 1, 1",
                   sizes=", ".join(map(str, (blocks, *cache.stored[1:-1], count))))


def _started(b: Builder, offsets: Value, lens: Value) -> Value:
    """Which sequences have tokens of earlier calls, i1 [B]: more keys than queries."""
    kept, b.hint = b.hint, "started"
    size = b.writer.emit("dim", "sequences", x=lens.ssa, index=b.index(0), tx=lens.type)
    first, last = (b.value("slice", ("?",), "i32", x=offsets.ssa, tx=offsets.type, offsets=at,
                           sizes=size, strides="1") for at in ("0", "1"))
    count = b.value("binary", ("?",), "i32", op="sub", x=last.ssa, tx=last.type, y=first.ssa,
                    ty=first.type)
    made = b.value("compare", ("?",), "i1", predicate="gt", x=lens.ssa, tx=lens.type, y=count.ssa,
                   ty=count.type)
    b.hint = kept
    return made


@contextlib.contextmanager
def _rows_of_head(model: torch.nn.Module, rows: torch.Tensor) -> typing.Iterator[None]:
    """The head of a model that has no logits_to_keep computes these rows only."""
    hook = model.get_output_embeddings().register_forward_pre_hook(lambda _, x: (x[0][:, rows],))
    try:
        yield
    finally:
        hook.remove()


class Paged:
    """Ragged tokens of several sequences over paged caches."""

    dense = False
    function = "forward"
    results = ("logits",)
    exported = ("ids", "positions", "q_offsets", "logits_at")

    def __init__(self, block: int):
        self.block = block
        self.first = 0  # What the model calls the position of a sequence's first token.
        self._started: Value | None = None  # Of one graph.

    def examples(self, vocabulary: int, model: torch.nn.Module) -> tuple:
        """Arguments that the model is exported with, and their dynamic dims."""
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(0, vocabulary, (7,), generator=generator, dtype=torch.int32)
        positions = torch.tensor([0, 1, 2, 0, 1, 2, 3], dtype=torch.int32)
        dim = torch.export.Dim
        # Of 3 and more: the differences of neighbours, of which some models have a product, are
        # at least two then.
        tokens = dim("tokens", min=3, max=1 << 24)
        return ((ids, positions, torch.tensor([0, 3, 7], dtype=torch.int32),
                 torch.arange(5, dtype=torch.int32)),
                ({0: tokens}, {0: tokens}, {0: dim("bounds", min=2, max=1 << 20)},
                 {0: dim("rows", min=2, max=1 << 24)}))

    @staticmethod
    def limited(dynamic: tuple, most: int) -> tuple:
        """The dims of `examples` with fewer tokens than this."""
        tokens = torch.export.Dim("tokens", min=3, max=most - 1)
        return ({0: tokens}, {0: tokens}, *dynamic[2:])

    def call(self, model: torch.nn.Module, s: Substitution, ids: torch.Tensor,
             positions: torch.Tensor, q_offsets: torch.Tensor, logits_at: torch.Tensor
             ) -> torch.Tensor:
        """Runs the model on ragged tokens."""
        s.extents = q_offsets
        taken = inspect.signature(model.forward).parameters
        own = positions[None] + self.first if self.first else positions[None]
        options = {"position_ids": own, "use_cache": False, "logits_to_keep": logits_at}
        given = {n: v for n, v in options.items() if n in taken}
        kept = (contextlib.nullcontext() if "logits_to_keep" in given
                else _rows_of_head(model, logits_at))
        with kept:
            return model(input_ids=ids[None], **given).logits[0].float()

    def arguments(self, layers: list[tuple], element: str, recurrent: list[State]
                  ) -> list[Argument]:
        """The function's arguments, caches and states behind."""
        i32 = [("ids", ("?",)), ("positions", ("?",)), ("slots", ("?",)),
               ("block_table", ("?", "?")), ("q_offsets", ("?",)), ("kv_lens", ("?",)),
               ("logits_at", ("?",))]
        made = [Argument(name, stored, "i32") for name, stored in i32]
        if recurrent:
            made.append(Argument("lines", ("?",), "i32"))
        for kind in ("keys", "values"):
            for i, (heads, dk, dv) in enumerate(layers):
                width = dk if kind == "keys" else dv
                if width:  # Latent values are columns of the keys.
                    stored = ("?", self.block, heads, width)
                    made.append(Argument(f"{kind}_{i}", stored, element, True))
        return made + [Argument(s.name, ("?", *s.shape), s.element or element, True)
                       for s in recurrent]

    def recurrent(self, b: Builder, arguments: dict[str, Value], state: Value
                  ) -> list[tuple[str, Value]]:
        """Operands that say which tokens are whose, and where a sequence's state lies."""
        if self._started is None:
            self._started = _started(b, arguments["q_offsets"], arguments["kv_lens"])
        return [("offsets", arguments["q_offsets"]), ("state", state),
                ("indices", arguments["lines"]), ("has_initial", self._started)]

    def attention(self, b: Builder, arguments: dict[str, Value], result: Result, q: Value,
                  k: Value, v: Value, layer: int) -> tuple:
        """Writes keys and values; returns q, k, v and the operands of hk.attention."""
        latent = f"values_{layer}" not in arguments
        rows = [b.permuted(b.unrepeated(x), (2, 1, 3)) for x in ((q, k) if latent else (q, k, v))]
        rows = [b.reshaped(x, (x.shape[2], x.shape[1], x.shape[3])) for x in rows]
        caches = []
        for kind, x in zip(("keys", "values"), rows[1:], strict=False):
            cache = arguments[f"{kind}_{layer}"]
            if cache.ssa != f"%{kind}_{layer}":  # An earlier layer has written the same.
                caches.append(cache)
                continue
            slots = arguments["slots"]
            written = b.value("kv_cache_write", cache.stored, cache.element, x=x.ssa, tx=x.type,
                              slots=slots.ssa, tslots=slots.type, cache=cache.ssa)
            arguments[f"{kind}_{layer}"] = written
            caches.append(written)
        if latent:
            caches.append(_columns(b, caches[0], v.shape[3]))
        return rows[0], *caches, ["q_offsets", "kv_lens", "block_table"]

    def attended(self, b: Builder, result: Result, made: Value) -> Value:
        """The stored result [T, H, D] as the model's [1, T, H, D]."""
        return made._replace(shape=result.shape, dims=(None, 0, 1, 2))


# What models return that is a result, and how it is called; logits are of tokens or, with one dim
# less, of sequences.
HEADS = {"last_hidden_state": "hidden", "logits": "logits", "start_logits": "start_logits",
         "end_logits": "end_logits"}


class Dense:
    """Whole sequences side by side, padded behind; `kv_lens` says how long each is."""

    dense = True
    function = "forward"
    exported = ("ids", "kv_lens")

    def __init__(self) -> None:
        self.results: tuple[str, ...] = ()  # Known when the model has run.
        self.masked = False  # Whether more than attention asks which tokens there are.

    def look(self, model: torch.nn.Module, s: Substitution, ids: torch.Tensor) -> None:
        """Two runs that differ in the mask alone, which attention does not read: pooling may."""
        if "attention_mask" not in inspect.signature(model.forward).parameters:
            return
        lens = torch.tensor([ids.shape[1] - 2], dtype=torch.int32)
        made = []
        for self.masked in (False, True):
            s.begin()
            made.append(self.call(model, s, ids, lens))
        self.masked = not all(
            torch.equal(self.rows(name, a[0], int(lens)), self.rows(name, b[0], int(lens)))
            for name, a, b in zip(self.results, *made, strict=True))

    def examples(self, vocabulary: int, model: torch.nn.Module) -> tuple:
        generator = torch.Generator().manual_seed(0)
        ids = torch.randint(0, vocabulary, (2, 5), generator=generator, dtype=torch.int32)
        dim = torch.export.Dim
        most = getattr(model.config.get_text_config(), "max_position_embeddings", 1 << 20)
        batch = dim("sequences", min=2, max=1 << 20)
        return ((ids, torch.tensor([5, 3], dtype=torch.int32)),
                ({0: batch, 1: dim("length", min=3, max=most)}, {0: batch}))

    @staticmethod
    def limited(dynamic: tuple, most: int) -> tuple:
        """The dims of `examples` with shorter sequences than this."""
        return ({**dynamic[0], 1: torch.export.Dim("length", min=3, max=most - 1)}, *dynamic[1:])

    def call(self, model: torch.nn.Module, s: Substitution, ids: torch.Tensor,
             kv_lens: torch.Tensor) -> tuple[torch.Tensor, ...]:
        s.extents = kv_lens
        given = {"attention_mask": (torch.arange(ids.shape[1]) < kv_lens[:, None]).long()
                 } if self.masked else {}
        made = self.heads(model(input_ids=ids, **given))
        if not made:
            raise UnsupportedModel(f"{type(model).__name__} returns none of {', '.join(HEADS)}; "
                                   "import the base model (AutoModel)")
        self.results = tuple(made)
        return tuple(t.float() for t in made.values())

    @staticmethod
    def heads(out: typing.Any) -> dict[str, torch.Tensor]:
        """The results that a model's output has, by our name."""
        return {ours: out[name] for name, ours in HEADS.items() if out.get(name) is not None}

    @staticmethod
    def rows(name: str, of_one: torch.Tensor, length: int) -> torch.Tensor:
        """A result of one sequence as [tokens or 1, columns], without padding."""
        if name in ("start_logits", "end_logits"):
            return of_one[:length, None]
        return of_one[:length] if of_one.dim() == 2 else of_one[None]

    def arguments(self, layers: list[tuple], element: str, recurrent: list[State]
                  ) -> list[Argument]:
        return [Argument("ids", ("?", "?"), "i32"), Argument("kv_lens", ("?",), "i32")]

    def attention(self, b: Builder, arguments: dict[str, Value], result: Result, q: Value,
                  k: Value, v: Value, layer: int) -> tuple:
        rows = [b.permuted(b.unrepeated(x), (0, 2, 1, 3)) for x in (q, k, v)]
        rows = [b.reshaped(x, tuple(x.shape[d] for d in (0, 2, 1, 3))) for x in rows]
        return (*rows, ["kv_lens"])

    def attended(self, b: Builder, result: Result, made: Value) -> Value:
        return made._replace(shape=result.shape)
