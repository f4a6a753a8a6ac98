"""Formulas, in operators that the lowering knows, of operators that it does not know and for
which PyTorch has none. They compute in f32 and round once, as PyTorch's own code does."""

import functools
import math
import typing

import torch

from ..errors import UnsupportedModel

aten = torch.ops.aten
FORMULAS: dict[torch._ops.OpOverload, typing.Callable] = {}


def formula_of(*targets: torch._ops.OpOverload, wide: bool = True) -> typing.Callable:
    """Registers a formula; `wide`: its first operand is f32, its result of that one's type."""
    def register(function: typing.Callable) -> typing.Callable:
        @functools.wraps(function)
        def formula(x: torch.Tensor, *args: typing.Any, **kwargs: typing.Any) -> torch.Tensor:
            return function(x.float(), *args, **kwargs).to(x.dtype)
        FORMULAS.update(dict.fromkeys(targets, formula if wide else function))
        return function
    return register


# ---- elementwise

@formula_of(aten.hardtanh.default)
def _hardtanh(x: torch.Tensor, low: float = -1, high: float = 1) -> torch.Tensor:
    return x.clamp(low, high)


@formula_of(aten.elu.default)
def _elu(x: torch.Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
         ) -> torch.Tensor:
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * (alpha * scale))


@formula_of(aten.leaky_relu.default)
def _leaky_relu(x: torch.Tensor, slope: float = 0.01) -> torch.Tensor:
    return torch.where(x > 0, x, x * slope)


@formula_of(aten.sign.default)
def _sign(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, 1.0, torch.where(x < 0, -1.0, 0.0))


@formula_of(aten.isnan.default, wide=False)
def _isnan(x: torch.Tensor) -> torch.Tensor:
    return x != x


@formula_of(aten.isinf.default, wide=False)
def _isinf(x: torch.Tensor) -> torch.Tensor:
    return x.abs() == math.inf


@formula_of(aten.empty.memory_format, wide=False)
def _empty(size: list, *, dtype: torch.dtype | None = None, **_: typing.Any) -> torch.Tensor:
    """What lies there is anything: a model writes what it reads."""
    return torch.full(size, 0, dtype=dtype or torch.get_default_dtype())


@formula_of(aten.log10.default)
def _log10(x: torch.Tensor) -> torch.Tensor:
    return torch.log(x) * math.log10(math.e)


@formula_of(aten.tan.default)
def _tan(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) / torch.cos(x)


@formula_of(aten.sinh.default)
def _sinh(x: torch.Tensor) -> torch.Tensor:
    return (torch.expm1(x) - torch.expm1(-x)) * 0.5


@formula_of(aten.cosh.default)
def _cosh(x: torch.Tensor) -> torch.Tensor:
    return (torch.exp(x) + torch.exp(-x)) * 0.5


@formula_of(aten.ceil.default)
def _ceil(x: torch.Tensor) -> torch.Tensor:
    return -torch.floor(-x)


@formula_of(aten.trunc.default)
def _trunc(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x < 0, -torch.floor(-x), torch.floor(x))


@formula_of(aten.bucketize.Tensor, wide=False)
def _bucketize(x: torch.Tensor, boundaries: torch.Tensor, *, out_int32: bool = False,
               right: bool = False) -> torch.Tensor:
    """How many boundaries, which ascend, lie below each element."""
    if not boundaries.numel():
        return torch.zeros_like(x, dtype=torch.int32 if out_int32 else torch.int64)
    x = x.unsqueeze(-1)
    # NaN is behind all of them.
    below = ~(boundaries > x if right else boundaries >= x)
    return below.to(torch.int32 if out_int32 else torch.int64).sum(-1)


# ---- rows

@formula_of(aten._log_softmax.default)
def _log_softmax(x: torch.Tensor, dim: int, _half_to_float: bool) -> torch.Tensor:
    x = x - x.amax(dim, keepdim=True)
    return x - x.exp().sum(dim, keepdim=True).log()


@formula_of(aten.var.correction)
def _var(x: torch.Tensor, dim: list | None = None, *, correction: float | None = None,
         keepdim: bool = False) -> torch.Tensor:
    dim = list(range(x.dim())) if dim is None else dim
    count = math.prod(x.shape[d] for d in dim)
    centred = x - x.mean(dim, keepdim=True)
    return (centred * centred).sum(dim, keepdim=keepdim) * (
        1 / max(count - (1 if correction is None else correction), 0))


def _turned(x: torch.Tensor) -> torch.Tensor:
    """In the other order. The negative of the least integer is itself."""
    return -x if x.is_floating_point() else ~x


@formula_of(aten.amin.default, wide=False)
def _amin(x: torch.Tensor, dim: list = (), keepdim: bool = False) -> torch.Tensor:
    return _turned(_turned(x).amax(dim, keepdim))


@formula_of(aten.max.default, wide=False)
def _largest(x: torch.Tensor) -> torch.Tensor:
    return x.amax(list(range(x.dim())))


@formula_of(aten.min.default, wide=False)
def _least(x: torch.Tensor) -> torch.Tensor:
    return _amin(x, list(range(x.dim())))


@formula_of(aten.any.default, aten.any.dim, aten.any.dims, wide=False)
def _any(x: torch.Tensor, dim: typing.Any = (), keepdim: bool = False) -> torch.Tensor:
    return x.to(torch.float32).abs().amax(dim, keepdim) != 0


@formula_of(aten.argmax.default, wide=False)
def _argmax(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    if dim is None:
        x, dim = x.reshape(-1), 0
    if not x.is_floating_point():
        x = (x == x.amax(dim, keepdim=True)).float()
    found = torch.topk(x, 1, dim)[1]
    return found if keepdim else found.squeeze(dim)


@formula_of(aten.argmin.default, wide=False)
def _argmin(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    return _argmax(_turned(x), dim, keepdim)


@formula_of(aten.var_mean.correction, wide=False)
def _var_mean(x: torch.Tensor, dim: list | None = None, *, correction: float | None = None,
              keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    dim = list(range(x.dim())) if dim is None else dim
    return (_var(x, dim, correction=correction, keepdim=keepdim), x.mean(dim, keepdim=keepdim))


@formula_of(aten.flip.default, wide=False)
def _flip(x: torch.Tensor, dims: list) -> torch.Tensor:
    for dim in dims:
        x = x.index_select(dim, torch.arange(x.shape[dim] - 1, -1, -1, device=x.device))
    return x


@formula_of(aten.max.dim, wide=False)
def _max(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    if not x.is_floating_point():
        return x.amax(dim, keepdim), _argmax(x, dim, keepdim)
    value, place = torch.topk(x, 1, dim)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


@formula_of(aten.min.dim, wide=False)
def _min(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    value, place = _max(_turned(x), dim, keepdim)
    return _turned(value), place


# ---- strides

def steps_text(shape: typing.Sequence, size: typing.Sequence, stride: typing.Sequence) -> str:
    """Why a tensor of `shape` is not read so."""
    return (f"as_strided of {list(shape)} to {list(size)} in steps of {list(stride)}: hk's tensors "
            "have no strides; write it with views, slices or unfold")


@formula_of(aten.as_strided.default, wide=False)
def _as_strided(x: torch.Tensor, size: list, stride: list, offset: int | None = None
                ) -> torch.Tensor:
    """A mean over all of an image says of its single elements how far apart they would be."""
    apart = [(of, own) for n, of, own in zip(size, stride, x.stride(), strict=False) if n != 1]
    if list(size) == list(x.shape) and all(of == own for of, own in apart) and offset in (
            None, x.storage_offset()):
        return x.view(x.shape)
    raise UnsupportedModel(steps_text(x.shape, size, stride))


# ---- norms over other dims than the last

def _affine(x: torch.Tensor, shape: list, weight: torch.Tensor | None, bias: torch.Tensor | None
            ) -> torch.Tensor:
    x = x if weight is None else x * weight.reshape(shape).float()
    return x if bias is None else x + bias.reshape(shape).float()


@formula_of(aten.native_group_norm.default, wide=False)
def _group_norm(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, n: int,
                channels: int, size: int, groups: int, epsilon: float) -> tuple:
    rows = x.float().reshape(n, groups, channels // groups * size)
    made = torch.nn.functional.layer_norm(rows, rows.shape[-1:], eps=epsilon).reshape(x.shape)
    made = _affine(made, [channels, *[1] * (x.dim() - 2)], weight, bias)
    return made.to(x.dtype), None, None


@formula_of(aten._native_batch_norm_legit.no_stats, wide=False)
def _batch_norm_of_itself(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None,
                          _training: bool, _momentum: float, epsilon: float) -> tuple:
    """Mean and variance are the batch's: BiT norms its weights so."""
    rows = x.float().transpose(0, 1).reshape(x.shape[1], -1)
    made = torch.nn.functional.layer_norm(rows, rows.shape[-1:], eps=epsilon)
    made = made.reshape(x.shape[1], x.shape[0], *x.shape[2:]).transpose(0, 1)
    made = _affine(made, [x.shape[1], *[1] * (x.dim() - 2)], weight, bias)
    return made.to(x.dtype), None, None


@formula_of(aten._native_batch_norm_legit_no_training.default, wide=False)
def _batch_norm(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None,
                mean: torch.Tensor, variance: torch.Tensor, _momentum: float, epsilon: float
                ) -> tuple:
    shape = [-1, *[1] * (x.dim() - 2)]
    made = x.float() - mean.reshape(shape).float()
    made = made * torch.rsqrt(variance.float() + epsilon).reshape(shape)
    return _affine(made, shape, weight, bias).to(x.dtype), None, None


# ---- places

@formula_of(aten.roll.default, wide=False)
def _roll(x: torch.Tensor, shifts: list, dims: list = ()) -> torch.Tensor:
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        cut = -shift % x.shape[dim]
        if cut:
            x = torch.cat([x.narrow(dim, cut, x.shape[dim] - cut), x.narrow(dim, 0, cut)], dim)
    return x


@formula_of(aten.scatter.src, aten.scatter.value, wide=False)
def _scatter(x: torch.Tensor, dim: int, places: torch.Tensor, given: torch.Tensor | float
             ) -> torch.Tensor:
    """Of a few places a row, one after the other; where two are equal the last one stays."""
    shape = [1] * x.dim()
    shape[dim] = x.shape[dim]
    own = torch.arange(x.shape[dim]).reshape(shape)
    for k in range(places.shape[dim]):
        value = given.narrow(dim, k, 1) if isinstance(given, torch.Tensor) else given
        x = torch.where(own == places.narrow(dim, k, 1), value, x)
    return x


@formula_of(aten.slice_scatter.default, wide=False)
def _slice_scatter(x: torch.Tensor, given: torch.Tensor, dim: int = 0, start: int | None = None,
                   _end: int | None = None, step: int = 1) -> torch.Tensor:
    size, length = x.shape[dim], given.shape[dim]
    start = 0 if start is None else start + size if start < 0 else start
    if isinstance(size, int) and isinstance(start, int):  # As slices are, within the dim.
        start = min(max(start, 0), size)
    if step != 1:
        return _each_step(x, given, dim, start, step)
    parts = [x.narrow(dim, 0, start), given.to(x.dtype),
             x.narrow(dim, start + length, size - start - length)]
    return torch.cat([p for p in parts if p.shape[dim]], dim)


def _each_step(x: torch.Tensor, given: torch.Tensor, dim: int, start: int, step: int
               ) -> torch.Tensor:
    """Every `step`th element along a dim is another."""
    size, length = x.shape[dim], given.shape[dim]
    if not isinstance(size, int) or not isinstance(length, int):
        raise UnsupportedModel(f"writing every {step}th element of dim {dim}, whose size a call "
                               "tells; hk's import writes runs of them there")
    own = torch.arange(size, device=x.device)
    behind = own - start
    written = (behind >= 0) & (behind < length * step) & (behind % step == 0)
    places = torch.where(written, size + behind // step, own)
    return torch.cat([x, given.to(x.dtype)], dim).index_select(dim, places)


@formula_of(aten.select_scatter.default, wide=False)
def _select_scatter(x: torch.Tensor, given: torch.Tensor, dim: int, place: int) -> torch.Tensor:
    return _slice_scatter(x, given.unsqueeze(dim), dim, place)


@formula_of(aten.index_put.default, wide=False)
def _index_put(x: torch.Tensor, indices: list, given: torch.Tensor, accumulate: bool = False
               ) -> torch.Tensor:
    """Elements, or rows, that truth values choose; or one element of each row, of a matrix."""
    if accumulate:
        raise UnsupportedModel("sums into chosen places; hk's import writes values there")
    if len(indices) == 1 and indices[0].dtype == torch.bool:
        mask = indices[0].reshape(*indices[0].shape, *[1] * (x.dim() - indices[0].dim()))
        each = x.shape[indices[0].dim():]
        if given.dim() <= len(each) or given.shape[0] == 1:  # The same for all of them.
            return torch.where(mask, given.to(x.dtype), x)
        return _masked_scatter(x, mask.expand(x.shape), given.expand(given.shape[0], *each))
    if x.dim() != 2 or len(indices) != 2 or any(i is None or i.dtype == torch.bool or i.dim() > 1
                                                for i in indices) or given.numel() != 1:
        raise UnsupportedModel("writing to places that tensors of integers choose, but one number to "
                               "(row, column) pairs of a matrix; write it with torch.where")
    return torch.where(_chosen(x, *indices), given.reshape(()).to(x.dtype), x)


def _chosen(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """Which elements of a matrix are in pairs of these: [pairs, rows, columns], any of them."""
    hit = []
    for places, size in ((rows, x.shape[0]), (columns, x.shape[1])):
        places = torch.where(places < 0, places + size, places).reshape(-1, 1)
        hit.append(places == torch.arange(size, device=x.device))
    return (hit[0][:, :, None] & hit[1][:, None]).any(0)


# ---- features of images in the places of a text

@formula_of(aten.masked_scatter.default, wide=False)
def _masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The i-th place that the mask chooses takes the i-th element of the source; rows at once
    where the mask repeats along the last dim, as masks of image tokens do."""
    width = x.shape[-1]
    rows = mask.shape == x.shape and mask.stride(-1) == 0 and source.shape[-1] == width
    chosen = (mask[..., 0] if rows else mask.expand(x.shape)).reshape(-1)
    table = source.reshape(-1, width if rows else 1)
    place = (chosen.to(torch.int64).cumsum(0) - 1).clamp(min=0)
    found = torch.index_select(table, 0, place).reshape(x.shape)
    return torch.where(mask, found.to(x.dtype), x)
