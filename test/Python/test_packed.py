"""Folders with weights that GPTQ, AWQ, llm-compressor and bitsandbytes packed, written here number
by number as their layouts are published."""

import json

import hk
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import zoo  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

torch.set_num_threads(1)
GROUP = 16


def words(numbers, bits):
    """Rows of numbers as rows of 32-bit words: a stream of bits, low ones first."""
    made = []
    for row in numbers.tolist():
        stream = sum(int(n) << (bits * i) for i, n in enumerate(row))
        made.append([stream >> (32 * i) & 0xFFFFFFFF for i in range(len(row) * bits // 32)])
    return torch.from_numpy(np.array(made, np.uint32).view(np.int32))


class Layer:
    """A random linear layer [N, K] of codes."""

    def __init__(self, rows, columns, bits, generator):
        groups = columns // GROUP

        def draw(*shape):
            return torch.randint(0, 1 << bits, shape, generator=generator)

        self.q, self.z = draw(rows, columns), draw(rows, groups)
        self.s = (0.02 * (0.5 + torch.rand(rows, groups, generator=generator))).half()
        self.place = torch.arange(columns) // GROUP

    def values(self):
        return (self.q - self.z[:, self.place]).float() * self.s.float()[:, self.place]


def gptq(layer, bits, version=1):
    z = (layer.z - int(version == 1)) % (1 << bits)
    return {"qweight": words(layer.q.T.contiguous().T, bits).T, "qzeros": words(z.T, bits),
            "scales": layer.s.T, "g_idx": layer.place.int()}


def awq(layer):
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    columns = [8 * (i // 8) + order[i % 8] for i in range(len(layer.q))]
    return {"qweight": words(layer.q.T[:, columns], 4), "qzeros": words(layer.z.T[:, columns], 4),
            "scales": layer.s.T}


def pack_quantized(layer):
    return {"weight_packed": words(layer.q, 4), "weight_scale": layer.s,
            "weight_zero_point": words(layer.z.T, 4).T, "weight_shape": torch.tensor(layer.q.shape)}


def compressed(form, **weights):
    return {"quant_method": "compressed-tensors", "format": form, "config_groups": {"group_0": {
        "targets": ["Linear"], "weights": weights, "input_activations": None}}}


def folder_of(path, config, pack, bits=4, change=lambda layer: None, name="llama"):
    """A tiny model with packed layers; its values by parameter."""
    zoo.make(name).save_pretrained(path)
    generator = torch.Generator().manual_seed(3)
    state = load_file(path / "model.safetensors")
    values = {}
    for n in [n for n in state if "proj.weight" in n]:
        layer = Layer(*state.pop(n).shape, bits, generator)
        change(layer)
        parts = pack(layer)
        values[n] = parts.pop("values", None)
        values[n] = layer.values() if values[n] is None else values[n]
        state |= {f"{n.removesuffix('.weight')}.{part}": t.contiguous() for part, t in parts.items()}
    save_file(state, path / "model.safetensors", {"format": "pt"})
    said = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(said | {"quantization_config": config}))
    return values


def fp8(layer):
    codes = torch.randn(layer.q.shape, generator=torch.Generator().manual_seed(4))
    codes = codes.to(torch.float8_e4m3fn)
    scales = torch.rand(len(codes), 1) / 16
    return {"weight": codes, "weight_scale": scales, "values": codes.float() * scales}


def fp8_blocks(layer):
    made = fp8(layer)
    rows, columns = made.pop("weight_scale").shape[0], layer.q.shape[1]
    scales = torch.rand(-(-rows // 32), -(-columns // 32)) / 16
    wide = scales.repeat_interleave(32, 0)[:rows].repeat_interleave(32, 1)[:, :columns]
    return made | {"weight_scale_inv": scales, "values": made["weight"].float() * wide}


def fp8_whole(layer):
    """A scale of the whole matrix, as AutoFP8 and ModelOpt write it; that of inputs is not used."""
    made = fp8(layer)
    scale = made["weight_scale"][:1, 0]
    return made | {"weight_scale": scale, "input_scale": torch.tensor([0.1]),
                   "values": made["weight"].float() * scale}


def fp4(layer, group):
    """Two codes to a byte, the even column low; the values without their scales, and how many
    groups of columns there are."""
    codes = layer.q % 16
    table = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    return ((codes[:, 0::2] | codes[:, 1::2] << 4).to(torch.uint8),
            torch.cat([table, -table])[codes], codes.shape[1] // group)


def mxfp4(layer, name="weight_packed"):
    packed, values, groups = fp4(layer, 32)
    powers = torch.randint(118, 124, (len(packed), groups)).to(torch.uint8)
    wide = torch.exp2(powers.float() - 127).repeat_interleave(32, 1)
    return {name: packed, "weight_scale": powers, "values": values * wide}


def nvfp4(layer, name="weight_packed", whole="weight_global_scale"):
    """Scales of groups in fp8; llm-compressor divides by that of the whole, ModelOpt multiplies."""
    packed, values, groups = fp4(layer, 16)
    scales = (1 + torch.rand(len(packed), groups)).to(torch.float8_e4m3fn)
    factor = torch.tensor([37.0]) if whole == "weight_global_scale" else torch.tensor(0.03)
    both = scales.float() / factor if whole == "weight_global_scale" else scales.float() * factor
    return {name: packed, "weight_scale": scales, whole: factor,
            "values": values * both.repeat_interleave(16, 1)}


def quark_fp8(layer):
    """A scale of the whole, which has no dims; those of inputs and caches are not used."""
    made = fp8(layer)
    scale = made["weight_scale"][0, 0]
    return made | {"weight_scale": scale, "input_scale": torch.tensor(0.1), "output_scale":
                   torch.tensor(0.2), "values": made["weight"].float() * scale}


def quark_int8(layer):
    """A scale of each row, in one dim."""
    codes, scales = (layer.q - 128).to(torch.int8), torch.rand(len(layer.q)) / 50
    return {"weight": codes, "weight_scale": scales, "values": codes * scales[:, None]}


def quark_groups(layer):
    """int8 in groups of columns: codes and scales lie transposed."""
    codes, groups = (layer.q - 128).to(torch.int8), layer.q.shape[1] // 32
    scales = torch.rand(len(layer.q), groups) / 50
    return {"weight": codes.T.contiguous(), "weight_scale": scales.T.contiguous(),
            "values": codes * scales.repeat_interleave(32, 1)}


def w8a8(layer):
    """int8 with a scale and a zero point of each row."""
    codes, scales = (layer.q - 128).to(torch.int8), torch.rand(len(layer.q), 1).bfloat16() / 50
    zeros = (layer.z[:, :1] // 32).to(torch.int8)
    return {"weight": codes, "weight_scale": scales, "weight_zero_point": zeros,
            "values": (codes.float() - zeros) * scales.float()}


def nf4(layer):
    """Two indices to a byte, the first one high, and blocks of 64 whose largest are indices."""
    table, nested = torch.linspace(-1, 1, 16), torch.linspace(0, 1, 256)
    flat = layer.q.flatten()
    blocks = len(flat) // 64
    largest = torch.arange(blocks) % 256
    outer = torch.rand(-(-blocks // 256))
    state = {"blocksize": 64, "nested_blocksize": 256, "nested_offset": 0.25,
             "shape": list(layer.q.shape), "dtype": "float16"}
    scale = nested[largest] * outer.repeat_interleave(256)[:blocks] + 0.25
    return {"weight": (flat[0::2] << 4 | flat[1::2]).to(torch.uint8)[:, None],
            "weight.absmax": largest.to(torch.uint8), "weight.quant_map": table,
            "weight.nested_absmax": outer, "weight.nested_quant_map": nested,
            "weight.quant_state.bitsandbytes__nf4": torch.tensor(
                list(json.dumps(state).encode()), dtype=torch.uint8),
            "values": (table[flat] * scale.repeat_interleave(64)).view(layer.q.shape)}


def int8(layer):
    codes, largest = (layer.q - 128).to(torch.int8), 0.1 + torch.rand(len(layer.q))
    return {"weight": codes, "SCB": largest, "values": codes * (largest / 127)[:, None]}


def shuffled(layer):
    """Groups of 16 columns, which are anywhere; the same ones in all matrices of a width."""
    generator = torch.Generator().manual_seed(len(layer.place))
    layer.place = layer.place[torch.randperm(len(layer.place), generator=generator)]


def unequal(layer):
    layer.place = layer.place.flip(0)
    layer.place[0] = 0


def symmetric(layer):
    layer.z[:] = 8


def quark(dtype, **more):
    return {"quant_method": "quark", "layer_quant_config": {}, "global_quant_config": {
        "weight": {"dtype": dtype}, "input_tensors": {"dtype": dtype}} | more}


GPTQ = {"quant_method": "gptq", "group_size": GROUP}
# (configuration, packing, bits, change): what is stored of 7 matrices of each of 2 layers.
CASES = {
    "gptq": (GPTQ | {"bits": 4}, lambda x: gptq(x, 4), 4, lambda x: None, 14),
    "gptq-symmetric": (GPTQ | {"bits": 4}, lambda x: gptq(x, 4), 4, symmetric, 14),
    "gptq-8": (GPTQ | {"bits": 8}, lambda x: gptq(x, 8), 8, lambda x: None, 14),
    "gptq-3": (GPTQ | {"bits": 3}, lambda x: gptq(x, 3), 3, lambda x: None, 14),
    "gptq-v2": (GPTQ | {"bits": 4, "checkpoint_format": "gptq_v2"}, lambda x: gptq(x, 4, 2), 4,
                lambda x: None, 14),
    "gptq-order": (GPTQ | {"bits": 4, "desc_act": True}, lambda x: gptq(x, 4), 4, shuffled, 14),
    "gptq-unequal": (GPTQ | {"bits": 4, "desc_act": True}, lambda x: gptq(x, 4), 4, unequal, 0),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": GROUP, "version": "gemm"}, awq, 4,
            lambda x: None, 14),
    "w4a16": (compressed("pack-quantized", num_bits=4, strategy="group", group_size=GROUP),
              pack_quantized, 4, lambda x: None, 14),
    "fp8": (compressed("float-quantized", num_bits=8, strategy="channel"), fp8, 4, lambda x: None,
            14),
    "fp8-blocks": ({"quant_method": "fp8", "weight_block_size": [32, 32]}, fp8_blocks, 4,
                   lambda x: None, 14),
    "fp8-whole": ({"quant_method": "fp8", "activation_scheme": "static"}, fp8_whole, 4,
                  lambda x: None, 14),
    "modelopt": ({"quant_method": "modelopt", "quant_algo": "FP8"}, fp8_whole, 4, lambda x: None, 14),
    "auto-round": (GPTQ | {"quant_method": "auto-round", "bits": 4, "packing_format":
                           "auto_round:auto_gptq"}, lambda x: gptq(x, 4), 4, lambda x: None, 14),
    "fbgemm": ({"quant_method": "fbgemm_fp8"}, fp8, 4, lambda x: None, 14),
    "quark-fp8": (quark("fp8_e4m3"), quark_fp8, 4, lambda x: None, 14),
    "quark-int8": (quark("int8", input_tensors=None), quark_int8, 8, lambda x: None, 14),
    "quark-int8-groups": (quark("int8", input_tensors=None), quark_groups, 8, lambda x: None, 14),
    "quark-mxfp4": (quark("fp4"), lambda x: mxfp4(x, "weight"), 4, lambda x: None, 14),
    "mxfp4": (compressed("mxfp4-pack-quantized", num_bits=4, type="float", group_size=32), mxfp4, 4,
              lambda x: None, 14),
    "nvfp4": (compressed("nvfp4-pack-quantized", num_bits=4, type="float", group_size=16), nvfp4, 4,
              lambda x: None, 14),
    "modelopt-nvfp4": ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, lambda x: nvfp4(
        x, "weight", "weight_scale_2"), 4, lambda x: None, 14),
    "w8a8": (compressed("int-quantized", num_bits=8, strategy="channel"), w8a8, 8, lambda x: None, 14),
    "nf4": ({"quant_method": "bitsandbytes", "load_in_4bit": True}, nf4, 4, lambda x: None, 0),
    "int8": ({"quant_method": "bitsandbytes", "load_in_8bit": True}, int8, 8, lambda x: None, 14),
}


@pytest.mark.parametrize("name", CASES)
def test_values(tmp_path, name):
    config, pack, bits, change, count = CASES[name]
    values = folder_of(tmp_path, config, pack, bits, change)
    model = hk.torch.read(tmp_path)
    for parameter, tensor in model.named_parameters():
        if parameter in values:
            torch.testing.assert_close(tensor.data, values[parameter], rtol=1e-6, atol=0)
    notes = []
    stored = hk.torch.stored_weights(tmp_path, model, notes)
    assert len(stored) == count
    assert bool(notes) == (count == 0 or name in (
        "fp8-blocks", "fp8-whole", "modelopt", "modelopt-nvfp4", "int8", "fbgemm", "quark-fp8",
        "quark-mxfp4"))


@pytest.mark.parametrize("name,dtype", [("gptq", "bfloat16"), ("awq", "float32"),
                                        ("fp8-blocks", "bfloat16"), ("gptq-order", "float32"),
                                        ("quark-mxfp4", "bfloat16"), ("nvfp4", "float32"),
                                        ("gptq-order", "bfloat16")])
def test_model_keeps_its_codes(tmp_path, name, dtype):
    config, pack, bits, change, count = CASES[name]
    folder_of(tmp_path, config, pack, bits, change)
    model = hk.torch.read(tmp_path)
    stored = hk.torch.stored_weights(tmp_path, model)
    graph = hk.torch.export(model, stored=stored, dtype=getattr(torch, dtype))
    assert graph.mlir.count("hk.dequantize") == count
    # Rows of a norm are put in order once; those of attention and of the gate, too.
    ordered = 8 if name == "gptq-order" else 0
    assert graph.mlir.count("hk.gather_elements") == ordered
    assert sum(n.startswith("hk.order.") for n in graph.tensors) == ordered // 4
    hk.torch.check(model, graph, threads=1)


@pytest.mark.parametrize("name,dtype", [
    ("awq", "bfloat16"), ("gptq", "float32"), ("gptq-8", "float32"), ("fp8-blocks", "bfloat16")])
def test_experts_keep_their_codes(tmp_path, name, dtype):
    """transformers stacks their matrices, gates above what they gate."""
    folder_of(tmp_path, *CASES[name][:4], name="qwen3_moe")
    notes = []
    model = hk.torch.read(tmp_path)
    stored = hk.torch.stored_weights(tmp_path, model, notes)
    assert len(stored) == 12 and not any("widened" in note for note in notes)
    codes = stored["model.layers.0.mlp.experts.gate_up_proj"].codes
    assert codes.shape[:2] == (8, 96)
    graph = hk.torch.export(model, stored=stored, dtype=getattr(torch, dtype))
    assert graph.mlir.count("hk.dequantize") == 12
    assert not any("proj" in n and t.dim() == 3 and t.dtype == graph.dtype
                   and not n.endswith("scales") for n, t in graph.tensors.items())
    hk.torch.check(model, graph, threads=1)


def test_experts_of_different_forms(tmp_path):
    """Zero points of one number beside those of each group are a tensor; a row that several
    matrices have is of that with most of the others."""
    made = []

    def change(layer):
        made.append(layer)
        layer.z[:] = 8 if len(made) % 2 else layer.z
        layer.q[3] = layer.z[3, layer.place]

    values = folder_of(tmp_path, *CASES["awq"][:3], change, name="qwen3_moe")
    model = hk.torch.read(tmp_path)
    stored = hk.torch.stored_weights(tmp_path, model)
    assert len(stored) == 12
    name = "model.layers.1.mlp.experts.{}.down_proj.weight"
    expected = torch.stack([values[name.format(e)] for e in range(8)])
    down = stored["model.layers.1.mlp.experts.down_proj"]
    torch.testing.assert_close(down.values(), expected, rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_mxfp4(tmp_path, dtype):
    """gpt-oss as it is published: the model has the transposes of what the file has."""
    sizes = {"moe_intermediate_size": 64, "intermediate_size": 64}
    zoo.make("gpt_oss", **sizes).save_pretrained(tmp_path)
    state = load_file(tmp_path / "model.safetensors")
    generator = torch.Generator().manual_seed(1)
    for name in [n for n in state if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        experts, columns, rows = state.pop(name).shape
        shape = (experts, rows, columns // 32)
        state[f"{name}_blocks"] = torch.randint(0, 256, (*shape, 16), generator=generator,
                                                dtype=torch.uint8)
        state[f"{name}_scales"] = torch.randint(118, 124, shape, generator=generator,
                                                dtype=torch.uint8)
    save_file(state, tmp_path / "model.safetensors", {"format": "pt"})
    said = json.loads((tmp_path / "config.json").read_text())
    said["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
    (tmp_path / "config.json").write_text(json.dumps(said))
    model = hk.torch.read(tmp_path)
    stored = hk.torch.stored_weights(tmp_path, model)
    assert len(stored) == 4
    graph = hk.torch.export(model, stored=stored, dtype=getattr(torch, dtype))
    assert graph.mlir.count("hk.dequantize") == 4 and "hk.transpose" not in graph.mlir
    assert graph.mlir.count("tensor<8x128x64xf4E2M1FN>") >= 2
    hk.torch.check(model, graph, threads=1)


def test_experts_in_an_order_of_their_own(tmp_path):
    """What goes to several experts has one order of columns."""
    folder_of(tmp_path, *CASES["gptq-order"][:4], name="qwen3_moe")
    notes = []
    stored = hk.torch.stored_weights(tmp_path, hk.torch.read(tmp_path), notes)
    assert len(stored) == 8 and "48 quantised matrices" in notes[0]


def test_a_folder_is_decoded_once(tmp_path, monkeypatch):
    import hk.torch._packed as packed

    folder_of(tmp_path, *CASES["awq"][:4])
    calls, fields = [], packed._fields
    monkeypatch.setattr(packed, "_fields", lambda *a: calls.append(a) or fields(*a))
    model = hk.torch.read(tmp_path)
    hk.torch.stored_weights(tmp_path, model)
    assert len(calls) == 2 * 14
    with torch.no_grad():  # Changed since it was read.
        model.model.layers[0].mlp.up_proj.weight[3, 4] += 1
    assert len(hk.torch.stored_weights(tmp_path, model)) == 13


@pytest.mark.parametrize(("change", "text"), [
    ({"bits": 5}, "gptq of 5 bits; hk reads 2, 3, 4 and 8"),
    ({"checkpoint_format": "marlin"}, "save the model with format gptq or gptq_v2"),
    ({}, r"layer 'model.layers.0.mlp.down_proj': its tensors \(g_idx, qweight, scales\) are not what "
         "gptq writes: 'qzeros'; the file is damaged")])
def test_refused(tmp_path, change, text):
    folder_of(tmp_path, GPTQ | {"bits": 4} | change, lambda x: {
        n: t for n, t in gptq(x, 4).items() if n != "qzeros"})
    with pytest.raises(hk.UnsupportedModel, match=text):
        hk.torch.read(tmp_path)


@pytest.mark.parametrize(("config", "text"), [
    (compressed("marlin-24", num_bits=4), "in the format marlin-24 .*save the"),
    (quark("uint4"), "quark with weights of uint4; hk reads fp8_e4m3, int8, fp4"),
    ({"quant_method": "auto-round", "packing_format": "auto_round:exllamav2"},
     "packing_format auto_round:exllamav2; save the model in"),
    (GPTQ | {"quant_method": "auto-round", "packing_format": "auto_round:auto_gptq",
             "rotation_config": {"hadamard": True}}, "auto-round with a rotation_config; quantise"),
    (quark("fp4", weight={"dtype": "fp4", "scale_format": "e5m3"}), "quark with scales of e5m3")])
def test_other_formats_are_refused(tmp_path, config, text):
    folder_of(tmp_path, config, pack_quantized)
    with pytest.raises(hk.UnsupportedModel, match=text):
        hk.torch.read(tmp_path)


def test_other_methods_are_refused(tmp_path):
    folder_of(tmp_path, {"quant_method": "aqlm"}, awq)
    with pytest.raises(hk.UnsupportedModel, match="that 'aqlm' packed its weights, and hk reads gptq, awq, .*or save"):
        hk.torch.read(tmp_path)


@pytest.mark.parametrize(("name", "part", "value", "text"), [
    ("gptq-order", "g_idx", -1, "g_idx has .* groups from -1"),
    ("gptq-order", "g_idx", 99, "g_idx has .* to 99, for 96 columns in 6 groups"),
    ("w4a16", "weight_shape", 1 << 40, r"weight_packed is \[64, 12\], and weight_shape \[1099511627776"),
    ("nf4", "weight.absmax", None, "are not what bitsandbytes writes")])
def test_damaged_layers(tmp_path, name, part, value, text):
    """Sizes are compared before anything of them is allocated."""
    config, pack, bits, change, _ = CASES[name]

    def damaged(layer):
        parts = pack(layer)
        parts[part] = parts[part].clone() if value is not None else parts[part][:1]
        if value is not None:
            parts[part][0] = value
        return parts

    folder_of(tmp_path, config, damaged, bits, change)
    with pytest.raises(hk.UnsupportedModel, match=f"layer 'model.layers.*{text}"):
        hk.torch.read(tmp_path)


@pytest.mark.parametrize(("name", "part", "text"), [
    ("quark-mxfp4", {"input_rotation": torch.eye(2)}, "input_rotation' and 13 others change what"),
    ("quark-int8", {"bias_scale": torch.ones(1)}, "bias_scale' and 13 others change what"),
    ("quark-mxfp4", {"weight_scale": torch.ones(64, 96, dtype=torch.uint8)}, "fp4 in groups of 32 has"),
    ("quark-fp8", {"weight_scale": torch.ones(1, dtype=torch.uint8)}, "exponents, which hk reads for fp4"),
    ("quark-fp8", {"weight_scale": torch.ones(63)}, r"its scales are \[63, 1\], which do not divide")])
def test_parts_that_are_not_read_are_refused(tmp_path, name, part, text):
    config, pack, bits, change, _ = CASES[name]
    folder_of(tmp_path, config, lambda layer: pack(layer) | {n: t.clone() for n, t in part.items()},
              bits, change)
    with pytest.raises(hk.UnsupportedModel, match=text):
        hk.torch.read(tmp_path)


@pytest.mark.parametrize(("config", "parts", "text"), [
    ({"quant_method": "fp8"}, ["weight"], "weight' is fp8, and no tensor of the folder ends in "
     "weight_scale_inv or weight_scale for it; the folder is incomplete"),
    ({"quant_method": "modelopt", "quant_algo": "W4A8_AWQ"}, ["weight", "weight_scale"],
     "modelopt with quant_algo W4A8_AWQ; hk reads FP8 and NVFP4"),
    ({"quant_method": "unheard-of"}, ["weight", "weight_scale"], "'unheard-of' packed its weights, and hk reads"),
    (None, ["weight", "weight_scale"], "down_proj.weight_scale and 13 others are parts of quantised "
     "weights, and config.json has no quantization_config")])
def test_codes_are_not_read_as_values(tmp_path, config, parts, text):
    """Without their scales they are other weights."""
    folder_of(tmp_path, config, lambda x: {n: t for n, t in fp8(x).items() if n in (*parts, "values")})
    with pytest.raises(hk.UnsupportedModel, match=text):
        hk.torch.read(tmp_path)


def test_missing_layers(tmp_path):
    folder_of(tmp_path, CASES["awq"][0], lambda x: {"other": x.s})
    with pytest.raises(hk.UnsupportedModel, match="has no weights for model.layers.0.* and 13"):
        hk.torch.read(tmp_path)
