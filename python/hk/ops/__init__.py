"""Operators for PyTorch under AITER's names and in its order of arguments, computed by hk.

    from hk import ops
    ops.silu_and_mul(out, x)                # also torch.ops.hk_ops.silu_and_mul

Each is a torch.library operator with a fake implementation, so torch.compile keeps it whole.
A module is compiled on first use for the types and static widths of a call (a second or so)
and kept on disk. Tensors are dense and on one device; nothing is copied or converted
silently. docs/ops.md says which formula each computes and where it was tested.
"""

from .activations import gelu_and_mul, gelu_tanh_and_mul, silu_and_mul
from .attention import (paged_attention_decode, reshape_and_cache_flash,
                        rope_cached_positions_2c_fwd, rope_cached_positions_fwd)
from .norms import (layer_norm, layernorm2d_fwd, layernorm2d_fwd_with_add, rms_norm, rmsnorm2d_fwd,
                    rmsnorm2d_fwd_with_add, rmsnorm2d_fwd_with_add_dynamicquant,
                    rmsnorm2d_fwd_with_dynamicquant)
from .products import gemm_a8w8, gemm_a8w8_blockscale, gemm_a16w16
from .quantisation import (dynamic_per_tensor_quant, dynamic_per_token_scaled_quant,
                           static_per_tensor_quant)
from .routing import topk_softmax

__all__ = ["dynamic_per_tensor_quant", "dynamic_per_token_scaled_quant", "gelu_and_mul",
           "gelu_tanh_and_mul", "gemm_a16w16", "gemm_a8w8", "gemm_a8w8_blockscale", "layer_norm",
           "layernorm2d_fwd", "layernorm2d_fwd_with_add", "paged_attention_decode",
           "reshape_and_cache_flash", "rms_norm", "rmsnorm2d_fwd", "rmsnorm2d_fwd_with_add",
           "rmsnorm2d_fwd_with_add_dynamicquant", "rmsnorm2d_fwd_with_dynamicquant",
           "rope_cached_positions_2c_fwd", "rope_cached_positions_fwd", "silu_and_mul",
           "static_per_tensor_quant", "topk_softmax"]
