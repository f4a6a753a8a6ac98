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
KINDS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K", "Q2_K", "Q3_K",
         "IQ4_NL", "IQ4_XS", "MXFP4"]
# Where the f16 numbers of a block begin, if not at its start.
PLACES = {"Q6_K": [208], "Q2_K": [80, 82], "Q3_K": [108], "Q4_1": [0, 2], "Q5_1": [0, 2],
          "Q4_K": [0, 2], "Q5_K": [0, 2], "TQ1_0": [52]}


def blocks(kind, shape, generator):
    """Random bytes of a type, its f16 numbers small; gguf-py cannot write every type."""
    number = gguf.GGMLQuantizationType[kind]
    elements, size = gguf.GGML_QUANT_SIZES[number]
    data = generator.integers(0, 256, (*shape[:-1], shape[-1] // elements, size), dtype=np.uint8)
    if kind == "MXFP4":
        data[..., 0] = generator.integers(118, 124, data.shape[:-1])
        return data.reshape(*shape[:-1], -1), number
    for at in PLACES.get(kind, [0]):
        scale = generator.uniform(-0.02, 0.02, data.shape[:-1]).astype(np.float16)
        data[..., at:at + 2] = scale[..., None].view(np.uint8)
    return data.reshape(*shape[:-1], -1), number


def write(path, kind, head):
    """A llama whose layers are of these types by turns (A/B), the embedding of another, an f32
    matrix among them."""
    kinds = kind.split("/")
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

    def matrix(name, rows, columns, of):
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
            matrix(f"blk.{i}.{name}.weight", rows, columns, kinds[i % len(kinds)])
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
    columns = 512 // (1 if found.element == "i8" else 2)
    assert found.codes.shape == (5, columns)
    assert found.scales.shape == (5, 32 if kind in ("Q2_K", "Q3_K", "Q6_K") else 16)


@pytest.mark.parametrize("kind,dtype", [("Q4_0/MXFP4", "float32"), ("Q4_1", "bfloat16"),
                                        ("Q4_K", "float32"), ("Q5_K/Q2_K", "bfloat16"),
                                        ("Q6_K/Q3_K", "float32")])
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


def test_a_type_that_is_widened(tmp_path):
    path, notes = write(tmp_path / "m.gguf", "TQ1_0", "IQ4_NL"), []
    assert len(hk.torch.stored_weights(path, hk.torch.read(path), notes)) == 1
    assert notes[0].startswith("12 tensors of type TQ1_0 are widened: no product of hk takes them")


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
