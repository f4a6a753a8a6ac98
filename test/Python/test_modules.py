"""Any nn.Module becomes a function: operators by formulas, norms, layouts, attention with masks.
Every result is compared with the module's one precision up, for two sizes of what is dynamic."""

import hk
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402

F = torch.nn.functional
torch.set_num_threads(1)


class Of(torch.nn.Module):
    """Several functions of one argument: a compilation for all."""

    def __init__(self, **functions):
        super().__init__()
        self.functions = functions

    def forward(self, x):
        return {name: function(x) for name, function in self.functions.items()}


def imported(module, *args, dtype=torch.float32, dynamic=True):
    """The checked graph; dim 0 of every argument is dynamic."""
    shapes = tuple({0: torch.export.Dim("n", min=2)} for _ in args) if dynamic else None
    graph = hk.torch.export_module(module, args, dtype=dtype, dynamic_shapes=shapes)
    hk.torch.check(module, graph, threads=1)
    return graph


def rows(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


ELEMENTWISE = {
    name: getattr(F, name) for name in (
        "relu6", "elu", "selu", "celu", "leaky_relu", "hardswish", "hardsigmoid", "hardtanh", "mish",
        "softsign", "logsigmoid", "tanhshrink", "softshrink", "hardshrink")} | {
    "expm1": torch.expm1, "log1p": lambda x: torch.log1p(x.abs()), "sinh": torch.sinh,
    "cosh": torch.cosh, "tan": lambda x: torch.tan(0.3 * x.clamp(-4, 4)), "ceil": torch.ceil,
    "trunc": torch.trunc, "frac": torch.frac, "sign": torch.sign, "log10": lambda x: x.abs().log10(),
    "larger": lambda x: torch.max(x, 0.5 * x), "smaller": lambda x: torch.min(x, x * x),
    "finite": torch.nan_to_num, "lerp": lambda x: torch.lerp(x, x * x, 0.3),
    "inside": lambda x: torch.where((x > 0) & ~(x > 1) | (x < -2), x, -x),
    "one_of": lambda x: torch.where((x > 0) ^ (x < 1), x, 0.0)}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_elementwise(dtype):
    graph = imported(Of(**ELEMENTWISE), 2 * rows(7, 33), dtype=dtype)
    assert all(f'hk.name = "{name}"' in graph.mlir for name in ELEMENTWISE)
    assert graph.mlir.count("hk.expm1") >= 4 and "hk.log1p" in graph.mlir


def test_values_by_type():
    """Conversions and rounding as PyTorch has them, not as hk's operators of the same name."""
    imported(Of(
        cut_off=lambda x: (30 * x).to(torch.int8), decimals=lambda x: torch.round(x, decimals=1),
        tens=lambda x: torch.round(30 * x, decimals=-1), powers=lambda x: 2**x,
        both=lambda x: torch.where((x > 0) * (x < 1) + (x < -1), x, -x),
        logarithms=lambda x: torch.logaddexp(x, -x)), rows(7, 33))


def test_gather_along_any_dim():
    """Also of fewer places than there are rows, of one place of a token, of what repeats."""
    places = torch.randint(0, 3, (3, 2, 4), generator=torch.Generator().manual_seed(1))
    imported(Of(
        tokens=lambda x: x.gather(1, places), first=lambda x: x.gather(0, places),
        last=lambda x: x.gather(-1, places[:2, :1]), fewer=lambda x: x.gather(1, places[:2, :, :3]),
        each=lambda x: x.gather(1, places[:, :, 0].unsqueeze(-1).repeat(1, 1, 4)),
        same=lambda x: x.gather(1, places[:1, :, :1].expand(2, -1, 3)),
        repeated=lambda x: x[:1].expand(3, 5, 4).gather(1, places)), rows(3, 5, 4), dynamic=False)


def test_a_check_without_numbers_says_so():
    """The module gives NaN one precision up, where everything would be right."""
    module = Of(y=lambda x: x + (float("nan") if x.dtype == torch.float64 else 1.0))
    graph = hk.torch.export_module(module, (rows(3, 8),))
    report = hk.torch.check(module, graph, threads=1)
    assert report.vacuous and "THE CHECK SHOWS NOTHING" in str(report)


def test_numbers_that_a_module_makes_are_wide():
    """Integers times a number are of the default type, in which f64's least number is infinite."""
    class Masked(torch.nn.Module):
        def forward(self, x):
            return x + (1 - torch.ones(8, dtype=torch.int64)) * torch.finfo(x.dtype).min

    graph = hk.torch.export_module(Masked(), (rows(3, 8),))
    assert not hk.torch.check(Masked(), graph, threads=1).vacuous


def test_numbers_are_not_rounded():
    """PyTorch's product of bf16 and 0.3 is that of 0.3, not of bf16's 0.30078125."""
    graph = imported(Of(y=lambda x: 0.3 * x), rows(7, 33), dtype=torch.bfloat16)
    assert ": tensor<?x33xbf16>, tensor<f32> -> tensor<?x33xbf16>" in graph.mlir


def filled(x):
    """A tensor of which each part is written, as Mistral 4 makes keys."""
    made = x.new_empty(*x.shape[:-1], 40)
    made[..., :32].copy_(x)
    made[..., 32:].copy_(2 * x[..., :8])
    return made


def test_rows():
    imported(Of(
        filled=filled,
        log_softmax=lambda x: F.log_softmax(x, -1), logsumexp=lambda x: x.logsumexp(-1),
        var=lambda x: x.var(-1, keepdim=True), std=lambda x: x / x.std(-1, keepdim=True),
        mean=lambda x: x.view(-1, 4, 8).mean((1, 2)), middle=lambda x: x.view(-1, 4, 8).sum(1),
        least=lambda x: x.amin(-1), argmin=lambda x: x.argmin(-1), argmax=lambda x: x.argmax(-1), most=lambda x: x.max(-1)[0],
        chosen=lambda x: F.one_hot(x.argmax(-1), 32).float(),
        kept=lambda x: torch.zeros_like(x).scatter(1, x.topk(3).indices, x.topk(3).values),
        marked=lambda x: x.scatter(1, x.topk(2).indices, 5.0),
        ordered=lambda x: torch.where(((x > 0) > 0) & ((x > 1) <= (x > 2)), x, -x),
        some=lambda x: torch.where((x > 1.9).any(-1, keepdim=True), x, -x)), rows(6, 32))


def test_norms():
    class Norms(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.group, self.batch = torch.nn.GroupNorm(2, 4), torch.nn.BatchNorm1d(4)
            self.layer = torch.nn.LayerNorm((4, 8))
            self.batch.running_mean += 0.5
            self.batch.running_var *= 3.0

        def forward(self, x):
            bare = F.layer_norm(x, (8,)), F.rms_norm(x, (8,))
            return self.group(x), self.batch(x), self.layer(x), *bare

    graph = imported(Norms(), rows(5, 4, 8))
    assert [f'"result_{i}"' in graph.mlir for i in range(6)] == [True] * 5 + [False]


def each_third(x):
    """As rotary embeddings of images interleave the frequencies of three axes."""
    y = x.clone()
    y[:, 1:13:3] = -x[:, :4]
    return y


def masked_rows(x):
    mask = x > 0
    mask[x[:, 0] > 0] = True
    return torch.where(mask, x, 7.0)


def deep_table(x):
    """Each step reads the one before twice."""
    t = torch.arange(16, dtype=torch.float64) / 7
    for _ in range(40):
        t = t * 0.5 + t * t * 0.25
    return x + t.to(x.dtype)


def test_edges():
    """Empty slices, starts in front of the first element, NaN, rows that are written as truth."""
    odd = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0])
    imported(Of(
        none=lambda x: x[:, :0].sum(1) + x[:, 0], none_largest=lambda x: (x[:, :0] > 0).sum(1),
        from_the_first=lambda x: x[:, -100:3], row=lambda x: x[0] @ torch.arange(48.0).view(16, 3),
        written=lambda x: torch.slice_scatter(x, 2 * x[:, :6], 1, -100, None, 3),
        truth=masked_rows, table=deep_table,
        no_bins=lambda x: torch.bucketize(x, torch.zeros(0)),
        bins=lambda x: torch.bucketize(x[:, :4] * 0 + odd, torch.arange(-2, 3) / 2.0)), rows(5, 16))


def test_layouts():
    imported(Of(
        repeat=lambda x: x.repeat(1, 2), tile=lambda x: x[:, :1].tile(1, 3),
        interleaved=lambda x: x.repeat_interleave(2, -1), padded=lambda x: F.pad(x, (2, 1), value=4.0),
        cut=lambda x: F.pad(x, (-1, -3)), rolled=lambda x: x.roll(5, -1), lower=torch.tril,
        # Register tokens of which a model has none.
        none=lambda x: torch.cat([torch.zeros(1, 0).expand(x.shape[0], -1) * 2, x], 1),
        turned=lambda x: x.flip(-1), both=lambda x: torch.cat(torch.var_mean(x, -1, keepdim=True), 1),
        thirds=each_third, bins=lambda x: torch.bucketize(x, torch.arange(-2, 3) / 2.0),
        bins_right=lambda x: torch.bucketize(x * 0 + 0.5, torch.arange(-2, 3) / 2.0, right=True),
        best=lambda x: x.view(-1, 2, 8).transpose(1, 2).topk(3, 1)[1], pooled=lambda x: x.view(
            -1, 4, 4).max(1).values,
        outer=lambda x: x[:, :, None] * x[:, None, :], product=lambda x: torch.einsum("ni,mi->nm", x, x),
        places=lambda x: x + torch.arange(16), filled=lambda x: x * torch.full((16,), 3.0)),
        rows(9, 16))


def test_names_of_a_score_region_are_its_own():
    """An argument is called mask, a value in front of it sum, as those of the region."""
    class Attend(torch.nn.Module):
        def forward(self, x, mask):
            q = heads(x * x.sum(-1, keepdim=True), 4)
            return F.scaled_dot_product_attention(q, q, q, attn_mask=mask)

    args = rows(5, 32), rows(1, 4, 5, 5, seed=1)
    graph = hk.torch.export_module(Attend(), args)
    made, = hk.run_reference(graph, [a.numpy() for a in args], function="forward")
    assert "%mask.own" in graph.mlir and "%sum.own" in graph.mlir
    off = torch.from_numpy(made.values).double() - Attend()(*(a.double() for a in args))
    assert (off.abs() <= torch.from_numpy(made.bounds)).all()


class Places(torch.nn.Module):
    """Writes to places that data choose, as masks of sounds are made and features of images are
    merged; products of batches of which one has a single matrix."""

    def forward(self, x, lengths, features):
        mask = torch.zeros(3, 7, dtype=torch.long)
        mask[(torch.arange(3), lengths - 1)] = 1
        seen = mask.flip([-1]).cumsum(-1).flip([-1])
        zeroed, merged, alike, column = (x.clone() for _ in range(4))
        alike[mask == 1] = features[0]
        column[mask == 1] = features[:, :1]
        zeroed[seen == 0] = 0
        merged[mask == 1] = features
        keys = x.transpose(1, 2)[:, None]
        return {"mask": seen, "zeroed": zeroed, "alike": alike, "column": column, "features": merged,
                "one": x @ keys[:1, 0],
                "heads": x[:, None].expand(3, 2, 7, 4) @ keys[:1].expand(1, 2, 4, 7) * 1,
                "front": x[:1] @ keys[:, 0], "ranks": x[:, None] @ keys[0],
                "counted": (x > 0).cumsum(1, dtype=torch.float32)}


def test_places_that_data_choose():
    graph = imported(Places(), rows(3, 7, 4), torch.tensor([3, 7, 1]), rows(3, 4, seed=1),
                     dynamic=False)
    assert graph.signature.results[4] == "features_result"  # An argument has that name.


def test_what_is_traced_otherwise():
    """It is not hk that differs, and the check says so."""
    class Otherwise(torch.nn.Module):
        def forward(self, x):
            return x * 2 if torch.compiler.is_compiling() else x

    with pytest.raises(hk.CheckFailed, match="result 'result': what torch.export traces is off by"):
        imported(Otherwise(), rows(3, 4))


def heads(x, count):
    return x.view(1, -1, count, 8).transpose(1, 2)


def test_attention():
    """Masks become score regions; a causal one is an attribute."""
    def attend(x, kv=4, **options):
        made = F.scaled_dot_product_attention(heads(x, 4), heads(x[:, :8 * kv], kv),
                                              heads(x[:, :8 * kv], kv), **options)
        return made.transpose(1, 2).reshape(x.shape)

    graph = imported(Of(
        plain=attend, causal=lambda x: attend(x, is_causal=True),
        added=lambda x: attend(x, attn_mask=x @ x.t()), by_head=lambda x: attend(
            x, attn_mask=heads(x, 4) @ heads(x, 4).mT),
        seen=lambda x: attend(x, attn_mask=torch.tril(x @ x.t() + 10) > 0, scale=0.2),
        grouped=lambda x: attend(x, kv=2, enable_gqa=True)), rows(11, 32))
    assert graph.mlir.count("= hk.attention ") == 6 and graph.mlir.count(" causal ") == 1
    assert graph.mlir.count("hk.gather_elements %mask [%head, %i, %j]") == 1


@pytest.mark.parametrize("queries, keys, dynamic", [(5, 9, False), (13, 6, False), (1, 4, False), (7, 9, True)])
def test_causal_from_the_first_key(queries, keys, dynamic):
    """PyTorch's is_causal lets query i see keys 0 to i, however many of either there are. Of known
    numbers that is an interval of keys, which kernels do not walk beyond."""
    class Attend(torch.nn.Module):
        def forward(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)

    module = Attend()
    arguments = rows(2, 4, queries, 16), rows(2, 2, keys, 16, seed=1), rows(2, 2, keys, 8, seed=2)
    shapes = ({2: torch.export.Dim("n", min=2)}, {}, {}) if dynamic else None
    graph = hk.torch.export_module(module, arguments, dtype=torch.float32, dynamic_shapes=shapes)
    hk.torch.check(module, graph, threads=1)
    assert (" score {" in graph.mlir) == dynamic
    assert (" causal " in graph.mlir) == (queries < keys and not dynamic)
    assert (f" window_right {queries - keys} " in graph.mlir) == (queries > keys)


def test_rows_behind_sums():
    """A sum over a dim in front leaves nothing behind the rows."""
    imported(Of(shares=lambda x: x.sum(1).softmax(-1), norm=lambda x: F.layer_norm(x.sum(1), (8,)),
                product=lambda x: x.sum(1) @ torch.ones(8, 3, dtype=x.dtype),
                largest=lambda x: x.sum(1).amax(-1)), rows(3, 4, 6, 8))


def test_a_block():
    """A transformer's layer, written by hand."""
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.RMSNorm(32, eps=1e-5)
            self.attention = torch.nn.MultiheadAttention(32, 4, batch_first=True)
            self.up, self.down = torch.nn.Linear(32, 64), torch.nn.Linear(64, 32)

        def forward(self, x):
            y = self.norm(x)
            x = x + self.attention(y, y, y, need_weights=False)[0]
            return x + self.down(F.mish(self.up(self.norm(x))))

    graph = imported(Block(), rows(3, 10, 32))
    assert graph.mlir.count("= hk.attention ") == 1 and graph.mlir.count("= hk.rms_norm ") == 2


@pytest.mark.parametrize(("function", "text"), [
    (torch.erfc, r"test_modules.py:\d+: .*aten.erfc.default: hk has no operator"),
    (lambda x: x.sort()[0], "aten.sort"),
    (lambda x: x[x[:, 0] > 0], "how many depends on data"),
    (lambda x: x ** 1.7, "pow with exponent 1.7")])
def test_refused(function, text):
    with pytest.raises(hk.UnsupportedModel, match=text):
        imported(Of(y=function), rows(4, 8))


def test_arguments_are_tensors():
    with pytest.raises(hk.UnsupportedModel, match="example argument 1 is a int"):
        hk.torch.export_module(Of(y=torch.exp), (rows(2, 2), 3))


def test_a_wrong_result_is_found():
    module = Of(y=torch.exp)
    graph = hk.torch.export_module(module, rows(4, 8))
    graph.mlir = graph.mlir.replace("hk.exp ", "hk.exp2 ")
    with pytest.raises(hk.CheckFailed, match="result 'y' is off by"):
        hk.torch.check(module, graph, threads=1)


class Gives(torch.nn.Module):
    """What a function of one tensor makes."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(("module", "example", "results"), [
    # Its weights are called 0.weight; images whose channels lie innermost.
    (torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)),
     torch.randn(2, 3, 5, 5).to(memory_format=torch.channels_last), ["result"]),
    (Gives(lambda x: {"none": None, "twice": x + x}), torch.randn(4, 3).T, ["twice"]),
    (Gives(lambda x: (x + x, None, -x)), torch.randn(1, 3).expand(4, 3), ["result_0", "result_2"])])
def test_names_layouts_and_results_that_are_none(module, example, results):
    graph = hk.torch.export_module(module, example)
    hk.torch.check(module.eval(), graph, threads=1)
    assert list(graph.signature.results) == results
