"""The text of hk's IR: every operator's spelling is one row of SPELLING, nothing is spelled
anywhere else."""

import re
import typing

# r: the result; t*: types. What is in {attributes} is "" or " word 1 word".
SPELLING = {
    "unary": "{r} = hk.{op} {x} : {tx} -> {tr}",
    "binary": "{r} = hk.{op} {x}, {y} : {tx}, {ty} -> {tr}",
    "select": "{r} = hk.select {c}, {x}, {y} : {tc}, {tx}, {ty} -> {tr}",
    "compare": "{r} = hk.compare {predicate} {x}, {y} : {tx}, {ty} -> {tr}",
    "constant": "{r} = hk.constant dense<{value}> : {tr}",
    "iota": "{r} = hk.iota : {tr}",
    "iota_like": "{r} = hk.iota like {x} dim {dim} : {tr} like {tx}",
    "weight_ref": "{r} = hk.weight_ref @{symbol} : {tr}",
    "weight": 'hk.weight @{symbol} "{source}" : {tr}',
    "matmul": "{r} = hk.matmul {x}, {y}{attributes} : {tx}, {ty} -> {tr}",
    "dequantize": "{r} = hk.dequantize {x}, {operands}{attributes} : {tx}, {toperands} -> {tr}",
    "rms_norm": "{r} = hk.rms_norm {x}, {w} epsilon {epsilon}{attributes} : {tx}, {tw} -> {tr}",
    "layer_norm": "{r} = hk.layer_norm {x}, {w}, {b} epsilon {epsilon} : {tx}, {tw}, {tb} -> {tr}",
    "rope": "{r} = hk.rope {style} {x}, {cos}, {sin} positions {p} : {tx}, {tcos}, {tsin} "
            "positions {tp} -> {tr}",
    "rope_by_index": "{r} = hk.rope {style} {x}, {cos}, {sin} position_dim {dim} : "
                     "{tx}, {tcos}, {tsin} -> {tr}",
    "gather_rows": "{r} = hk.gather_rows {table}, {ids} : {ttable}, {tids} -> {tr}",
    "gather_last": "{r} = hk.gather_last {x}, {ids} : {tx}, {tids} -> {tr}",
    "gather_elements": "{r} = hk.gather_elements {x} [{places}] : {tx} [{tplaces}] -> {tr}",
    "reduce": "{r} = hk.reduce {kind} {x} : {tx} -> {tr}",
    "transpose": "{r} = hk.transpose {x} [{permutation}] : {tx} -> {tr}",
    "concat": "{r} = hk.concat {dim} ({inputs}) : {tinputs} -> {tr}",
    "pad": "{r} = hk.pad {x} value {value} : {tx} -> {tr}",
    "cumsum": "{r} = hk.cumsum {kind} {x}{attributes} : {tx} -> {tr}",
    "topk": "{r}, {indices} = hk.topk {x} : {tx} -> {tr}, {tindices}",
    "group_limit": "{r} = hk.group_limit {score} {x} groups {groups} top_groups {top} : {tx}",
    "gated_activation": "{r} = hk.gated_activation {kind} {x}{attributes} : {tx} -> {tr}",
    "histogram": "{r} = hk.histogram {x} : {tx} -> {tr}",
    "sort_by_key": "{r}, {place} = hk.sort_by_key {x} bins {bins} : {tx} -> {tr}, {tr}",
    "bounds": "{r} = hk.cumsum offsets {x} : {tx} -> {tr}",
    "grouped_matmul": "{r} = hk.grouped_matmul {x}, {w} bounds {bounds}{operands}{attributes} : "
                      "{tx}, {tw} groups {tbounds}{toperands} -> {tr}",
    "kv_cache_write": "{r} = hk.kv_cache_write {x}, {slots} into {cache} : {tx}, {tslots}, {tr}",
    "causal_conv1d": "{r}, {state} = hk.causal_conv1d channel_last {x}, {w} {operands} : {tx}, {tw} "
                     "{toperands} -> {tr}, {tstate}",
    "gated_delta_rule": "{r}, {state} = hk.gated_delta_rule {q}, {k}, {v} {operands}{attributes} : "
                        "{tq}, {tk}, {tv} {toperands} -> {tr}, {tstate}",
    "attention": "{r} = hk.attention {q}, {k}, {v} {operands} scale {scale}{attributes} : "
                 "{tq}, {tk}, {tv} {toperands} -> {tr}{region}",
    "collapse": "{r} = tensor.collapse_shape {x} {groups} : {tx} into {tr}",
    "expand": "{r} = tensor.expand_shape {x} {groups} output_shape [{sizes}] : {tx} into {tr}",
    "slice": "{r} = tensor.extract_slice {x}[{offsets}] [{sizes}] [{strides}] : {tx} to {tr}",
    "dim": "{r} = tensor.dim {x}, {index} : {tx}",
    "index": "{r} = arith.constant {value} : index",
    "index_binary": "{r} = arith.{op} {x}, {y} : index",
}

NUMBER, REAL = "tensor<i32>", "tensor<f32>"


class Typed(typing.Protocol):
    """A stored tensor."""

    stored: tuple
    element: str
    type: str


def _score(lines: list[str], score: str, read: str = "", **more: str) -> str:
    """A score region of hk.attention, whose result is %`score`; `read`: the type of %mask, `more`
    those of other tensors that it reads."""
    tensors = {"mask": read} if read else more
    arguments = ["%s: tensor<f32>", *(f"%{n}: {NUMBER}" for n in (
        "sequence", "head", "i", "j", "queries", "keys")),
        *(f"%{n}: {t}" for n, t in tensors.items())]
    lines = [" score {", f"^bb0({', '.join(arguments)}):", *lines, f"hk.yield {score} : {REAL}"]
    return "\n    ".join(lines) + "\n  }"


NONE = f"%none = hk.constant dense<0xFF800000> : {REAL}"


def _biased(lines: list[str], at: str, shape: tuple) -> str:
    """Adds to %s a bias of the distance of %j from `at`: [H] of a step, [H, 2 m + 1] of distances
    -m to m."""
    read = tensor_type(shape, "f32")
    lines.append(f"%distance = hk.sub %j, {at} : {NUMBER}")
    if len(shape) == 1:
        lines += [f"%slope = hk.gather_elements %mask [%head] : {read} [{NUMBER}] -> {REAL}",
                  f"%steps = hk.cast %distance : {NUMBER} -> {REAL}",
                  f"%bias = hk.mul %slope, %steps : {REAL}"]
    else:
        lines += [f"%most = hk.constant dense<{shape[1] // 2}> : {NUMBER}",
                  f"%least = hk.constant dense<{-(shape[1] // 2)}> : {NUMBER}",
                  f"%above = hk.max %distance, %least : {NUMBER}",
                  f"%inside = hk.min %above, %most : {NUMBER}",
                  f"%column = hk.add %inside, %most : {NUMBER}",
                  f"%bias = hk.gather_elements %mask [%head, %column] : {read} [{NUMBER}, "
                  f"{NUMBER}] -> {REAL}"]
    lines.append(f"%biased = hk.add %s, %bias : {REAL}")
    return "%biased"


def seen_region(conditions: typing.Sequence[tuple[str, str, int]], chunk: int = -1,
                from_last: bool = False, bias: tuple = ()) -> str:
    """A score region of hk.attention: keys that break a condition (a, b, w), a - b <= w of the
    places %i of queries and %j of keys, or that are of another chunk, are not seen; "" where all
    are. `from_last`: the last query is the sequence's last token, else the first is its first.
    `bias`: the shape of a bias of distances that is added."""
    if not conditions and chunk <= 0 and not bias:
        return ""
    lines, score = [NONE] * (bool(conditions) or chunk > 0), "%s"
    at = "%at" if from_last else "%i"
    if from_last and (bias or chunk > 0):
        lines += [f"%before = hk.sub %keys, %queries : {NUMBER}",
                  f"%at = hk.add %i, %before : {NUMBER}"]
    if bias:
        score = _biased(lines, at, bias)

    def seen(n: object, condition: str) -> str:
        lines.extend([condition, f"%seen_{n} = hk.select %inside_{n}, {score}, %none : tensor<i1>, "
                      f"{REAL}, {REAL} -> {REAL}"])
        return f"%seen_{n}"

    for n, (a, b, most) in enumerate(conditions):
        lines += [f"%apart_{n} = hk.sub %{a}, %{b} : {NUMBER}",
                  f"%limit_{n} = hk.constant dense<{most}> : {NUMBER}"]
        score = seen(n, f"%inside_{n} = hk.compare le %apart_{n}, %limit_{n} : {NUMBER}, {NUMBER} "
                     "-> tensor<i1>")
    if chunk > 0:
        lines += [f"%chunk = hk.constant dense<{chunk}> : {NUMBER}",
                  f"%mine = hk.div {at}, %chunk : {NUMBER}",
                  f"%other = hk.div %j, %chunk : {NUMBER}"]
        score = seen("chunk", f"%inside_chunk = hk.compare eq %mine, %other : {NUMBER}, {NUMBER} "
                     "-> tensor<i1>")
    return _score(lines, score, tensor_type(bias, "f32") if bias else "")


def distance_region(tables: typing.Mapping[str, Typed], columns: Typed) -> str:
    """A score region of hk.attention that adds a number of each table [H, B, S, columns], at %i or
    %j as its name says, in the column that `columns` [2 m + 1] has for the distance %i - %j."""
    most = columns.stored[0] // 2
    lines = [f"%apart = hk.sub %i, %j : {NUMBER}",
             f"%most = hk.constant dense<{most}> : {NUMBER}",
             f"%least = hk.constant dense<{-most}> : {NUMBER}",
             f"%above = hk.max %apart, %least : {NUMBER}",
             f"%inside = hk.min %above, %most : {NUMBER}",
             f"%place = hk.add %inside, %most : {NUMBER}",
             f"%column = hk.gather_elements %columns [%place] : {columns.type} [{NUMBER}] -> "
             f"{NUMBER}"]
    score = "%s"
    for name, table in tables.items():
        one = f"tensor<{table.element}>"
        lines += [f"%of_{name} = hk.gather_elements %by_{name} [%head, %sequence, %{name}, %column] "
                  f": {table.type} [{', '.join([NUMBER] * 4)}] -> {one}",
                  f"%with_{name} = hk.add {score}, %of_{name} : {REAL}, {one} -> {REAL}"]
        score = f"%with_{name}"
    return _score(lines, score, columns=columns.type,
                  **{f"by_{name}": table.type for name, table in tables.items()})


def masked_region(type_: str, element: str, at: typing.Sequence[str]) -> str:
    """A score region of hk.attention that reads a mask at these places: i1 says which keys are
    seen, other numbers are added."""
    first = [f"%first = hk.constant dense<0> : {NUMBER}"] * ("first" in at)
    places = ", ".join(f"%{n}" for n in at)
    read = (f"%m = hk.gather_elements %mask [{places}] : {type_} "
            f"[{', '.join([NUMBER] * len(at))}] -> tensor<{element}>")
    if element == "i1":
        return _score([NONE, *first, read, f"%seen = hk.select %m, %s, %none : tensor<i1>, {REAL}, {REAL} "
                       f"-> {REAL}"], "%seen", type_)
    return _score([*first, read, f"%sum = hk.add %s, %m : {REAL}, tensor<{element}> -> {REAL}"], "%sum",
                  type_)


# torch's element types in MLIR and in safetensors.
ELEMENT_TYPES = {
    "float32": ("f32", "F32"), "bfloat16": ("bf16", "BF16"), "float16": ("f16", "F16"),
    "bool": ("i1", "BOOL"), "int8": ("i8", "I8"), "int16": ("i16", "I16"),
    "int32": ("i32", "I32"), "int64": ("i64", "I64"), "float8_e4m3fn": ("f8E4M3FN", "F8_E4M3"),
    "float8_e8m0fnu": ("f8E8M0FNU", "F8_E8M0"),
}


def tensor_type(shape: typing.Sequence, element: str) -> str:
    """`tensor<?x64xf32>`; what is not an int is dynamic."""
    return "tensor<" + "".join(f"{s if isinstance(s, int) else '?'}x" for s in shape) + element + ">"


def number(value: float | int | bool, element: str) -> str:
    """A literal of an attribute of this element type."""
    if element == "i1":
        return "true" if value else "false"
    if element.startswith("i"):
        return str(int(value))
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        bits = {"f32": (0x7F800000, 0xFF800000, 0x7FC00000), "bf16": (0x7F80, 0xFF80, 0x7FC0),
                "f16": (0x7C00, 0xFC00, 0x7E00)}[element]
        return f"0x{bits[2 if value != value else value < 0]:X}"
    text = f"{value:.17g}"
    return text if "." in text else (text.replace("e", ".0e") if "e" in text else text + ".0")


class Writer:
    """Lines of one function's body, with names that say where a value comes from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[str, int] = {}

    def fresh(self, hint: str) -> str:
        """An unused SSA name like the hint."""
        base = re.sub(r"\W", "_", hint) or "value"
        base = "_" + base if base[0].isdigit() else base
        while True:
            count = self._names.get(base, 0)
            self._names[base] = count + 1
            name = f"{base}_{count}" if count else base
            if count == 0 or name not in self._names:
                self._names.setdefault(name, 1)
                return "%" + name

    def emit(self, form: str, hint: str, **fields: object) -> str:
        """Adds a line of the form; returns the name of its (first) result."""
        result = self.fresh(hint)
        # Words with one space between; a region keeps its lines. What it names is its own: a name
        # that lies in front of it (an argument called mask) is another's.
        region = re.sub(r"%(\w+)", lambda m: f"%{m[1]}.own" if m[1] in self._names else m[0],
                        str(fields.pop("region", "")))
        text = SPELLING[form].format(r=result, region="", **fields)
        self.lines.append("  " + " ".join(text.split()) + region)
        return result

    def comment(self, text: str) -> None:
        """A comment of its own line, unless the last one says the same."""
        last = next((line for line in reversed(self.lines) if line.startswith("  // ")), None)
        if last != f"  // {text}":
            self.lines.append(f"  // {text}")
