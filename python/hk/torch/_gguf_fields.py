"""What a GGUF file says of its model beyond what transformers reads of it.

transformers takes the fields and tensors of a list of its own and leaves out the others without a
word: scaled frequencies of rotary embeddings (Llama 3.1, long contexts), the part of a head that
turns, windows, biases. A model without them runs and gives other values. Here they are brought into
the configuration, and what has no place there is refused. Meanings: llama.cpp's llama-hparams and
gguf-py's constants.py.
"""

import os
import typing

from ..errors import UnsupportedModel

# Fields behind the name of the architecture, and the configuration's attribute: the first it has.
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "vocab_size": ("vocab_size",), "attention.key_length": ("head_dim",),
    "attention.sliding_window": ("sliding_window",),
    "attn_logit_softcapping": ("attn_logit_softcapping",),
    "final_logit_softcapping": ("final_logit_softcapping",),
    "attention.layer_norm_epsilon": ("layer_norm_eps", "layer_norm_epsilon", "norm_epsilon",
                                     "norm_eps"),
    "expert_feed_forward_length": ("moe_intermediate_size", "intermediate_size"),
    "expert_shared_feed_forward_length": ("shared_expert_intermediate_size",),
}
# Read below, of rotary embeddings; and what changes no value of the classes that read such files.
ROTARY = ("freq_base", "freq_base_swa", "dimension_count", "scaling.type", "scaling.factor",
          "scaling.attn_factor", "scaling.original_context_length", "scaling.yarn_beta_fast",
          "scaling.yarn_beta_slow", "scaling.finetuned", "scale_linear")
# Sizes of matrices are those of its tensors.
SILENT = ("context_length", "attention.value_length", "attention.causal", "feed_forward_length",
          "use_parallel_residual", "tensor_data_layout", "expert_gating_func",
          "expert_weights_norm", "attention.sliding_window_pattern", "pooling_type")
OTHER_PARTS = ("mm.", "vision.", "audio.")  # Of a model whose text is read.
FACTORS, LONG, SHORT = (f"rope_{n}.weight" for n in ("freqs", "factors_long", "factors_short"))
# Layers of the two sizes of Gemma whose scores llama.cpp scales by another number than the head's.
SCALED_BY_WIDTH = {"gemma2": 46, "gemma3": 62}


def _head(config: typing.Any) -> int:
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


class File:
    """The fields of a file's architecture, without its name in front, and its tensors."""

    def __init__(self, path: str | os.PathLike):
        import gguf

        reader = gguf.GGUFReader(path)
        self.architecture = reader.fields["general.architecture"].contents()
        front = f"{self.architecture}."
        self.fields = {n.removeprefix(front): f.contents() for n, f in reader.fields.items()
                       if n.startswith(front)}
        self.tensors = {t.name: t.data for t in reader.tensors}

    def _refuse(self, what: str) -> typing.NoReturn:
        raise UnsupportedModel(f"the GGUF file has {what}, which hk's import does not bring into "
                               "the model, so that its values would be others; import the folder "
                               "that the file was made of")

    def complete(self, config: typing.Any) -> None:
        """Brings what transformers left out into a configuration of it."""
        from transformers.integrations import GGUF_CONFIG_MAPPING

        read = GGUF_CONFIG_MAPPING.get(config.model_type.removesuffix("_text"), {})
        for field, value in self.fields.items():
            silent = field in SILENT or field.startswith(OTHER_PARTS)
            if read.get(field) is None and not silent:
                self._field(config, field, value)
        for name, tensor in (("attention_bias", "attn_q.bias"), ("mlp_bias", "ffn_up.bias")):
            if hasattr(config, name):
                setattr(config, name, any(t.endswith(tensor) for t in self.tensors))
        self._layers(config)
        if getattr(config, "rope_parameters", None):
            self._rotary(config)

    def _field(self, config: typing.Any, field: str, value: typing.Any) -> None:
        if field.removeprefix("rope.") in ROTARY or not value:
            return
        name = next((n for n in ATTRIBUTES.get(field, ()) if hasattr(config, n)), None)
        if name is None and field == "attention.key_length" and value == _head(config):
            return
        if name is None:
            self._refuse(f"{self.architecture}.{field} = {value}")
        setattr(config, name, value)

    def _layers(self, config: typing.Any) -> None:
        """Which layers have a window, and what scores are divided by the root of."""
        count = config.num_hidden_layers
        pattern = self.fields.get("attention.sliding_window_pattern")
        if pattern and hasattr(config, "layer_types"):
            windows = pattern if isinstance(pattern, list) else [
                (i + 1) % pattern != 0 for i in range(count)]
            config.layer_types = ["sliding_attention" if w else "full_attention"
                                  for w in windows[:count]]
        if hasattr(config, "query_pre_attn_scalar"):
            by_width = SCALED_BY_WIDTH.get(self.architecture) == count
            config.query_pre_attn_scalar = (config.hidden_size // config.num_attention_heads
                                            if by_width else config.head_dim)

    def _rotary(self, config: typing.Any) -> None:
        """Frequencies: their base, how they are scaled, which part of a head turns."""
        rope = config.rope_parameters
        long = rope.get("full_attention", rope)  # Layers with a window have their own.
        if base := self.fields.get("rope.freq_base"):
            long["rope_theta"] = base
        if (base := self.fields.get("rope.freq_base_swa")) and "sliding_attention" in rope:
            rope["sliding_attention"]["rope_theta"] = base
        part = self.fields.get("rope.dimension_count", _head(config)) / _head(config)
        if part != long.get("partial_rotary_factor", 1.0) and not hasattr(config, "rotary_dim"):
            long["partial_rotary_factor"] = part
        self._scaling(config, long)

    def _scaling(self, config: typing.Any, rope: dict) -> None:
        said = {n.removeprefix("rope.scaling."): v for n, v in self.fields.items()}
        kind, factor = said.get("type", "none"), said.get("factor", 1.0)
        kind = "linear" if kind == "none" and factor not in (0.0, 1.0) else kind
        context = said.get("original_context_length", config.max_position_embeddings)
        if kind == "linear" and factor not in (0.0, 1.0):
            rope |= {"rope_type": "linear", "factor": float(factor)}
        elif kind == "yarn":
            rope |= {"rope_type": "yarn", "factor": float(factor),
                     "original_max_position_embeddings": context,
                     "beta_fast": said.get("yarn_beta_fast", 32.0),
                     "beta_slow": said.get("yarn_beta_slow", 1.0)}
            if said.get("attn_factor", 1.0) != 1.0:
                self._refuse(f"rope.scaling.attn_factor = {said['attn_factor']} of yarn")
        elif kind not in ("none", "linear", "longrope"):
            self._refuse(f"rope.scaling.type = {kind}")
        self._factors(config, rope, said.get("attn_factor", 1.0), context)

    def _factors(self, config: typing.Any, rope: dict, attention: float, context: int) -> None:
        """A number by which each frequency is divided, perhaps others for long sequences."""
        short = self.tensors.get(FACTORS, self.tensors.get(SHORT))
        if short is None or ((short == 1.0).all() and LONG not in self.tensors):
            return
        if rope.get("rope_type", "default") not in ("default", "longrope"):
            self._refuse(f"factors of frequencies beside rope.scaling.type = {rope['rope_type']}")
        long = self.tensors.get(LONG, short)
        rope |= {"rope_type": "longrope", "short_factor": short.tolist(),
                 "long_factor": long.tolist(), "attention_factor": float(attention),
                 "original_max_position_embeddings": context,
                 "factor": max(config.max_position_embeddings / context, 1.0)}
        if hasattr(config, "original_max_position_embeddings"):
            config.original_max_position_embeddings = context

    def require_read(self, model: typing.Any) -> None:
        """Every tensor of the file is one of the model."""
        from transformers import modeling_gguf_pytorch_utils as reading

        processor = reading.TENSOR_PROCESSORS.get(self.architecture, reading.TensorProcessor)
        known = reading.get_gguf_hf_weights_map(model, processor(config=model.config.to_dict()))
        read = {*known, FACTORS, LONG, SHORT, "output.weight"}
        for name in self.tensors:
            if not {name, name.removesuffix(".weight")} & read:
                self._refuse(f"a tensor {name}")
