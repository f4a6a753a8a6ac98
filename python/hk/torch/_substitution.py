"""Replaces a model's leaves by hk's operators for the time of its export."""

import contextlib
import typing

import torch

from ..errors import UnsupportedModel
from . import _indexer, _latent, _norms
from ._distances import Distances, Tables
from ._experts import Experts
from ._masks import Mask, MaskHook, UnfittedMask, extent_of, widest_of
from ._recurrent import Recurrent
from ._rotary import Rotary
from ._written import Fitted, Written

IMPLEMENTATION = "hk"


def set_attention(model: typing.Any, name: str) -> None:
    """Chooses the attention of a model, where it can be chosen; transformers would warn."""
    if model._can_set_attn_implementation():
        model.set_attn_implementation(name)


class _Biased(UnsupportedModel):
    """The interface of attention is handed what only the model's own formula of it shows."""


class Substitution:
    """What was found in a model. `dense`: sequences are rows of a batch (encoders)."""

    def __init__(self, model: torch.nn.Module, *, dense: bool, context: int):
        self.model, self.dense = model, dense
        self.norms, self.refused_norms = _norms.substitute(model)
        self.rotary = Rotary(model, context)
        self.experts = Experts(model)
        self.recurrent = Recurrent(model, lambda: self.extents, dense)
        self.latents = [] if dense else [m for m in model.modules() if _latent.is_latent(m)]
        self.indexers = _indexer.find(model, context)
        self.distances = Distances(model, context)
        config = model.config.get_text_config()
        self.masks = MaskHook(extent_of(config, context))
        # Of attention that the model writes itself, which is run for it.
        self._tried = min(max(2 * widest_of(config) + 5, 37), context)
        self.written: Written | None = None  # Where the model does not ask the interface.
        self.extents: torch.Tensor | None = None
        self.attentions = 0
        self.layers: list[tuple] = []  # Of caches: heads, widths of keys and values.
        self._cached: list[tuple] = []  # The keys and values of each.

    def _clear(self) -> None:
        """Before the model runs: no attention was seen."""
        self.attentions = 0
        self.layers.clear()
        self._cached.clear()

    def _cache(self, key: typing.Any, value: typing.Any, sizes: tuple) -> int:
        """The number of the cache of keys and values; layers that attend to the same share one."""
        self.attentions += 1
        for layer, (k, v) in enumerate(self._cached):
            if k is key and v is value:
                return layer
        self._cached.append((key, value))
        self.layers.append(sizes)
        return len(self.layers) - 1

    def attend(self, module: torch.nn.Module, query: torch.Tensor, key: torch.Tensor,
               value: torch.Tensor, attention_mask: typing.Any, scaling: float | None = None,
               softcap: float | None = None, s_aux: torch.Tensor | None = None,
               **kwargs: typing.Any) -> tuple:
        """The attention interface of transformers. Trusts its arguments alone: a module's
        attributes say what some of its layers may do."""
        where = f"attention {self.attentions} ({type(module).__name__})"
        if isinstance(attention_mask, UnfittedMask):
            raise UnsupportedModel(f"{where}: the mask is not one of hk.attention's: "
                                   + attention_mask.reason)
        if attention_mask is None:
            attention_mask = Mask(bool(kwargs.get("is_causal")))
        if not isinstance(attention_mask, Mask):
            raise UnsupportedModel(f"{where}: the model changes its mask to a "
                                   f"{type(attention_mask).__name__}; hk.attention has no mask "
                                   "operand")
        self._causal(attention_mask)
        for name in ("position_bias", "head_mask", "alibi", "indices"):
            if kwargs.get(name) is not None:
                raise _Biased(f"{where}: hk.attention has no {name}")
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        if isinstance(key, _latent.Latent):
            layer = self._cache(key, value, (1, key.rows.shape[3], 0))
            return _latent.attend(query, key, self.extents, s_aux, scale, *attention_mask,
                                  float(softcap or 0.0), layer), None
        layer = self._cache(key, value, (key.shape[1], key.shape[3], value.shape[3]))
        out = torch.ops.hk.attention(query, key, value, self.extents, s_aux, None, self.dense,
                                     scale, *attention_mask, float(softcap or 0.0), layer)
        return out, None

    def _causal(self, mask: Mask) -> None:
        """With caches a token cannot see those of later calls."""
        if not self.dense and not mask.causal:
            raise UnsupportedModel(f"attention {self.attentions} of {type(self.model).__name__}: "
                                   "tokens see later ones, which a model with caches cannot; "
                                   "import it with the dense signature")

    def attend_written(self, fitted: Fitted, query: torch.Tensor, key: torch.Tensor,
                       value: torch.Tensor) -> torch.Tensor:
        """An attention that the model writes itself, of [B, H, S, D] to the same."""
        if not isinstance(fitted.mask, Mask):
            raise UnsupportedModel(f"attention {self.attentions} (products and a softmax of "
                                   f"{type(self.model).__name__}): what lies between them is not "
                                   f"hk.attention's: {fitted.mask.reason}")
        self._causal(fitted.mask)
        layer = self._cache(key, value, (key.shape[1], key.shape[3], value.shape[3]))
        if (tables := self.distances.take()) is not None:
            return self._by_distance(fitted, query, key, value, tables, layer).transpose(1, 2)
        out = torch.ops.hk.attention(query, key, value, self.extents, None, fitted.bias, self.dense,
                                     fitted.scale, *fitted.mask, 0.0, layer)
        return out.transpose(1, 2)

    def _by_distance(self, fitted: Fitted, query: torch.Tensor, key: torch.Tensor,
                     value: torch.Tensor, tables: Tables, layer: int) -> torch.Tensor:
        if not self.dense or fitted.mask != Mask(False) or fitted.bias is not None:
            raise UnsupportedModel(f"attention {self.attentions} of {type(self.model).__name__}: a "
                                   "bias of content and distance beside a mask or another bias; "
                                   "hk's import has it for encoders that see all tokens")
        return torch.ops.hk.attention_by_distance(query, key, value, self.extents, *tables,
                                                  fitted.scale, layer)

    def begin(self) -> None:
        """Before the model runs once more."""
        self.masks.next = 0
        self._clear()
        self.recurrent.clear()
        if self.written is not None:
            self.written.begin()

    @property
    def biases(self) -> list[torch.Tensor]:
        """Biases of attention that were found."""
        fitted = self.written.fitted if self.written else []
        return [f.bias for f in fitted if f.bias is not None]

    @contextlib.contextmanager
    def _interfaces(self) -> typing.Iterator[None]:
        """Registers the attention and mask hooks, and takes them back."""
        from transformers import AttentionInterface, AttentionMaskInterface

        if self.written is not None:
            self._clear()
            with self.written.active(self.attend_written):
                yield
            return
        config = self.model.config
        before = config._attn_implementation
        AttentionInterface.register(IMPLEMENTATION, self.attend)
        AttentionMaskInterface.register(IMPLEMENTATION, self.masks)
        set_attention(self.model, IMPLEMENTATION)
        self._clear()
        try:
            yield
        finally:
            set_attention(self.model, before)
            AttentionInterface._global_mapping.pop(IMPLEMENTATION)
            AttentionMaskInterface._global_mapping.pop(IMPLEMENTATION)

    def observe(self, run: typing.Callable[[torch.Tensor], object], ids: torch.Tensor,
                vocabulary: int, context: int) -> None:
        """Runs the model on a short input and looks at its masks and rotary functions; then, if it
        does not call the attention interface, or not with what this takes, at its products."""
        try:
            self._run_observed(lambda: run(ids))
        except UnsupportedModel as error:
            if not isinstance(error, _Biased):
                raise
            self._look_at_products()
        except Exception:  # noqa: BLE001 - perhaps it computes with its mask
            self._look_at_products()
            self._run_observed(lambda: run(ids))
        self.rotary.make_tables()
        if not self.layers and not self.recurrent.states:
            self.written = self.written or Written()
            with self.distances.active():
                self.written.observe(run, vocabulary, self._tried, context)
            if not self.written.sites:
                raise UnsupportedModel(
                    f"{type(self.model).__name__} has no attention that hk finds: neither "
                    "transformers' AttentionInterface nor a softmax between two products, and no "
                    "layers with states that hk has (short convolutions, the gated delta rule); "
                    "hk.torch.export_module may take it, as a function of tensors")

    def _look_at_products(self) -> None:
        """From here on the model computes its attention itself."""
        self._clear()
        self.recurrent.clear()
        set_attention(self.model, "eager")
        self.written = Written()

    def _run_observed(self, run: typing.Callable[[], object]) -> None:
        self.rotary.observe()
        self.recurrent.observe()
        try:
            with self._interfaces(), _indexer.active(self.indexers), torch.no_grad():
                run()
        finally:
            self.rotary.restore()
            self.recurrent.restore()

    @contextlib.contextmanager
    def active(self) -> typing.Iterator[None]:
        """The model computes with torch.ops.hk for as long."""
        self.masks.replay()
        self.rotary.substitute()
        self.recurrent.substitute()
        try:
            with (_norms.active(self.norms), self._interfaces(), self.experts.active(),
                  _latent.active(self.latents), _indexer.active(self.indexers),
                  self.distances.active()):
                yield
        finally:
            self.rotary.restore()
            self.recurrent.restore()
