"""Rotary embeddings, caches of keys and values, attention of one token to pages."""

# Names of arguments are AITER's.
# ruff: noqa: A002, N803

import torch

from ..errors import InvalidArgument
from ._run import op, run, unsupported


def _rotated(input: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor,
             positions: torch.Tensor, style: int, reuse: bool, nope_first: bool) -> torch.Tensor:
    if style not in (0, 1):
        raise InvalidArgument(f"rotate_style must be 0 (neox) or 1 (gptj), got {style}")
    words = ["neox" if style == 0 else "gptj", "%x, %cos, %sin positions %positions"]
    words += ["nope_first"] * nope_first + ["angle_per_element"] * (not reuse)
    out = torch.empty_like(input)
    x, y = (t.view(-1, *t.shape[-2:]) for t in (input, out))
    run(f"%out = hk.rope {' '.join(words)} : {{x}}, {{cos}}, {{sin}} positions {{positions}}",
        {"x": x, "cos": cos.view(cos.shape[0], -1), "sin": sin.view(sin.shape[0], -1),
         "positions": positions.view(-1)}, {"out": y}, dynamic={"cos": 0, "sin": 0})
    return out


@op(fake=lambda input, *_, **__: torch.empty_like(input))
def rope_cached_positions_fwd(input: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor,
                              positions: torch.Tensor, rotate_style: int,
                              reuse_freqs_front_part: bool, nope_first: bool) -> torch.Tensor:
    """input [s, b, h, d], positions [s, b], cos and sin [P, 1, 1, r], where 2 r (or with
    reuse_freqs_front_part False r) elements of a head are rotated."""
    return _rotated(input, cos, sin, positions, rotate_style, reuse_freqs_front_part, nope_first)


@op(fake=lambda input_x, input_y, *_, **__: (torch.empty_like(input_x), torch.empty_like(input_y)))
def rope_cached_positions_2c_fwd(input_x: torch.Tensor, input_y: torch.Tensor, cos: torch.Tensor,
                                 sin: torch.Tensor, positions: torch.Tensor, rotate_style: int,
                                 reuse_freqs_front_part: bool, nope_first: bool
                                 ) -> tuple[torch.Tensor, torch.Tensor]:
    """rope_cached_positions_fwd of queries and of keys."""
    return tuple(_rotated(value, cos, sin, positions, rotate_style, reuse_freqs_front_part,
                          nope_first) for value in (input_x, input_y))


@op(mutates=("key_cache", "value_cache"))
def reshape_and_cache_flash(key: torch.Tensor, value: torch.Tensor, key_cache: torch.Tensor,
                            value_cache: torch.Tensor, slot_mapping: torch.Tensor,
                            kv_cache_dtype: str, k_scale: torch.Tensor | None = None,
                            v_scale: torch.Tensor | None = None) -> None:
    """key and value [T, h, d] into caches [blocks, block, h, d] at the slots; -1 writes nothing.
    The caches have the tokens' type ("auto"), and scales are not applied."""
    unsupported("reshape_and_cache_flash", kv_cache_dtype=(kv_cache_dtype, "auto"))
    run("""%kc_written = hk.kv_cache_write %k, %slots into %kc : {k}, {slots}, {kc}
           %vc_written = hk.kv_cache_write %v, %slots into %vc : {v}, {slots}, {vc}""",
        {"k": key, "v": value, "kc": key_cache, "vc": value_cache, "slots": slot_mapping}, {},
        states=("kc", "vc"))


@op(mutates=("output",))
def paged_attention_decode(output: torch.Tensor, query: torch.Tensor, key_cache: torch.Tensor,
                           value_cache: torch.Tensor, seq_lens: torch.Tensor,
                           block_tables: torch.Tensor, attn_scale: float, max_seq_len: int) -> None:
    """A token of each sequence, query and output [B, h, d], to caches [blocks, kv heads, block,
    d] of the pages in block_tables i32 [B, n], seq_lens i32 [B]; softmax in f32. `max_seq_len`
    is at most n times block; hk takes the lengths themselves."""
    if max_seq_len > block_tables.shape[1] * key_cache.shape[2]:
        raise InvalidArgument(f"paged_attention_decode: max_seq_len {max_seq_len} is beyond the "
                              f"{block_tables.shape[1]} pages of {key_cache.shape[2]} keys")
    run(f"""%out = hk.attention %q, %k, %v kv_lens %lens block_table %pages scale {attn_scale:.9e}
            key_layout head_major value_layout head_major : {{q}}, {{k}}, {{v}} kv_lens {{lens}}
            block_table {{pages}} -> {{out}}""",
        {"q": query.unsqueeze(1), "k": key_cache, "v": value_cache, "lens": seq_lens,
         "pages": block_tables}, {"out": output.unsqueeze(1)}, dynamic={"pages": 2})
