"""Attention whose scores have a bias of content and distance (DeBERTa): products of queries with
keys of distances, and of keys with queries of distances, of which a score takes one number each.

The model gathers them into a matrix of all pairs. Here the method that does so gives the products
themselves, and 0 in place of the matrix; hk.attention reads them where it computes a score. Found
by its values: the method with random weights must give what the formula gives.
"""

import contextlib
import inspect
import sys
import typing

import torch

from . import _replaced

Tensor = torch.Tensor
METHODS = ("disentangled_attention_bias", "disentangled_att_bias")


class Tables(typing.NamedTuple):
    """What is added to the score of query i and key j: the numbers [.., i, c] of `queries` and
    [.., j, c] of `keys`, both [B, H, S, columns], with c of `columns`, i32 [2 m + 1], for the
    distances i - j of -m to m."""

    queries: Tensor | None
    keys: Tensor | None
    columns: Tensor


@torch.library.custom_op("hk::attention_by_distance", mutates_args=())
def attention_by_distance(q: Tensor, k: Tensor, v: Tensor, extents: Tensor, queries: Tensor | None,
                          keys: Tensor | None, columns: Tensor, scale: float, layer: int
                          ) -> Tensor:
    """Attention of padded sequences, [B, H, S, D] to [B, S, H, D], that see all of their keys, with
    the bias of Tables; `extents`, i32 [B], says how many keys exist."""
    scores = (q @ k.mT).float() * scale + bias(Tables(queries, keys, columns))
    beyond = torch.arange(k.shape[2]) >= extents[:, None]
    p = scores.masked_fill(beyond[:, None, None], float("-inf")).softmax(-1)
    return (p.to(v.dtype) @ v).transpose(1, 2).contiguous()


@attention_by_distance.register_fake
def _(q, k, v, extents, queries, keys, columns, scale, layer):
    return q.new_empty(q.shape[0], q.shape[2], q.shape[1], v.shape[3])


def bias(t: Tables) -> Tensor:
    """[B, H, S, S] in f32."""
    n = (t.keys if t.queries is None else t.queries).shape[2]
    most = len(t.columns) // 2
    apart = (torch.arange(n)[:, None] - torch.arange(n)[None]).clamp(-most, most)
    c = t.columns.long()[apart + most]
    made = torch.zeros(1)
    if t.queries is not None:
        made = made + t.queries.float().gather(-1, c.expand(*t.queries.shape[:3], n))
    if t.keys is not None:
        made = made + t.keys.float().gather(-1, c.mT.expand(*t.keys.shape[:3], n)).mT
    return made


def _heads(module: typing.Any, x: Tensor) -> Tensor:
    """[1, 2 span, H D] as [H, 2 span, D]."""
    return x.view(x.shape[1], module.num_attention_heads, -1).transpose(0, 1)


def _projections(module: typing.Any) -> tuple:
    """Of distances to keys and to queries, None where the bias has no such part; and whether
    queries come scaled."""
    named = [("pos_key_proj", "pos_query_proj"), ("pos_proj", "pos_q_proj")]
    if getattr(module, "share_att_key", False):
        named = [("key_proj", "query_proj")]
    found = [[getattr(module, n, None) for n in names] for names in named]
    keys, queries = next((f for f in found if any(f)), (None, None))
    return (keys if "c2p" in module.pos_att_type else None,
            queries if "p2c" in module.pos_att_type else None, hasattr(module, "in_proj"))


def tables(module: typing.Any, columns: Tensor, query: Tensor, key: Tensor, embeddings: Tensor,
           scale_factor: int) -> Tables:
    """Of queries and keys [B, H, S, D] or [B H, S, D], and embeddings of distances."""
    of_keys, of_queries, scaled = _projections(module)
    factor = (query.shape[-1] * scale_factor) ** -0.5
    n, width = query.shape[-2:]
    rows = embeddings[:2 * span(module)][None]

    def products(x: Tensor, projection: typing.Any, by: float) -> Tensor | None:
        """A product for each head, of the tokens of all sequences."""
        if projection is None:
            return None
        tokens = x.view(-1, module.num_attention_heads, n, width).transpose(0, 1)
        made = torch.bmm(tokens.reshape(module.num_attention_heads, -1, width),
                         (_heads(module, projection(rows)) * by).mT.to(x.dtype))
        return made.view(module.num_attention_heads, -1, n, made.shape[-1]).transpose(0, 1)

    return Tables(products(query, of_keys, 1.0 if scaled else factor),
                  products(key, of_queries, factor), columns)


def span(module: typing.Any) -> int:
    """The distances to either side that have embeddings of their own."""
    return getattr(module, "pos_ebd_size", module.max_relative_positions)


def _columns(module: typing.Any, context: int) -> Tensor:
    """Of distances of -context + 1 to context - 1, by the model's own function of them."""
    build = sys.modules[type(module).__module__].build_relative_position
    taken = inspect.signature(build).parameters
    given = {"bucket_size": getattr(module, "position_buckets", -1),
             "max_position": module.max_relative_positions}
    row = torch.empty(1, context, 1)
    apart = build(row, row, **{n: v for n, v in given.items() if n in taken})[0]
    of_distance = torch.cat((apart[0].flip(0), apart[1:, 0]))
    return (of_distance + span(module)).clamp(0, 2 * span(module) - 1).int()


class Distances:
    """The attentions of a model that have such a bias."""

    def __init__(self, model: torch.nn.Module, context: int):
        self.methods: dict[str, dict] = {name: {} for name in METHODS}
        self.next: Tables | None = None  # Of the attention that the model is computing.
        columns: Tensor | None = None  # One for all layers.
        for module in model.modules():
            name = next((n for n in METHODS if hasattr(module, n)), None)
            if name is None or not getattr(module, "relative_attention", False):
                continue
            own = _columns(module, context)
            columns = own if columns is None or not torch.equal(own, columns) else columns
            if _computes(module, name, columns):
                self.methods[name][module] = self._method(columns)

    def _method(self, columns: Tensor) -> typing.Callable:
        def method(module: typing.Any, query_layer: Tensor, key_layer: Tensor,
                   _relative_pos: Tensor, rel_embeddings: Tensor, scale_factor: int) -> int:
            self.next = tables(module, columns, query_layer, key_layer, rel_embeddings,
                               scale_factor)
            return 0
        return method

    def take(self) -> Tables | None:
        """The tables of the attention that is computed now."""
        found, self.next = self.next, None
        return found

    @contextlib.contextmanager
    def active(self) -> typing.Iterator[None]:
        with contextlib.ExitStack() as stack:
            for name, methods in self.methods.items():
                stack.enter_context(_replaced.methods(name, methods))
            yield


def _computes(module: typing.Any, name: str, columns: Tensor) -> bool:
    """Whether the method, with random weights, is the formula."""
    heads, n = module.num_attention_heads, 9

    def pairs(generator: torch.Generator) -> list:
        width = module.all_head_size // heads
        q, k = (torch.randn(1, heads, n, width, generator=generator) for _ in range(2))
        if not hasattr(module, "in_proj"):
            q, k = q[0], k[0]
        columns_in = next(p for m in module.children() for p in m.parameters()
                          if p.dim() == 2).shape[1]
        embeddings = torch.randn(2 * span(module), columns_in, generator=generator)
        apart = torch.arange(n)[:, None] - torch.arange(n)[None]
        apart = columns[apart + len(columns) // 2].long() - span(module)
        expected = getattr(module, name)(q, k, apart[None], embeddings, 3)
        found = bias(tables(module, columns, q, k, embeddings, 3)).view(expected.shape)
        return [(found, expected)]

    return _replaced.computes(module, pairs, seed=12)
