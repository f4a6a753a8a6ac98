"""Replaces a model's leaves by hk's operators for the time of its export."""

import contextlib
import typing

import torch

from ..errors import UnsupportedModel
from . import _latent, _norms
from ._experts import Experts
from ._masks import Mask, MaskHook, UnfittedMask, extent_of
from ._recurrent import Recurrent
from ._rotary import Rotary

IMPLEMENTATION = "hk"


class Substitution:
    """What was found in a model. `dense`: sequences are rows of a batch (encoders)."""

    def __init__(self, model: torch.nn.Module, *, dense: bool, context: int):
        self.model, self.dense = model, dense
        self.norms, self.refused_norms = _norms.substitute(model)
        self.rotary = Rotary(model, context)
        self.experts = Experts(model)
        self.recurrent = Recurrent(model, lambda: self.extents, dense)
        self.latents = [] if dense else [m for m in model.modules() if _latent.is_latent(m)]
        self.masks = MaskHook(extent_of(model.config))
        self.extents: torch.Tensor | None = None
        self.layers: list[tuple] = []

    def attend(self, module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor,
               value: torch.Tensor, attention_mask: typing.Any, scaling: float | None = None,
               softcap: float | None = None, s_aux: torch.Tensor | None = None,
               **kwargs: typing.Any) -> tuple:
        """The attention interface of transformers. Trusts its arguments alone: a module's
        attributes say what some of its layers may do."""
        where = f"attention {len(self.layers)} ({type(module).__name__})"
        if isinstance(attention_mask, UnfittedMask):
            raise UnsupportedModel(f"{where}: the mask is not one of hk.attention's: "
                                   + attention_mask.reason)
        if attention_mask is None:
            attention_mask = Mask(bool(kwargs.get("is_causal")))
        if not isinstance(attention_mask, Mask):
            raise UnsupportedModel(f"{where}: the model changes its mask to a "
                                   f"{type(attention_mask).__name__}; hk.attention has no mask "
                                   "operand")
        for name in ("position_bias", "head_mask", "alibi"):
            if kwargs.get(name) is not None:
                raise UnsupportedModel(f"{where}: hk.attention has no {name}")
        layer = len(self.layers)
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        if isinstance(key, _latent.Latent):
            self.layers.append((1, key.rows.shape[3], 0))
            return _latent.attend(query, key, self.extents, scale, *attention_mask,
                                  float(softcap or 0.0), layer), None
        self.layers.append((key.shape[1], key.shape[3], value.shape[3]))
        out = torch.ops.hk.attention(query, key, value, self.extents, s_aux, self.dense, scale,
                                     *attention_mask, float(softcap or 0.0), layer)
        return out, None

    @contextlib.contextmanager
    def _interfaces(self) -> typing.Iterator[None]:
        """Registers the attention and mask hooks, and takes them back."""
        from transformers import AttentionInterface, AttentionMaskInterface

        config = self.model.config
        before = config._attn_implementation
        AttentionInterface.register(IMPLEMENTATION, self.attend)
        AttentionMaskInterface.register(IMPLEMENTATION, self.masks)
        self.model.set_attn_implementation(IMPLEMENTATION)
        self.layers.clear()
        try:
            if config._attn_implementation != IMPLEMENTATION:
                raise UnsupportedModel(f"{type(self.model).__name__} does not call attention "
                                       "through transformers' AttentionInterface, where hk "
                                       "replaces it; use a version of the model that does")
            yield
        finally:
            self.model.set_attn_implementation(before)
            AttentionInterface._global_mapping.pop(IMPLEMENTATION)
            AttentionMaskInterface._global_mapping.pop(IMPLEMENTATION)

    def observe(self, run: typing.Callable[[], object]) -> None:
        """Runs the model on a short input and looks at its masks and rotary functions."""
        self.rotary.observe()
        self.recurrent.observe()
        try:
            with self._interfaces(), torch.no_grad():
                run()
        finally:
            self.rotary.restore()
            self.recurrent.restore()
        self.rotary.make_tables()

    @contextlib.contextmanager
    def active(self) -> typing.Iterator[None]:
        """The model computes with torch.ops.hk for as long."""
        self.masks.replay()
        self.rotary.substitute()
        self.recurrent.substitute()
        try:
            with (_norms.active(self.norms), self._interfaces(), self.experts.active(),
                  _latent.active(self.latents)):
                yield
        finally:
            self.rotary.restore()
            self.recurrent.restore()
