"""Convolutions, pooling over windows and other sizes of images, as slices, products and sums.

A convolution is a product: each place of the result has the elements of its window as a row.
Windows that neither overlap nor leave gaps (patches of an image) are a view; others are slices,
joined one dim after the other, so that a window of 7 x 7 is 14 of them. Channels lie last, where
the result of a convolution has them. One that keeps channels apart is a sum of slices.
"""

import math
import typing

import torch

from ..errors import UnsupportedModel
from ._aten import Result, handles
from ._builder import Builder, Size, Value
from ._formulas import formula_of

aten = torch.ops.aten
Tensor = torch.Tensor
JOINED = 16  # Slices of one concatenation, if the window can be cut into as many.
MOST_WINDOWS = 48  # Of an adaptive average, each a slice of its own.


class Window(typing.NamedTuple):
    """A window of one dim: elements, the steps between its places and between its elements, and
    how many places it has."""

    size: int
    step: int
    apart: int
    places: int


@torch.library.custom_op("hk::by_tap", mutates_args=())
def by_tap(weight: Tensor, transposed: bool) -> Tensor:
    """The weight [N, C, k, ..] of a convolution as a matrix [N, k .. C]; `transposed`: of
    [C, N, k, ..], whose elements are taken from the other end."""
    if transposed:
        weight = weight.flip(list(range(2, weight.dim()))).transpose(0, 1)
    return weight.movedim(1, -1).reshape(weight.shape[0], -1).clone()


@by_tap.register_fake
def _(weight, transposed):
    return weight.new_empty(weight.shape[transposed], weight[0].numel() if not transposed else
                            weight[:, 0].numel())


@handles("hk.by_tap")
def _by_tap(b: Builder, result: Result, weight: Value, transposed: bool) -> Value:
    """Of a weight that the call computes."""
    if transposed:
        raise UnsupportedModel("a transposed convolution whose weight depends on data")
    order = [0, *range(2, len(weight.shape)), 1]
    moved = weight._replace(shape=tuple(weight.shape[d] for d in order),
                            dims=tuple(weight.dims[d] for d in order))
    return b.viewed(moved, result.shape)


@torch.library.custom_op("hk::places", mutates_args=())
def places_of(x: Tensor, dim: int, start: int, count: int, step: int) -> Tensor:
    """Every `step`th element of a dim: aten.slice, whose size torch does not always see to be this
    where it is one that a call tells."""
    return aten.slice(x, dim, start, start + (count - 1) * step + 1, step).clone()


@places_of.register_fake
def _(x, dim, start, count, step):
    return x.new_empty(*x.shape[:dim], count, *x.shape[dim + 1:])


@handles("hk.places")
def _places(b: Builder, result: Result, x: Value, dim: int, start: int, count: Size, step: int
            ) -> Value:
    """Memory has a step in all dims but the last stored one."""
    if step != 1:
        rest = [d for d in range(len(x.shape)) if d != dim]
        x = b.permuted(x, [*rest[:-1], dim, *rest[-1:]])
        if x.dims[dim] == len(x.stored) - 1:
            x = b.reshaped(x, (*x.stored, 1))._replace(shape=x.shape, dims=x.dims)
    return b.sliced(x, dim, start, count, step)


def _slices(x: Tensor, dim: int, window: Window) -> list[Tensor]:
    """The window's elements, one tensor each."""
    starts = [t * window.apart for t in range(window.size)]
    if not isinstance(window.places, int):
        return [torch.ops.hk.places(x, dim, t, window.places, window.step) for t in starts]
    run = (window.places - 1) * window.step + 1
    return [aten.slice(x, dim, t, t + run, window.step) for t in starts]


def _joined(x: Tensor, dim: int, window: Window) -> Tensor:
    """The window's elements side by side, in front of what the last dim has."""
    part = max(n for n in range(1, JOINED + 1) if window.size % n == 0)
    if window.size > JOINED and part > 1:
        # Runs of a few elements at every place first, then every run that a window has.
        rest = window.size // part
        longer = (window.places - 1) * window.step + 1 + (rest - 1) * part * window.apart
        x = _joined(x, dim, Window(part, 1, window.apart, longer))
        window = Window(rest, window.step, part * window.apart, window.places)
    taps = _slices(x, dim, window)
    return taps[0] if len(taps) == 1 else torch.cat(taps, -1)


def _windows(sizes: typing.Sequence, kernel: list, stride: list, padding: list, dilation: list,
             ceil: bool = False) -> list[Window]:
    made = []
    for n, k, s, p, a in zip(sizes, kernel, stride, padding, dilation, strict=True):
        places = (n + 2 * p - a * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        # A window that begins in the zeros behind is none.
        made.append(Window(k, s, a, places - (ceil and (places - 1) * s >= n + p)))
    return made


def _patches(x: Tensor, weight: Tensor, windows: list[Window]) -> Tensor:
    """Windows side by side: [N, C, ..] to [N, places .., out]."""
    spatial = len(windows)
    for d, window in enumerate(windows):
        x = x.narrow(d + 2, 0, window.places * window.size)
    x = x.reshape(*x.shape[:2], *(n for w in windows for n in (w.places, w.size)))
    x = x.permute(0, *range(2, 2 + 2 * spatial, 2), 1, *range(3, 3 + 2 * spatial, 2))
    rows = x.reshape(*x.shape[:1 + spatial], weight[0].numel())
    return torch.nn.functional.linear(rows, weight.reshape(weight.shape[0], -1))


def _apart(x: Tensor, weight: Tensor, windows: list[Window]) -> Tensor:
    """Every channel by itself, x [N, .., C] in f32."""
    taps = [x]
    for d, window in enumerate(windows):
        taps = [t for x in taps for t in _slices(x, d + 1, window)]
    rows = weight.float().reshape(weight.shape[0], -1).unbind(-1)
    made = taps[0] * rows[0]
    for tap, row in zip(taps[1:], rows[1:], strict=True):
        made = made + tap * row
    return made


def _grouped(rows: Tensor, weight: Tensor, groups: int) -> Tensor:
    """Rows [N, .., taps C] of channels that only those of their group see."""
    channels, out = weight.shape[1], weight.shape[0] // groups
    taps = weight[0, 0].numel()
    x = rows.reshape(-1, taps, groups, channels).permute(2, 0, 1, 3)
    x = x.reshape(groups, -1, taps * channels)
    matrix = torch.ops.hk.by_tap(weight, False).reshape(groups, out, taps * channels)
    made = torch.bmm(x, matrix.transpose(1, 2)).transpose(0, 1)
    return made.reshape(*rows.shape[:-1], groups * out)


def _padded(x: Tensor, padding: list) -> Tensor:
    """x [N, .., C] with zeros around it."""
    pads = [n for p in reversed(padding) for n in (p, p)]
    return torch.nn.functional.pad(x, [0, 0, *pads]) if any(padding) else x


def _convolved(x: Tensor, weight: Tensor, windows: list[Window], padding: list, groups: int,
               transposed: bool = False) -> Tensor:
    """[N, C, ..] to [N, places .., out]."""
    if groups == 1 and not transposed and not any(padding) and all(
            isinstance(w.places, int) and w.size == w.step and w.apart == 1 for w in windows):
        return _patches(x, weight, windows)
    x = _padded(x.movedim(1, -1), padding)
    if weight.shape[1] == 1 and groups == weight.shape[0] > 1:
        return _apart(x.float(), weight, windows).to(x.dtype)
    for d in reversed(range(len(windows))):
        x = _joined(x, d + 1, windows[d])
    if groups != 1:
        return _grouped(x, weight, groups)
    return torch.nn.functional.linear(x, torch.ops.hk.by_tap(weight, transposed))


def _spread(x: Tensor, stride: list) -> Tensor:
    """[N, C, ..] with zeros between its elements."""
    for d, step in enumerate(stride):
        if step > 1:
            x = torch.nn.functional.pad(x.unsqueeze(d + 3).movedim(d + 3, -1), [0, step - 1])
            x = x.movedim(-1, d + 3).flatten(d + 2, d + 3)
            x = x.narrow(d + 2, 0, x.shape[d + 2] - step + 1)
    return x


def _deconvolved(x: Tensor, weight: Tensor, stride: list, padding: list, dilation: list,
                 beyond: list, groups: int) -> Tensor:
    """The transposed convolution: one of x with zeros between its elements."""
    if groups != 1:
        raise UnsupportedModel(f"a transposed convolution of {groups} groups; hk's import has those "
                               "of one")
    kernel = list(weight.shape[2:])
    around = [a * (k - 1) - p for k, p, a in zip(kernel, padding, dilation, strict=True)]
    x = _spread(x, stride)
    pads = [n for p, e in reversed(list(zip(around, beyond, strict=True))) for n in (p, p + e)]
    x = torch.nn.functional.pad(x, pads) if any(pads) else x
    none = [0] * len(kernel)
    windows = _windows(x.shape[2:], kernel, [1] * len(kernel), none, dilation)
    return _convolved(x, weight, windows, none, 1, transposed=True)


def _every(dims: int, given: typing.Sequence[int]) -> list[int]:
    """A number for each dim; one may stand for all."""
    return list(given) * (dims if len(given) == 1 else 1)


@formula_of(aten.convolution.default, wide=False)
def _convolution(x: Tensor, weight: Tensor, bias: Tensor | None, stride: list, padding: list,
                 dilation: list, transposed: bool, beyond: list, groups: int) -> Tensor:
    stride, padding, dilation, beyond = (_every(x.dim() - 2, given) for given in (
        stride, padding, dilation, beyond))
    if transposed:
        made = _deconvolved(x, weight, stride, padding, dilation, beyond, groups)
    else:
        windows = _windows(x.shape[2:], list(weight.shape[2:]), stride, padding, dilation)
        made = _convolved(x, weight, windows, padding, groups)
    return (made if bias is None else made + bias).movedim(-1, 1)


@formula_of(aten.unfold.default, wide=False)
def _unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    dim = dim % x.dim()
    window, = _windows(x.shape[dim:dim + 1], [size], [step], [0], [1])
    return torch.stack(_slices(x, dim, window), -1)


# ---- pooling

def _pooled(x: Tensor, kernel: list, stride: list, padding: list, dilation: list, ceil: bool,
            outside: float) -> list[Tensor]:
    """The elements of all windows, one tensor each."""
    spatial = len(kernel)
    stride = stride or kernel
    windows = _windows(x.shape[-spatial:], kernel, stride, padding, dilation, ceil)
    pads = []
    for n, p, w in reversed(list(zip(x.shape[-spatial:], padding, windows, strict=True))):
        pads += [p, max((w.places - 1) * w.step + w.apart * (w.size - 1) + 1 - n - p, 0)]
    x = torch.nn.functional.pad(x, pads, value=outside) if any(pads) else x
    taps = [x]
    for d, window in enumerate(windows):
        taps = [t for x in taps for t in _slices(x, x.dim() - spatial + d, window)]
    return taps


@formula_of(aten.max_pool2d_with_indices.default, aten.max_pool3d_with_indices.default, wide=False)
def _max_pool(x: Tensor, kernel: list, stride: list = (), padding: list = (0, 0),
              dilation: list = (1, 1), ceil: bool = False) -> tuple:
    kernel, stride, padding, dilation = (_every(len(kernel), given) for given in (
        kernel, stride, padding, dilation))
    taps = _pooled(x, kernel, stride, padding, dilation, ceil, -math.inf)
    made = taps[0]
    for tap in taps[1:]:
        made = torch.maximum(made, tap)
    return made, None


@formula_of(aten.avg_pool1d.default, aten.avg_pool2d.default, aten.avg_pool3d.default)
def _avg_pool(x: Tensor, kernel: list, stride: list = (), padding: list = (0,), ceil: bool = False,
              count_padding: bool = True, divisor: int | None = None) -> Tensor:
    spatial = len(kernel)
    padding, stride = _every(spatial, padding), list(stride) or list(kernel)
    taps = _pooled(x, list(kernel), stride, padding, [1] * spatial, ceil, 0.0)
    made = taps[0]
    for tap in taps[1:]:
        made = made + tap
    if divisor is not None or not ceil and (count_padding or not any(padding)):
        return made * (1.0 / (divisor or len(taps)))
    for dim, window in enumerate(_windows(x.shape[-spatial:], kernel, stride, padding, [1] * spatial,
                                          ceil)):
        count = _elements(window, x.shape[dim - spatial], padding[dim], count_padding)
        made = made / count.reshape([-1] + [1] * (spatial - 1 - dim))
    return made


def _elements(window: Window, size: Size, padding: int, count_padding: bool) -> Tensor:
    """How many elements each place of a window has, at the edges fewer."""
    if not isinstance(size, int):
        raise UnsupportedModel("an average of windows of which those at the edge have fewer "
                               "elements, along a dim whose size a call tells")
    begin = torch.arange(window.places) * window.step - padding
    end = (begin + window.size).clamp(max=size + (padding if count_padding else 0))
    return (end - (begin if count_padding else begin.clamp(min=0))).float()


@formula_of(aten._adaptive_avg_pool2d.default)
def _adaptive_avg_pool(x: Tensor, sizes: list) -> Tensor:
    """Means of as many windows as are wanted, which overlap where the size is no multiple of that."""
    for dim, count in ((-1, sizes[1]), (-2, sizes[0])):
        size = x.shape[dim]
        if not isinstance(size, int) or not isinstance(count, int):
            raise UnsupportedModel("an adaptive average over a size that a call tells")
        if size % count == 0:
            x = x.unflatten(dim, (count, size // count)).mean(dim)
            continue
        if count > MOST_WINDOWS:
            raise UnsupportedModel(f"an adaptive average of {size} elements in {count} windows that "
                                   f"overlap; hk makes at most {MOST_WINDOWS} of them")
        # No product with shares: 0 times an infinity outside of a window is NaN.
        begin = [i * size // count for i in range(count)]
        end = [-(-(i + 1) * size // count) for i in range(count)]
        x = torch.cat([x.narrow(dim, i, j - i).mean(dim, keepdim=True)
                       for i, j in zip(begin, end, strict=True)], dim)
    return x


@formula_of(aten.grid_sampler_2d.default, wide=False)
def _grid_sampler(x: Tensor, grid: Tensor, mode: int, outside: int, corners: bool) -> Tensor:
    """x [N, C, H, W] at places [N, h, w, 2] from -1 to 1, (x, y): of the four elements around a place,
    or the nearest one; outside of x are zeros, or the elements at its edge."""
    if mode not in (0, 1) or outside not in (0, 1):
        raise UnsupportedModel("grid_sample that is bicubic or reflects; hk's import has bilinear "
                               "and nearest, with zeros or the border outside")
    n, channels, high, wide = x.shape
    rows = x.permute(0, 2, 3, 1).reshape(n * high * wide, channels)
    first = (torch.arange(n, device=x.device) * (high * wide))[:, None, None]
    at = []
    for place, size in ((grid[..., 0].float(), wide), (grid[..., 1].float(), high)):
        place = (place + 1) * ((size - 1) / 2) if corners else ((place + 1) * size - 1) / 2
        # At the border PyTorch takes NaN for the first element.
        at.append(torch.where(place == place, place.clamp(0, size - 1), 0.0) if outside else place)
    if mode == 1:
        corners_of = [(at[0].round(), at[1].round(), None)]
    else:
        left, top = at[0].floor(), at[1].floor()
        right, low = at[0] - left, at[1] - top
        corners_of = [(left, top, (1 - right) * (1 - low)), (left + 1, top, right * (1 - low)),
                      (left, top + 1, (1 - right) * low), (left + 1, top + 1, right * low)]
    made = None
    for column, row, share in corners_of:
        within = (column >= 0) & (column < wide) & (row >= 0) & (row < high)
        # f32 has no place beyond 2^24 of its own.
        place = row.clamp(0, high - 1).long() * wide + column.clamp(0, wide - 1).long() + first
        found = rows.index_select(0, place.reshape(-1)).reshape(*place.shape, channels).float()
        # What lies outside is 0 whatever the element at the edge is: infinities times 0 are NaN.
        part = torch.where(within[..., None], found if share is None else found * share[..., None],
                           0.0)
        made = part if made is None else made + part
    return made.permute(0, 3, 1, 2).to(x.dtype)


# ---- other sizes

@torch.library.custom_op("hk::resized", mutates_args=())
def resized(x: Tensor, dim: int, size: int, mode: str, corners: bool, scale: float) -> Tensor:
    """x with `size` elements along a dim, by interpolation; a scale of 0 is that of the sizes."""
    return (x.movedim(dim, -1).float() @ resizing(x.shape[dim], size, mode, corners, scale)
            ).to(x.dtype).movedim(-1, dim)


@resized.register_fake
def _(x, dim, size, mode, corners, scale):
    return x.new_empty(*x.shape[:dim], size, *x.shape[dim + 1:])


def resizing(old: int, new: int, mode: str, corners: bool, scale: float) -> Tensor:
    """The matrix [old, new] that interpolates: what PyTorch makes of each unit vector."""
    rows = torch.eye(old)[None, :, None]
    options = {} if mode.startswith("nearest") else {"align_corners": corners}
    # By the scale the size is the same again: it is rounded down from just above.
    given = {"scale_factor": (1.0, scale)} if scale else {"size": (1, new)}
    made = torch.nn.functional.interpolate(rows, mode=mode, **given, **options)[0, :, 0]
    if made.shape[1] != new:
        raise UnsupportedModel(f"{mode} interpolation of {old} elements by {scale} gives "
                               f"{made.shape[1]}, the graph has {new}")
    return made


def _resized(mode: str) -> typing.Callable:
    def formula(x: Tensor, size: list | None, *rest: typing.Any) -> Tensor:
        corners = bool(rest[0]) if len(rest) > 1 else False
        scales = rest[-1] or [0.0] * (x.dim() - 2)
        sizes = size or [int(n * s) for n, s in zip(x.shape[2:], scales, strict=True)]
        for d, (new, scale) in enumerate(zip(sizes, scales, strict=True)):
            if not isinstance(x.shape[d + 2], int) or not isinstance(new, int):
                raise UnsupportedModel("interpolation between sizes that are not known at compile "
                                       "time")
            if x.shape[d + 2] != new:
                x = torch.ops.hk.resized(x, d + 2, new, mode, corners, 0.0 if size else scale)
        return x
    return formula


for _target, _mode in ((aten.upsample_nearest1d.vec, "nearest"),
                       (aten.upsample_nearest2d.vec, "nearest"),
                       (aten._upsample_nearest_exact2d.vec, "nearest-exact"),  # noqa: SLF001
                       (aten.upsample_linear1d.vec, "bilinear"),
                       (aten.upsample_bilinear2d.vec, "bilinear"),
                       (aten.upsample_bicubic2d.vec, "bicubic")):
    formula_of(_target, wide=False)(_resized(_mode))
