"""Mixtures of experts: products of rows with the matrices of their experts instead of loops over
experts, group-limited routing as one operator.

transformers' experts go through its ExpertsInterface. What lies between their two products is
the model's own code; the sum over the experts of a token is in f32, as in transformers'
`batched_mm` and `grouped_mm`. A router that limits groups of experts and a gate of clamped
neighbours are found by their values, as norms are.
"""

import contextlib
import functools
import typing

import torch

from . import _looped, _parallel, _replaced, _scaled, _switched

IMPLEMENTATION = "hk"


@torch.library.custom_op("hk::grouped_linear", mutates_args=())
def grouped_linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
                   ids: torch.Tensor, gathers: bool, transposed: bool, wide: bool
                   ) -> torch.Tensor:
    """Rows times the matrices of their experts, sorted by expert.

    ids [T, k] are the experts of tokens, `order` their stable order, flat. Row p of the result
    is that of expert ids[order[p]], made of row p of x, or where it `gathers` of
    x[order[p] / k], plus the expert's bias. weight [E, N, K] (`transposed`: [E, K, N]),
    bias [E, N]; the result [T * k, N] is of x's type, or f32 where `wide`.
    """
    experts, order = ids.flatten().sort(stable=True)
    rows = x[order // ids.shape[1]] if gathers else x
    out = rows.new_zeros(len(rows), weight.shape[2 if transposed else 1],
                         dtype=torch.float32 if wide else x.dtype)
    for e in experts.unique().tolist():
        at = experts == e
        w = weight[e].float() if transposed else weight[e].float().mT
        y = rows[at].float() @ w
        out[at] = (y if bias is None else y + bias[e].float()).to(out.dtype)
    return out


@grouped_linear.register_fake
def _(x, weight, bias, ids, gathers, transposed, wide):
    return x.new_empty(ids.shape[0] * ids.shape[1], weight.shape[2 if transposed else 1],
                       dtype=torch.float32 if wide else x.dtype)


@torch.library.custom_op("hk::experts_sum", mutates_args=())
def experts_sum(y: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor, like: torch.Tensor
                ) -> torch.Tensor:
    """The weighted sum over the experts of every token, [T, N] in f32, rounded to the type of
    `like`: y as grouped_linear makes it, ids and weights [T, k]."""
    place = ids.flatten().argsort(stable=True).argsort()
    rows = y.float()[place].unflatten(0, ids.shape) * weights.float()[..., None]
    return rows.sum(1).to(like.dtype)


@experts_sum.register_fake
def _(y, ids, weights, like):
    return like.new_empty(ids.shape[0], y.shape[1])


@torch.library.custom_op("hk::swiglu_oai", mutates_args=())
def swiglu_oai(x: torch.Tensor, limit: float, interleaved: bool) -> torch.Tensor:
    """hk.gated_activation swiglu_oai."""
    y = x.float()
    gate, up = (y[..., ::2], y[..., 1::2]) if interleaved else y.chunk(2, -1)
    gate, up = gate.clamp(max=limit), up.clamp(-limit, limit)
    return ((up + 1) * gate * torch.sigmoid(1.702 * gate)).to(x.dtype)


@swiglu_oai.register_fake
def _(x, limit, interleaved):
    return x.new_empty(*x.shape[:-1], x.shape[-1] // 2)


@torch.library.custom_op("hk::group_limit", mutates_args=())
def group_limit(x: torch.Tensor, score: str, groups: int, top_groups: int) -> torch.Tensor:
    """hk.group_limit: elements outside of the best groups become -inf."""
    parts = x.unflatten(-1, (groups, -1))
    best = parts.amax(-1) if score == "maximum" else parts.topk(2, -1).values.sum(-1)
    kept = torch.zeros_like(best, dtype=torch.bool)
    kept.scatter_(-1, best.topk(top_groups, -1).indices, True)
    return parts.masked_fill(~kept[..., None], float("-inf")).flatten(-2)


@group_limit.register_fake
def _(x, score, groups, top_groups):
    return torch.empty_like(x)


def gate_of(module: typing.Any) -> tuple[float, bool] | None:
    """(limit, interleaved) of a gate that is hk's swiglu_oai, by its values."""
    limit = getattr(module, "limit", None)
    if not getattr(module, "has_gate", False) or not isinstance(limit, float):
        return None
    x = 2 * limit * torch.randn(64, 32, generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        expected = module._apply_gate(x)
        for interleaved in (True, False):
            found = swiglu_oai(x, limit, interleaved)
            if torch.allclose(found, expected, rtol=1e-6, atol=1e-6 * limit):
                return limit, interleaved
    return None


def forward(gates: dict, self: typing.Any, hidden_states: torch.Tensor,
            top_k_index: torch.Tensor, top_k_weights: torch.Tensor) -> torch.Tensor:
    """The experts of a layer: [T, H] and, for each token, k experts and their weights."""
    names = ["gate_up_proj" if self.has_gate else "up_proj", "down_proj"]
    weights = [getattr(self, n) for n in names]
    biases = [getattr(self, n + "_bias") if self.has_bias else None for n in names]
    product, form = torch.ops.hk.grouped_linear, self.is_transposed
    y = product(hidden_states, weights[0], biases[0], top_k_index, True, form, False)
    if self in gates:
        y = torch.ops.hk.swiglu_oai(y, *gates[self])
    else:
        y = self._apply_gate(y) if self.has_gate else self.act_fn(y)
    norm = self.has_post_expert_norm
    y = product(y, weights[1], biases[1], top_k_index, False, form, not norm)
    if norm:
        y = self.post_expert_norm(y)
    return torch.ops.hk.experts_sum(y, top_k_index, top_k_weights, hidden_states)


# ---- routers

class Routing(typing.NamedTuple):
    """How a router with groups chooses: hk.group_limit's attributes and what is around it."""

    sigmoid: bool
    score: str
    bias: str | None  # Name of the buffer that is added to scores only to choose.
    renormalise: bool
    scale: float


def route(module: typing.Any, r: Routing, hidden: torch.Tensor) -> tuple:
    """(logits, weights, experts) of tokens, as the routers of DeepSeek's descendants."""
    hidden = hidden.reshape(-1, hidden.shape[-1])
    logits = torch.nn.functional.linear(hidden.float(), module.weight.float())
    scores = logits.sigmoid() if r.sigmoid else logits.softmax(-1)
    choice = scores if r.bias is None else scores + getattr(module, r.bias)
    if module.num_group > module.topk_group:
        choice = torch.ops.hk.group_limit(choice, r.score, module.num_group, module.topk_group)
    ids = choice.topk(module.top_k, -1).indices
    weights = scores.gather(1, ids)
    if r.renormalise:
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
    return logits, weights * r.scale, ids


def is_candidate(module: torch.nn.Module) -> bool:
    """A module of one matrix that says how many groups of experts it takes."""
    shapes = [p.dim() for p in module.parameters()]
    return shapes == [2] and all(hasattr(module, n) for n in ("num_group", "topk_group", "top_k"))


def _by_expert(weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Weights in the order of their experts: a router may list them in any."""
    return torch.cat((ids.sort(-1).values.float(), weights.gather(1, ids.argsort(-1))), -1)


def probe(module: typing.Any) -> Routing | None:
    """The routing whose choice and weights are the module's on random tokens."""
    generator = torch.Generator().manual_seed(6)
    hidden = torch.randn(64, module.weight.shape[1], generator=generator)
    weights = (*module.parameters(), *module.buffers())
    bias = next((n for n, b in module.named_buffers() if b.dim() == 1), None)
    scale = float(getattr(module, "routed_scaling_factor", 1.0))
    with _replaced.random_weights(weights, generator), torch.no_grad():
        expected = _by_expert(*module(hidden)[1:])
        for r in (Routing(a, g, b, n, scale) for a in (True, False)
                  for g in ("top2_sum", "maximum") for b in {bias, None} for n in (True, False)):
            if torch.allclose(_by_expert(*route(module, r, hidden)[1:]), expected, rtol=1e-6,
                              atol=0):
                return r
    return None


def is_experts(module: torch.nn.Module) -> bool:
    """Whether a module's forward goes through transformers' ExpertsInterface."""
    return hasattr(type(module), "_apply_gate")


class Experts:
    """What of a model is replaced for its export."""

    def __init__(self, model: torch.nn.Module):
        self.model = model
        found = {m: probe(m) for m in model.modules() if is_candidate(m)}
        self.routers = {m: r for m, r in found.items() if r is not None}
        made = {m: gate_of(m) for m in model.modules() if is_experts(m)}
        self.gates = {m: g for m, g in made.items() if g is not None}
        self.scaled = [m for m in model.modules()
                       if _scaled.is_candidate(m) and _scaled.computes(m)]
        self.looped = [m for m in model.modules()
                       if _looped.is_candidate(m) and _looped.computes(m)]
        self.switched = [m for m in model.modules()
                         if _switched.is_candidate(m) and _switched.computes(m)]
        self.parallel = [m for m in model.modules()
                         if _parallel.is_candidate(m) and _parallel.computes(m)]

    def any(self) -> bool:
        """Whether anything is replaced."""
        return bool(self.routers or self.scaled or self.looped or self.switched or self.parallel
                    or any(is_experts(m) for m in self.model.modules()))

    @contextlib.contextmanager
    def active(self) -> typing.Iterator[None]:
        """The model computes with torch.ops.hk for as long."""
        from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS

        # Straight into the configurations: set_experts_implementation wants names of its own.
        configs = {id(m.config): m.config for m in self.model.modules()
                   if is_experts(m)}.values()
        before = [c._experts_implementation_internal for c in configs]
        ALL_EXPERTS_FUNCTIONS.register(IMPLEMENTATION,
                                       functools.partial(forward, self.gates))
        for config in configs:
            config._experts_implementation_internal = IMPLEMENTATION
        forwards = {m: lambda m, x, r=r: route(m, r, x) for m, r in self.routers.items()}
        forwards |= dict.fromkeys(self.scaled, _scaled.forward)
        forwards |= dict.fromkeys(self.looped, _looped.forward)
        forwards |= dict.fromkeys(self.switched, _switched.forward)
        projecting = [m for m in self.parallel if _parallel.is_attention(m)]
        forwards |= {m: _parallel.forward for m in self.parallel if m not in projecting}
        try:
            with (_replaced.methods("forward", forwards),
                  _replaced.methods("map", dict.fromkeys(projecting, _parallel.map_)),
                  _replaced.methods("reduce", dict.fromkeys(projecting, _parallel.reduce_))):
                yield
        finally:
            for config, value in zip(configs, before, strict=True):
                config._experts_implementation_internal = value
            ALL_EXPERTS_FUNCTIONS._global_mapping.pop(IMPLEMENTATION)
