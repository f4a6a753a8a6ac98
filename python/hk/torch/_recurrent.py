"""Recurrent layers: the gated delta rule, state space models and short causal convolutions, with
states per sequence.

transformers computes them by functions of a model's file, FUNCTIONS, on tokens of one sequence. In
the eager run their values are compared with hk's formulas, in the export they become operators of
torch.ops.hk, which cut the tokens into sequences and whose states are arguments of the imported
function. A norm with a gate is split into the norm and its product with the gate. Convolutions that
a model writes with PyTorch's are found by what they are of (_filters.py), layers of other kinds by
their values (_lightning.py, _delayed.py, _lru.py); rows of the token before by their padding (_wkv.py).
"""

import functools
import inspect
import sys
import types
import typing

import torch

from ..errors import UnsupportedModel
from . import _delayed, _lightning, _lru, _norms, _wkv
from ._filters import CONV_WIDTHS, Filters, conv1d

L2_EPSILON = 1e-6  # Of transformers' l2norm inside of the rule.


class State(typing.NamedTuple):
    """A state of a layer: a line for each sequence. `element` is "" for the model's own type."""

    name: str
    shape: tuple[int, ...]
    element: str = ""


def _pieces(extents: torch.Tensor) -> list[tuple[int, int]]:
    bounds = extents.tolist()
    return list(zip(bounds, bounds[1:], strict=False))


@torch.library.custom_op("hk::causal_conv1d", mutates_args=())
def causal_conv1d(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
                  extents: torch.Tensor, silu: bool, layer: int) -> torch.Tensor:
    """hk.causal_conv1d of x [1, C, T] with weight [C, W], of sequences that `extents` cuts;
    `silu` of the sums, which are in f32, before the one rounding."""
    out = torch.zeros_like(x)
    width = weight.shape[1]
    wide = torch.promote_types(x.dtype, torch.float32)
    for start, end in _pieces(extents):
        rows = torch.nn.functional.pad(x[:, :, start:end].to(wide), (width - 1, 0))
        y = conv1d(rows, weight[:, None].to(wide), None if bias is None else bias.to(wide),
                   groups=weight.shape[0])
        out[:, :, start:end] = (torch.nn.functional.silu(y) if silu else y).to(x.dtype)
    return out


@causal_conv1d.register_fake
def _(x, weight, bias, extents, silu, layer):
    return torch.empty_like(x)


@torch.library.custom_op("hk::gated_delta_rule", mutates_args=())
def gated_delta_rule(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                     decay: torch.Tensor, beta: torch.Tensor | None, extents: torch.Tensor,
                     scale: float, l2norm: float, rule: str, layer: int) -> torch.Tensor:
    """hk.gated_delta_rule, `rule` delta or linear, of query, key [1, T, H, K], value
    [1, T, HV, V], a decay of heads [1, T, HV] or of their keys [1, T, HV, K], and beta [1, T, HV]
    or 1; no l2norm where that is 0."""
    wide = torch.promote_types(query.dtype, torch.float32)
    group = value.shape[2] // query.shape[2]
    q, k = (x[0].to(wide).repeat_interleave(group, 1) for x in (query, key))
    if l2norm:
        q, k = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + l2norm) for x in (q, k))
    q = q * scale
    v, g = value[0].to(wide), decay[0].to(wide).exp()
    g = g[..., None, None] if g.dim() == 2 else g[..., None]
    out = torch.zeros_like(v)
    for start, end in _pieces(extents):
        state = v.new_zeros(v.shape[1], k.shape[2], v.shape[2])
        for t in range(start, end):
            state = state * g[t]
            d = v[t] - (state * k[t, :, :, None]).sum(1) if rule == "delta" else v[t]
            d = d if beta is None else beta[0, t, :, None].to(wide) * d
            state = state + k[t, :, :, None] * d[:, None]
            out[t] = (state * q[t, :, :, None]).sum(1)
    return out[None].to(value.dtype)


@gated_delta_rule.register_fake
def _(query, key, value, decay, beta, extents, scale, l2norm, rule, layer):
    return torch.empty_like(value)


class Recurrent:
    """The recurrent layers of a model; `extents` gives what cuts the tokens into sequences."""

    def __init__(self, model: torch.nn.Module, extents: typing.Callable[[], torch.Tensor],
                 dense: bool):
        files = {sys.modules[type(m).__module__] for m in model.modules()
                 if type(m).__module__ in sys.modules}
        self.dense, self.extents = dense, extents
        self.functions = [(f, n) for f in files for n in FUNCTIONS if hasattr(f, n)]
        self.states: list[State] = []
        self.norms = {m: v for m in model.modules()
                      if is_gated_norm(m) and (v := probe_gated_norm(m)) is not None}
        self.lightning = [m for m in model.modules() if not dense and _lightning.is_candidate(m)
                          and _lightning.computes(m)]
        self.delayed = [m for m in model.modules() if not dense and _delayed.is_candidate(m)
                        and _delayed.computes(m)]
        self.units = [m for m in model.modules() if not dense and _lru.is_candidate(m)
                      and _lru.computes(m)]
        self.shifts = [m for m in model.modules() if not dense and _wkv.is_shift(m)]
        self._filters = Filters(extents)
        self._saved: list = []
        self._counts: dict[str, int] = {}

    def clear(self) -> None:
        """Before the model is run once more."""
        self.states.clear()
        self._counts.clear()
        self._filters.begin()

    def _count(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, -1) + 1
        return self._counts[kind]

    def _conv(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
              activation: str | None = None, **kwargs: typing.Any) -> torch.Tensor:
        _nothing_else("causal_conv1d_fn", kwargs)
        if activation not in (None, "silu", "swish"):
            raise UnsupportedModel(f"causal_conv1d_fn: activation '{activation}'; hk's import has "
                                   "silu and none")
        return self._filter(x, weight, bias, activation is not None)

    def _filter(self, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None,
                silu: bool = False) -> torch.Tensor:
        """A causal convolution of x [1, C, T] with weight [C, W]."""
        if weight.shape[1] not in CONV_WIDTHS:
            raise UnsupportedModel(f"a causal convolution of width {weight.shape[1]}; "
                                   f"hk.causal_conv1d has {CONV_WIDTHS[0]} to {CONV_WIDTHS[-1]}. "
                                   "Import what is around such layers with export_module")
        layer = self._count("conv")
        self.states.append(State(f"conv_{layer}", (weight.shape[1] - 1, weight.shape[0])))
        return torch.ops.hk.causal_conv1d(x, weight, bias, self.extents(), silu, layer)

    def _rule(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, g: torch.Tensor,
              beta: torch.Tensor, chunk_size: int = 64, initial_state: torch.Tensor | None = None,
              output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False,
              **kwargs: typing.Any) -> tuple:
        _nothing_else("the gated delta rule", kwargs)
        if initial_state is not None or output_final_state:
            raise UnsupportedModel("the gated delta rule with a cache of the model's own; hk keeps "
                                   "the states")
        return self._delta(query, key, value, g, beta, query.shape[-1] ** -0.5,
                           L2_EPSILON if use_qk_l2norm_in_kernel else 0.0, "delta"), None

    def _delta(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
               decay: torch.Tensor, beta: torch.Tensor | None, scale: float, l2norm: float,
               rule: str) -> torch.Tensor:
        layer = self._count("state")
        self.states.append(State(f"state_{layer}", (value.shape[2], key.shape[3], value.shape[3]),
                                 "f32"))
        return torch.ops.hk.gated_delta_rule(query, key, value, decay, beta, self.extents(), scale,
                                             l2norm, rule, layer)

    def _scan(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
              decay: torch.Tensor) -> torch.Tensor:
        """A state that only sums: S = exp(decay) S + key value, in f32."""
        return self._delta(query.float(), key.float(), value, decay.float(), None, 1.0, 0.0,
                           "linear")

    def _linear(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                decay: torch.Tensor) -> torch.Tensor:
        return self._delta(query, key, value, decay.float(), None, 1.0, 0.0, "linear")

    def _mean(self, time_decay: torch.Tensor, time_first: torch.Tensor, key: torch.Tensor,
              value: torch.Tensor, **_: object) -> tuple:
        """Whatever the model's own state says: hk keeps the states."""
        return _wkv.mean(self._filter, self._scan, time_decay, time_first, key, value), None

    def _heads(self, x: torch.Tensor, dt: torch.Tensor, a: torch.Tensor, b: torch.Tensor,
               c: torch.Tensor, chunk_size: int, D: torch.Tensor | None = None,  # noqa: N803
               dt_bias: torch.Tensor | None = None, initial_states: torch.Tensor | None = None,
               dt_softplus: bool = False, dt_limit: tuple = (0.0, float("inf")),
               return_final_states: bool = False, **kwargs: typing.Any) -> torch.Tensor:
        """A state space model whose decay is one number of a head (Mamba 2): x [1, T, H, P],
        dt [1, T, H], a [H], b and c [1, T, groups, N]."""
        _nothing_else("mamba2_chunk_scan", kwargs | {
            "initial_states": initial_states,
            "return_final_states": return_final_states or None})
        steps = _steps(dt, dt_bias, dt_softplus).float()
        low, high = dt_limit
        if high != float("inf") or low > 0.0 or not dt_softplus:
            steps = steps.clamp(low, None if high == float("inf") else high)
        x = x.float()
        y = self._scan(c, b, x * steps[..., None], a * steps)
        return y if D is None else y + D[:, None] * x

    def _channels(self, x: torch.Tensor, dt: torch.Tensor, a: torch.Tensor, b: torch.Tensor,
                  c: torch.Tensor, D: torch.Tensor | None = None,  # noqa: N803
                  z: torch.Tensor | None = None, delta_bias: torch.Tensor | None = None,
                  delta_softplus: bool = False, return_last_state: bool = False,
                  **kwargs: typing.Any) -> torch.Tensor:
        """A state space model in which every channel decays on its own (Mamba): x, dt and z
        [1, C, T], a [C, N], b and c [1, N, T]. A channel is a head of one value."""
        _nothing_else("mamba_selective_scan", kwargs | {
            "return_final_states": return_last_state or None})
        x, dt = (t.transpose(1, 2) for t in (x, dt))
        steps = _steps(dt, delta_bias, delta_softplus).float()
        b, c = (t.transpose(1, 2)[:, :, None] for t in (b, c))
        y = self._scan(c, b, (x.float() * steps)[..., None], a * steps[..., None])[..., 0]
        y = (y if D is None else y + x * D).transpose(1, 2)
        return y if z is None else y * torch.nn.functional.silu(z)

    def _compare(self, name: str, original: typing.Callable) -> typing.Callable:
        """The original, whose values must be those of hk's formula."""
        made = FUNCTIONS[name]

        def function(*args, **kwargs):
            with self._filters.suspended():
                expected = original(*args, **kwargs)
            found = made(self, *args, **kwargs)
            if self.dense:
                raise UnsupportedModel(f"{name} over padded sequences: hk's states are of ragged "
                                       "ones; import it with the paged signature")
            a, b = (x[0] if isinstance(x, tuple) else x for x in (found, expected))
            # Sums of chunks and of single tokens differ by f32 noise.
            if not torch.allclose(a, b, rtol=1e-4, atol=1e-5 * float(b.abs().max())):
                raise UnsupportedModel(f"{name} of {original.__module__} does not compute what "
                                       "hk's operator of that name does")
            return expected
        return function

    def observe(self) -> None:
        """For the eager run: compare, change nothing."""
        self._replace(self._compare)
        if not self.dense:
            self._save(torch.nn.functional, "conv1d", self._filters.observing(self._filter))

    def substitute(self) -> None:
        """For the export."""
        self._replace(lambda name, _: lambda *a, **k: FUNCTIONS[name](self, *a, **k))
        for module, variant in self.norms.items():
            self._saved.append((module, "forward", None))
            module.forward = types.MethodType(_gated_norm(variant), module)
        for modules, name, function in (
                (self.lightning, "forward", functools.partial(_lightning.forward, self._linear)),
                (self.delayed, "forward", functools.partial(_delayed.forward, self._filter)),
                (self.shifts, "forward", functools.partial(_wkv.shifted, self._filter)),
                (self.units, "_rnn_scan", functools.partial(_lru.scan, self._scan))):
            for module in modules:
                self._saved.append((module, name, None))
                setattr(module, name, types.MethodType(function, module))
        if not self.dense:
            self._save(torch.nn.functional, "conv1d", self._filters.replaying(self._filter))

    def _save(self, owner: typing.Any, name: str, made: typing.Callable) -> None:
        self._saved.append((owner, name, getattr(owner, name)))
        setattr(owner, name, made)

    def _replace(self, made: typing.Callable) -> None:
        self.clear()
        for owner, name in self.functions:
            self._save(owner, name, made(name, getattr(owner, name)))

    def restore(self) -> None:
        """Gives back what was replaced."""
        for owner, name, value in reversed(self._saved):
            if value is None:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._saved.clear()


FUNCTIONS = {"causal_conv1d_fn": Recurrent._conv,
             "torch_chunk_gated_delta_rule": Recurrent._rule,
             "chunk_gated_delta_rule": Recurrent._rule,
             "chunk_kimi_delta_attention": Recurrent._rule,
             "mamba2_chunk_scan": Recurrent._heads,
             "mamba_selective_scan": Recurrent._channels,
             "rwkv_linear_attention": Recurrent._mean}


def _steps(dt: torch.Tensor, bias: torch.Tensor | None, softplus: bool) -> torch.Tensor:
    """The step sizes of a state space model."""
    dt = dt if bias is None else dt + bias.to(dt.dtype)
    return torch.nn.functional.softplus(dt) if softplus else dt


def _nothing_else(name: str, kwargs: dict) -> None:
    """Arguments that change what is computed may only be left out; the others are those of all
    layers, which these functions do not look at."""
    given = sorted(n for n, v in kwargs.items() if v is not None and n in (
        "z", "cu_seqlens", "seq_idx", "initial_states", "return_final_states"))
    if given:
        raise UnsupportedModel(f"{name}: hk's import does not take {', '.join(given)}")


# ---- norms with a gate

def is_gated_norm(module: torch.nn.Module) -> bool:
    """A module of one vector whose forward takes rows and their gate."""
    parameters = list(inspect.signature(module.forward).parameters)
    return ("norm" in type(module).__name__.lower() and parameters[1:2] == ["gate"]
            and len(parameters) == 2 and [p.dim() for p in module.parameters()] == [1])


def _formula(norm: typing.Callable, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return (norm(x) * torch.nn.functional.silu(gate.float())).to(x.dtype)


def _gated_norm(variant: _norms.NormVariant) -> typing.Callable:
    def forward(self, hidden_states, gate):
        weight = next(iter(self.parameters()))
        return _formula(lambda x: torch.ops.hk.rms_norm(x, weight, *variant), hidden_states, gate)
    return forward


def probe_gated_norm(module: typing.Any) -> _norms.NormVariant | None:
    """The norm that, times silu of the gate, gives a module's values in f32 and bf16."""
    generator = torch.Generator().manual_seed(9)
    gate = torch.randn(4, next(module.parameters()).shape[0], generator=generator)
    return _norms.probe(module, lambda norm, x: _formula(norm, x, gate.to(x.dtype)),
                        lambda x: module(x, gate.to(x.dtype)))
