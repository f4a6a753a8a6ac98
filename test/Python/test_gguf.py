"""GGUF files whose weights stay as they are stored."""

import hk
import numpy as np
import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")
import hk.torch  # noqa: E402
import hk.torch._gguf as stored  # noqa: E402

torch.set_num_threads(1)
WIDTH, HIDDEN, WORDS, HEADS, LAYERS = 256, 512, 97, 4, 2
KINDS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]


def blocks(kind, shape, generator):
    """Random bytes of a type, its f16 numbers small; gguf-py cannot write every type."""
    number = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[number]
    data = generator.integers(0, 256, (*shape[:-1], shape[-1] // elements, size), dtype=np.uint8)
    for i in range(2 if kind in ("Q4_1", "Q5_1", "Q4_K", "Q5_K") else 1):
        scale = generator.uniform(-0.02, 0.02, data.shape[:-1]).astype(np.float16)
        at = 2 * i if kind != "Q6_K" else size - 2
        data[..., at:at + 2] = scale[..., None].view(np.uint8)
    return data.reshape(*shape[:-1], -1), number


def write(path, kind, head):
    """A llama of one type, the embedding of another, an f32 matrix among them."""
    generator = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(WORDS)

    def matrix(name, rows, columns, of=kind):
        if of == "F32":
            writer.add_tensor(name, (0.05 * generator.standard_normal((rows, columns))).astype(np.float32))
            return
        data, number = blocks(of, (rows, columns), generator)
        writer.add_tensor(name, data, raw_dtype=number)

    matrix("token_embd.weight", WORDS, WIDTH, head)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for i in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{i}.{name}.weight", np.ones(WIDTH, np.float32))
        for name, rows, columns in (("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH // 2, WIDTH),
                                    ("attn_v", WIDTH // 2, WIDTH), ("attn_output", WIDTH, WIDTH),
                                    ("ffn_gate", HIDDEN, WIDTH), ("ffn_down", WIDTH, HIDDEN)):
            matrix(f"blk.{i}.{name}.weight", rows, columns)
        matrix(f"blk.{i}.ffn_up.weight", HIDDEN, WIDTH, "F32")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_the_values(kind):
    data, number = blocks(kind, (5, 512), np.random.default_rng(2))
    found = stored.READERS[kind](data)
    assert np.array_equal(found.values().numpy(), gguf.quants.dequantize(data, number))
    columns = 512 // (2 if found.element == "ui4" else 1)
    assert found.codes.shape == (5, columns)
    assert found.scales.shape == (5, 32 if kind == "Q6_K" else 16)


@pytest.mark.parametrize("kind,dtype", [("Q4_0", "float32"), ("Q4_1", "bfloat16"),
                                        ("Q4_K", "float32"), ("Q5_K", "bfloat16"),
                                        ("Q6_K", "float32")])
def test_model_keeps_its_codes(tmp_path, kind, dtype):
    path = write(tmp_path / "m.gguf", kind, "Q8_0")
    model = hk.torch.read(path)
    weights = hk.torch.stored_weights(path, model)
    # Everything but what the file has in f32; rows of q and k are in another order there.
    assert len(weights) == 6 * LAYERS + 1
    assert not any("up_proj" in name for name in weights)
    graph = hk.torch.export(model, stored=weights, dtype=getattr(torch, dtype))
    assert graph.dtype == getattr(torch, dtype)
    assert graph.mlir.count("hk.dequantize") == 6 * LAYERS + 2  # The tied matrix has two users.
    wide = [n for n, t in graph.tensors.items() if t.dim() == 2 and t.dtype == graph.dtype
            and "proj" in n and ".scales" not in n and ".offsets" not in n]
    assert wide == [f"model.layers.{i}.mlp.up_proj.weight" for i in range(LAYERS)]
    hk.torch.check(model, graph, threads=1)


def test_a_type_that_gguf_py_does_not_read(tmp_path):
    path = write(tmp_path / "m.gguf", "Q8_K", "Q8_0")
    with pytest.raises(hk.UnsupportedModel, match="Q8_K is not yet implemented; quantise the model again"):
        hk.torch.read(path)


def test_what_is_no_gguf_type_is_left(tmp_path):
    path = write(tmp_path / "m.gguf", "F32", "Q8_0")
    model = hk.torch.read(path)
    assert list(hk.torch.stored_weights(path, model)) == ["model.embed_tokens.weight"]
    with torch.no_grad():  # Changed since it was read.
        model.model.embed_tokens.weight[3, 4] += 1
    assert hk.torch.stored_weights(path, model) == {}
