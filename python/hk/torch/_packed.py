"""Folders whose config.json says that weights are packed: by GPTQ, AWQ, AutoRound, llm-compressor
(compressed-tensors), Quark, ModelOpt, bitsandbytes, or in fp8 with scales of blocks.

Read without the packages that made them. Integers become codes of hk.dequantize, which its
products take in; columns in an order of their own (desc_act) are brought into that of their
groups, and what no product takes (codes of a table) is widened. Activations are not quantised:
where a folder asks for that, a note says so.

Layouts: AutoGPTQ's and GPTQModel's qlinear modules, AutoAWQ's packing_utils.py,
compressed-tensors' pack_quantized, naive_quantized and fp4_quantized compressors, bitsandbytes'
QuantState; Quark's and ModelOpt's as vLLM reads them.
"""

import json
import os
import pathlib
import typing
import weakref

import numpy as np
import torch

from .._dtypes import torch_name
from ..errors import UnsupportedModel
from ._quantised import Quantised, mxfp4, nvfp4
from ._shards import shards

Tensors = dict[str, torch.Tensor]


class Matrix(typing.NamedTuple):
    """The values [N, K] of a linear layer, and how they are stored where hk can keep that."""

    values: torch.Tensor
    stored: Quantised | None


class Scheme(typing.NamedTuple):
    """A way to pack: the last parts of names of tensors of which a packed layer has one, and the
    matrix of the layer's tensors by the last parts of their names."""

    marks: tuple[str, ...]
    read: typing.Callable[[Tensors, dict], Matrix]


def _refuse(what: str, remedy: str) -> UnsupportedModel:
    return UnsupportedModel(f"quantization_config of config.json: {what}; {remedy}")


def _fields(packed: torch.Tensor, bits: int, count: int) -> torch.Tensor:
    """The first `count` unsigned numbers of each row of 32-bit words, low bits first; one may
    begin in a word and end in the next."""
    octets = packed.contiguous().numpy().astype("<i4").view(np.uint8)
    single = np.unpackbits(octets, axis=1, bitorder="little")[:, :count * bits]
    weights = (1 << np.arange(bits)).astype(np.uint8)
    return torch.from_numpy((single.reshape(len(octets), count, bits) * weights).sum(
        -1, dtype=np.uint8))


def _affine(codes: torch.Tensor, bits: int, scales: torch.Tensor, zeros: torch.Tensor, group: int
            ) -> Quantised:
    """Unsigned codes [N, K] with scales and zero points [N, groups]."""
    if bits == 4 and codes.shape[1] % 2 == 0:
        codes, element, half = codes[:, 0::2] | codes[:, 1::2] << 4, "ui4", 0
    else:
        half = 1 << (bits - 1)
        codes, element = (codes.short() - half).to(torch.int8), "i8"
    zeros = (zeros.short() - half).to(torch.int8)
    alike = bool((zeros == zeros[0, 0]).all())
    return Quantised(codes.contiguous(), element, group, scales.contiguous(),
                     zero=int(zeros[0, 0]) if alike else zeros.contiguous())


def _whole(stored: Quantised) -> Matrix:
    return Matrix(stored.values(), stored)


def _ordered(codes: torch.Tensor, bits: int, scales: torch.Tensor, zeros: torch.Tensor, group: int,
             place: torch.Tensor | None) -> Matrix:
    """As _affine; `place` [K], if given, has the group of each column: those of a group are brought
    together, if no group but the last has fewer than it should."""
    columns, groups = codes.shape[1], scales.shape[1]
    in_order = torch.arange(columns) // group
    if place is None or torch.equal(place, in_order):
        return _whole(_affine(codes, bits, scales, zeros, group))
    if len(place) != columns or int(place.min()) < 0 or int(place.max()) >= groups:
        raise ValueError(f"g_idx has {len(place)} groups from {int(place.min())} to "
                         f"{int(place.max())}, for {columns} columns in {groups} groups")
    order = place.argsort(stable=True)
    if torch.equal(place[order], in_order):
        stored = _affine(codes[:, order], bits, scales, zeros, group)
        return _whole(stored._replace(order=order.int()))
    return Matrix((codes.float() - zeros.float()[:, place]) * scales.float()[:, place], None)


def _gptq(parts: Tensors, config: dict) -> Matrix:
    """qweight [K * bits / 32, N], packed along K; qzeros [groups, N * bits / 32], less 1 but in
    format gptq_v2; scales [groups, N]; g_idx [K], the group of each column."""
    scales = parts["scales"].T
    rows, groups = scales.shape
    # By the sizes: a layer may have other settings than the configuration's.
    bits = parts["qzeros"].shape[1] * 32 // rows
    columns = parts["qweight"].shape[0] * 32 // bits
    codes = _fields(parts["qweight"].T, bits, columns)
    zeros = _fields(parts["qzeros"], bits, rows).T
    if config.get("checkpoint_format", "gptq") == "gptq":
        zeros = (zeros + 1) & ((1 << bits) - 1)
    group = int(config["group_size"])
    if group <= 0 or -(-columns // group) != groups:
        group = -(-columns // groups)
    place = parts["g_idx"].long() if "g_idx" in parts else None
    return _ordered(codes, bits, scales, zeros, group, place)


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  # The columns of a word's eight fields.


def _awq(parts: Tensors, config: dict) -> Matrix:
    """qweight [K, N / 8], qzeros [groups, N / 8], scales [groups, N]: packed along N."""
    scales = parts["scales"].T
    rows, groups = scales.shape
    columns = parts["qweight"].shape[0]
    if parts["qweight"].shape[1] * 8 != rows:
        raise ValueError(f"qweight is {list(parts['qweight'].shape)}, of 4 bits it has {rows // 8} "
                         "columns")
    order = [8 * (i // 8) + AWQ_ORDER.index(i % 8) for i in range(rows)]
    codes, zeros = (_fields(parts[n], 4, rows)[:, order].T.contiguous()
                    for n in ("qweight", "qzeros"))
    # By the sizes: a layer may have other settings than the configuration's.
    group = int(config["group_size"])
    if group <= 0 or -(-columns // group) != groups:
        group = -(-columns // groups)
    return _whole(_affine(codes, 4, scales, zeros, group))


def _by_blocks(scales: torch.Tensor, rows: int, columns: int, block: list | None
               ) -> tuple[torch.Tensor, int]:
    """Scales of the whole, of rows, groups or blocks as those of groups of rows."""
    if scales.dtype not in (torch.float32, torch.bfloat16, torch.float16, torch.int8):
        scales = scales.float()
    if scales.dim() < 2:
        scales = scales.reshape(-1, 1)
    if not block and (rows % scales.shape[0] or columns % scales.shape[1]):
        raise ValueError(f"its scales are {list(scales.shape)}, which do not divide [{rows}, {columns}]")
    high = block[0] if block else -(-rows // scales.shape[0])
    wide = block[1] if block else -(-columns // scales.shape[1])
    return scales.repeat_interleave(high, 0)[:rows].contiguous(), wide


def _numbers(scales: torch.Tensor) -> torch.Tensor:
    """Scales, which must be numbers and not exponents."""
    if not scales.is_floating_point():
        raise ValueError(f"its scales are {torch_name(scales.dtype)}: exponents, which hk reads for "
                         "fp4 in groups of 32 only")
    return scales


def _codes_of(parts: Tensors, *types: torch.dtype) -> torch.Tensor:
    """`weight`, which would be read as other numbers if it were of another type."""
    codes = parts["weight"]
    if codes.dtype not in types:
        raise ValueError(f"'weight' is {torch_name(codes.dtype)} and not "
                         + " or ".join(torch_name(t) for t in types))
    return codes


def _of_bytes(parts: Tensors, block: list | None) -> Matrix:
    """`weight` as int8 or fp8 [N, K], weight_scale and weight_zero_point, see _by_blocks."""
    codes = _codes_of(parts, torch.float8_e4m3fn, torch.int8)
    scales, group = _by_blocks(_numbers(parts["weight_scale"]), *codes.shape, block)
    if codes.is_floating_point():
        return _whole(Quantised(codes, "f8E4M3FN", group, scales))
    zeros = parts.get("weight_zero_point")
    zero = 0 if zeros is None else _by_blocks(zeros.to(torch.int8), *codes.shape, block)[0]
    return _whole(Quantised(codes, "i8", group, scales, zero=zero))


def _quark(parts: Tensors, config: dict) -> Matrix:
    """weight as int8 or fp8 [N, K] with weight_scale of the whole, of rows or groups, int8 of groups
    as [K, N] with scales [groups, N]; or mxfp4 in u8 [N, K / 2] with exponents [N, K / 32]."""
    codes, scales = parts["weight"], parts["weight_scale"]
    if codes.dtype == scales.dtype == torch.uint8:
        return _whole(mxfp4(codes, scales))
    # Groups lie along the first dim; scales [N, 1] are those of rows.
    if codes.dtype == torch.int8 and scales.dim() == 2 and scales.shape[1] != 1:
        parts = parts | {n: t.T.contiguous() for n, t in parts.items()
                         if n in ("weight", "weight_scale", "weight_zero_point")}
    blocks = config.get("blocks", [])
    of_blocks = [list(b) for b in blocks if scales.dim() == 2 and list(scales.shape) == [
        -(-size // each) for size, each in zip(codes.shape, b, strict=True)]]
    return _of_bytes(parts, of_blocks[0] if codes.is_floating_point() and of_blocks else None)


def _compressed(parts: Tensors, config: dict) -> Matrix:
    """weight_packed [N, K * bits / 32] along K, or fp4 in u8 [N, K / 2], or weight as int8 or fp8
    [N, K]; weight_scale of the whole, of rows, groups or blocks; weight_zero_point, packed along N
    where the codes are. Packed numbers are signed with half of their range added. Scales of nvfp4
    are multiplied by weight_global_scale."""
    weights = config["weights"]
    block = weights.get("block_structure")
    if "weight_packed" not in parts:
        return _of_bytes(parts, block)
    if config["format"] == "mxfp4-pack-quantized":
        return _whole(mxfp4(parts["weight_packed"], parts["weight_scale"]))
    if config["format"] == "nvfp4-pack-quantized":
        return _whole(nvfp4(parts["weight_packed"], _numbers(parts["weight_scale"]).float()
                            / parts["weight_global_scale"].float()))
    bits, (rows, columns) = int(weights["num_bits"]), parts["weight_shape"].tolist()
    packed = list(parts["weight_packed"].shape)
    if packed != [rows, -(-columns * bits // 32)]:
        raise ValueError(f"weight_packed is {packed}, and weight_shape [{rows}, {columns}] of {bits} "
                         f"bits without gaps is [{rows}, {-(-columns * bits // 32)}]")
    codes = _fields(parts["weight_packed"], bits, columns)
    scales, group = _by_blocks(parts["weight_scale"], rows, columns, block)
    zeros = torch.full(scales.shape, 1 << (bits - 1), dtype=torch.uint8)
    if "weight_zero_point" in parts:
        zeros = _fields(parts["weight_zero_point"].T, bits, rows).T
    place = parts["weight_g_idx"].long() if "weight_g_idx" in parts else None
    return _ordered(codes, bits, scales, zeros, group, place)


def _fp8(parts: Tensors, config: dict) -> Matrix:
    """fp8 with what blocks are multiplied by, weight_scale_inv (DeepSeek), or rows or the whole,
    weight_scale (AutoFP8, ModelOpt)."""
    codes = _codes_of(parts, torch.float8_e4m3fn)
    by_blocks = "weight_scale_inv" in parts
    stored = _numbers(parts["weight_scale_inv" if by_blocks else "weight_scale"])
    scales, group = _by_blocks(stored, *codes.shape,
                               config.get("weight_block_size") if by_blocks else None)
    return _whole(Quantised(codes, "f8E4M3FN", group, scales))


def _modelopt_nvfp4(parts: Tensors, config: dict) -> Matrix:
    """fp4 in u8 [N, K / 2], weight_scale [N, K / 16] in fp8, and what multiplies all of these,
    weight_scale_2."""
    return _whole(nvfp4(parts["weight"], _numbers(parts["weight_scale"]).float()
                        * parts["weight_scale_2"].float()))


def _bitsandbytes(parts: Tensors, config: dict) -> Matrix:
    """int8 [N, K] with the largest of each row, SCB; or indices of 4 bits, high ones first, into
    a table, times the largest of each block, which may be indices themselves."""
    if "SCB" in parts:
        scales = (parts["SCB"].float() / 127).reshape(-1, 1)
        return _whole(Quantised(parts["weight"], "i8", parts["weight"].shape[1], scales))
    state = next(t for n, t in parts.items() if n.startswith("weight.quant_state."))
    said = json.loads(bytes(state.tolist()))
    largest = parts["weight.absmax"]
    if "weight.nested_absmax" in parts:
        nested = parts["weight.nested_absmax"].repeat_interleave(
            min(said["nested_blocksize"], len(largest)))
        largest = (parts["weight.nested_quant_map"][largest.long()] * nested[:len(largest)]
                   + said["nested_offset"])
    octets = parts["weight"].flatten()
    table = parts["weight.quant_map"].float()
    values = table[torch.stack([octets >> 4, octets & 15], -1).flatten().long()]
    each = min(said["blocksize"], len(values))
    values = values * largest.float().repeat_interleave(each)[:len(values)]
    return Matrix(values.reshape(said["shape"]), None)


UNQUANTISED = "in hk's graph they are not quantised, and results are nearer to the original's"


def _gptq_scheme(config: dict, notes: list[str]) -> Scheme:
    if int(config["bits"]) not in (2, 3, 4, 8):
        raise _refuse(f"gptq of {config['bits']} bits", "hk reads 2, 3, 4 and 8")
    if config.get("checkpoint_format", "gptq") not in ("gptq", "gptq_v2"):
        raise _refuse(f"gptq in the format {config['checkpoint_format']}, which is one kernel's own",
                      "save the model with format gptq or gptq_v2")
    return Scheme(("qweight",), _gptq)


def _awq_scheme(config: dict, notes: list[str]) -> Scheme:
    if str(config.get("version", "gemm")).lower() != "gemm" or int(config.get("bits", 4)) != 4:
        raise _refuse(f"awq of {config.get('bits', 4)} bits, version {config.get('version')}",
                      "hk reads 4 bits of version gemm; quantise the model again so")
    return Scheme(("qweight",), _awq)


def _auto_round_scheme(config: dict, notes: list[str]) -> Scheme:
    form = str(config.get("packing_format"))
    if form == "auto_round:auto_gptq":
        return _gptq_scheme(config, notes)
    if form == "auto_round:auto_awq":
        return _awq_scheme(config, notes)
    raise _refuse(f"auto-round in the packing_format {form}",
                  "save the model in the format auto_round:auto_gptq, auto_gptq or auto_awq")


FORMATS = ("pack-quantized", "int-quantized", "float-quantized", "naive-quantized",
           "mxfp4-pack-quantized", "nvfp4-pack-quantized")


def _compressed_scheme(config: dict, notes: list[str]) -> Scheme:
    groups = list(config.get("config_groups", {}).values())
    if len(groups) != 1 or config.get("format") not in FORMATS:
        raise _refuse(f"compressed-tensors in the format {config.get('format')} with {len(groups)} "
                      "groups of layers", f"hk reads one group in {', '.join(FORMATS)}; save the "
                      "model without compression (save_compressed=False) or in one of these")
    for name in ("sparsity_config", "transform_config"):
        said = {k: v for k, v in (config.get(name) or {}).items() if k != "registry_requires_subclass"}
        if said and said.get("format") != "dense" and said != {"config_groups": {}}:
            raise _refuse(f"compressed-tensors with a {name}", "quantise the model without it")
    config["weights"] = groups[0]["weights"]
    inputs = groups[0].get("input_activations")
    if inputs:
        notes.append(f"the folder asks for activations of {inputs.get('num_bits')} bits; "
                     + UNQUANTISED)
    if config.get("kv_cache_scheme"):
        notes.append("the folder asks for a quantised cache; that of hk's graph is not")
    packed = config["format"].endswith("pack-quantized")
    return Scheme(("weight_packed" if packed else "weight_scale",), _compressed)


def _fp8_scheme(config: dict, notes: list[str]) -> Scheme:
    notes.append(f"the folder asks for activations of fp8; {UNQUANTISED}")
    return Scheme(("weight_scale_inv", "weight_scale"), _fp8)


def _modelopt_scheme(config: dict, notes: list[str]) -> Scheme:
    if config.get("quant_algo") == "NVFP4":
        notes.append(f"the folder asks for activations of fp4; {UNQUANTISED}")
        return Scheme(("weight_scale_2",), _modelopt_nvfp4)
    if config.get("quant_algo") != "FP8":
        raise _refuse(f"modelopt with quant_algo {config.get('quant_algo')}", "hk reads FP8 and "
                      "NVFP4; export the model with one of these, or without quantisation")
    return _fp8_scheme(config, notes)


def _quark_scheme(config: dict, notes: list[str]) -> Scheme:
    said = config.get("global_quant_config") or {}
    weight, inputs = said.get("weight"), said.get("input_tensors")
    known = ("fp8_e4m3", "int8", "fp4")
    if not isinstance(weight, dict) or weight.get("dtype") not in known:
        what = weight.get("dtype") if isinstance(weight, dict) else weight
        raise _refuse(f"quark with weights of {what}", "hk reads "
                      f"{', '.join(known)}; quantise the model again so, or save it dequantised")
    layers = (said, *(config.get("layer_quant_config") or {}).values())
    weights = [of["weight"] for of in layers if isinstance(of, dict)
               and isinstance(of.get("weight"), dict)]
    config["blocks"] = [w["block_size"] for w in weights if w.get("qscheme") == "per_block"]
    if any(w.get("scale_format") == "e5m3" for w in weights):
        raise _refuse("quark with scales of e5m3", "hk reads fp4 with e8m0 (mxfp4)")
    if inputs:
        kind = inputs.get("dtype") if isinstance(inputs, dict) else "several steps"
        notes.append(f"the folder asks for activations of {kind}; {UNQUANTISED}")
    if (config.get("export") or {}).get("kv_cache_group") or config.get("kv_cache_quant_config"):
        notes.append("the folder asks for a quantised cache; that of hk's graph is not")
    return Scheme(("weight_scale",), _quark)


def _bitsandbytes_scheme(config: dict, notes: list[str]) -> Scheme:
    if config.get("load_in_8bit"):
        notes.append(f"the folder asks for activations of 8 bits; {UNQUANTISED}")
        return Scheme(("SCB",), _bitsandbytes)
    notes.append("codes of a table (nf4, fp4): no product of hk takes them, the weights are widened")
    return Scheme(("weight.absmax",), _bitsandbytes)


SCHEMES: dict[str, typing.Callable[[dict, list[str]], Scheme]] = {
    "gptq": _gptq_scheme, "awq": _awq_scheme, "compressed-tensors": _compressed_scheme,
    "fp8": _fp8_scheme, "fbgemm_fp8": _fp8_scheme, "modelopt": _modelopt_scheme,
    "quark": _quark_scheme, "auto-round": _auto_round_scheme,
    "bitsandbytes": _bitsandbytes_scheme}


def _said(folder: pathlib.Path) -> dict:
    """What config.json says of how weights are packed."""
    try:
        config = json.loads((folder / "config.json").read_text())
    except ValueError:
        return {}
    if not isinstance(config, dict):
        return {}
    said = config.get("quantization_config")
    if isinstance(config.get("quantization"), dict) and (
            not isinstance(said, dict) or "quant_method" not in said):
        said = {"quant_method": "mlx"}  # Whose folders have a key of their own.
    return said if isinstance(said, dict) else {}


def _configuration(folder: pathlib.Path) -> dict | None:
    """The same, where that is of SCHEMES."""
    said = _said(folder)
    return said if said.get("quant_method") in SCHEMES else None


def remedy(folder: str | os.PathLike) -> str:
    """What to do with a folder whose weights are packed in a way that hk does not read."""
    method = _said(pathlib.Path(folder)).get("quant_method")
    return "" if method is None or method in SCHEMES else (
        f"; config.json says that '{method}' packed its weights, and hk reads "
        f"{', '.join(SCHEMES)}: quantise with one of these, or save model.dequantize()")


def require_known(folder: str | os.PathLike) -> None:
    """An error if neither hk nor transformers has the method that packed a folder's weights:
    transformers reads them as if they were values."""
    from transformers.quantizers.auto import AUTO_QUANTIZER_MAPPING

    method = _said(pathlib.Path(folder)).get("quant_method")
    known = (*AUTO_QUANTIZER_MAPPING, *SCHEMES)
    if method is not None and method not in known:
        raise UnsupportedModel(f"'{folder}' has packed weights{remedy(folder)}")


# Ends of names of what quantised weights are to be multiplied by, or are themselves.
_ENDS = (".weight_scale", ".weight_scale_inv", ".weight_scale_2", ".weight_packed", ".qweight",
         ".qzeros", ".scales", ".SCB", ".absmax", "_scale_inv", "_scales", "_blocks")


def require_used(names: typing.Iterable[str], folder: str | os.PathLike) -> None:
    """An error if there are parts of quantised weights among `names`, tensors of a folder that the
    model did not take: its weights would be codes without their scales."""
    left = sorted(n for n in names if n.endswith(_ENDS))
    if left:
        method = _said(pathlib.Path(folder)).get("quant_method")
        raise UnsupportedModel(
            f"'{folder}': {left[0]} and {len(left) - 1} others are parts of quantised weights, and "
            + (f"are not what quantization_config of config.json names, '{method}'" if method else
               "config.json has no quantization_config that says how they are to be read")
            + f"; hk reads {', '.join(SCHEMES)}: name the method there, or save the model "
            "dequantised")


def is_packed(folder: str | os.PathLike) -> bool:
    """Whether this module reads the folder's weights."""
    return _configuration(pathlib.Path(folder)) is not None


def is_of(folder: pathlib.Path, method: str) -> bool:
    """Whether config.json names this method."""
    return _said(folder).get("quant_method") == method


def tensors_of(folder: pathlib.Path) -> Tensors:
    """The tensors of a folder's files."""
    from safetensors.torch import load_file

    files = shards(folder)
    if not files:
        raise UnsupportedModel(f"'{folder}' has packed weights but no *.safetensors file; save them "
                               "in that format")
    return {name: tensor for file in files for name, tensor in load_file(file).items()}


# Parts of layers that change what is computed beside the weight, and hk does not.
_MORE = ("input_rotation", "input_prescale", "pre_quant_scale", "bias_scale")


def _layers(folder: pathlib.Path, notes: list[str]
            ) -> tuple[Tensors, typing.Iterator[tuple[str, Matrix]]]:
    """The tensors that are not packed, and the packed layers by name."""
    config = dict(_configuration(folder) or {})
    method = config.get("quant_method", "")
    for name in ("rotation_config", "spinquant_config"):
        if config.get(name):
            raise _refuse(f"{method} with a {name}", "quantise the model without it")
    scheme = SCHEMES[method](config, notes)
    plain = tensors_of(folder)
    layers: dict[str, Tensors] = {n.removesuffix("." + mark): {} for n in plain
                                  for mark in scheme.marks if n.endswith("." + mark)}
    for name in list(plain):
        pieces = name.split(".")
        # A part may have dots of its own.
        layer = next((".".join(pieces[:i]) for i in range(len(pieces) - 1, 0, -1)
                      if ".".join(pieces[:i]) in layers), None)
        if layer is not None and name != layer + ".bias":
            layers[layer][name.removeprefix(layer + ".")] = plain.pop(name)
    changed = sorted([f"{layer}.{n}" for layer, parts in layers.items() for n in parts if n in _MORE]
                     + [n for n in plain if "shared_input_rotation_" in n])
    if changed:
        raise UnsupportedModel(f"'{changed[0]}' and {len(changed) - 1} others change what the "
                               "packed layers take in or add, which hk does not read; quantise the "
                               "model without rotations, scales of inputs and quantised biases")
    for name, tensor in plain.items():
        if name.endswith((".weight", ".bias")) and tensor.dtype in (torch.int8, torch.uint8,
                                                                    torch.int32):
            raise UnsupportedModel(
                f"'{name}' is {torch_name(tensor.dtype)}, and no tensor of the folder "
                f"ends in {' or '.join(scheme.marks)} for it; the folder is incomplete, or of another "
                "version: save it without quantisation")
        if tensor.is_floating_point() and tensor.itemsize == 1:
            raise UnsupportedModel(
                f"'{name}' is fp8, and no tensor of the folder ends in {' or '.join(scheme.marks)} "
                "for it; the folder is incomplete, or of another version: save it without "
                "quantisation")

    def read() -> typing.Iterator[tuple[str, Matrix]]:
        for name, parts in layers.items():
            try:
                yield name, scheme.read(parts, config)
            except (KeyError, ValueError, RuntimeError, IndexError, TypeError) as error:
                raise UnsupportedModel(
                    f"layer '{name}': its tensors ({', '.join(sorted(parts))}) are not what "
                    f"{method} writes: {error}; the file is damaged or of another version") from error

    return plain, read()


class Reading(typing.NamedTuple):
    """What was kept of a folder's packed matrices: those that can stay so, how many cannot, and
    notes."""

    stored: list[Quantised]
    widened: int
    notes: list[str]


# Of models that were read, so that a folder is decoded once.
_READINGS: weakref.WeakKeyDictionary[torch.nn.Module, Reading] = weakref.WeakKeyDictionary()


def state(folder: str | os.PathLike) -> tuple[Tensors, Reading]:
    """The tensors of a folder under the names that they have without quantisation, widened, and
    what was packed of them."""
    notes: list[str] = []
    plain, layers = _layers(pathlib.Path(folder), notes)
    stored = []
    for name, matrix in layers:
        plain[f"{name}.weight"] = matrix.values
        stored.append(matrix.stored)
    kept = [s for s in stored if s is not None]
    return plain, Reading(kept, len(stored) - len(kept), notes)


def remember(model: torch.nn.Module, reading: Reading) -> None:
    """The model has the tensors of `state`."""
    _READINGS[model] = reading


def matrices(folder: str | os.PathLike, model: torch.nn.Module, notes: list[str]
             ) -> typing.Iterator[tuple[np.ndarray, Quantised]]:
    """The values of the folder's packed matrices, and how they are stored; those that cannot stay
    so are counted in a note."""
    if not is_packed(folder):
        return
    reading = _READINGS.get(model) or state(folder)[1]
    notes.extend(reading.notes)
    for stored in reading.stored:
        yield stored.values().numpy(), stored
    if reading.widened:
        notes.append(f"{reading.widened} packed matrices are widened: their groups have "
                     "unequally many columns, or their codes are of a table")
