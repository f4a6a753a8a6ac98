"""Convolutions, pooling and other sizes of images, models of images and sounds, encoders with
decoders: every result beside the module's one precision up."""

import hk
import pytest

torch = pytest.importorskip("torch")
import hk.torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402
from test_modules import Of, imported, rows  # noqa: E402

F, nn = torch.nn.functional, torch.nn
torch.set_num_threads(1)
IMAGES = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 96, "image_size": 32, "patch_size": 8}


class Each(nn.Module):
    """Several modules of one argument."""

    def __init__(self, **modules):
        super().__init__()
        self.each = nn.ModuleDict(modules)

    def forward(self, x):
        return {name: module(x) for name, module in self.each.items()}


class Alone(nn.Module):
    def __init__(self, of):
        super().__init__()
        self.of = of

    def forward(self, x):
        return self.of(x)


def random(module, by=1.0):
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.copy_(0.1 * noise + parameter if parameter.dim() == 1 else parameter * by)
    return module.eval()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_convolutions_of_images(dtype):
    module = random(Each(
        patch=nn.Conv2d(3, 16, 4, 4), stem=nn.Conv2d(3, 8, 7, 2, 3), one=nn.Conv2d(3, 8, 1),
        spread=nn.Conv2d(3, 8, 3, padding=2, dilation=2), alone=nn.Conv2d(3, 3, 5, padding=2, groups=3),
        groups=nn.Conv2d(3, 6, 3, 2, 1, groups=3), oblong=nn.Conv2d(3, 4, (3, 1), (2, 1), (1, 0)),
        back=nn.ConvTranspose2d(3, 5, 3, 2, 1, 1), patches_back=nn.ConvTranspose2d(3, 5, 2, 2),
        largest=nn.MaxPool2d(3, 2, 1), mean=nn.AvgPool2d(2), mean_of_all=nn.AdaptiveAvgPool2d(1)))
    graph = imported(module, rows(3, 3, 13, 16), dtype=dtype)
    # Patches are rows as they lie; other weights are moved once, at import.
    assert graph.tensors["each.patch.weight"].shape == (16, 3, 4, 4)
    assert graph.tensors["each.stem.weight.by_tap"].shape == (8, 7 * 7 * 3)


def test_convolutions_of_sounds():
    module = random(Each(
        same=nn.Conv1d(6, 8, 3, padding=1), fifth=nn.Conv1d(6, 8, 10, 5),
        positions=nn.Conv1d(6, 6, 128, padding=64, groups=3),
        alone=nn.Conv1d(6, 6, 31, padding=15, groups=6), back=nn.ConvTranspose1d(6, 4, 4, 2, 1),
        # PyTorch writes the mean's strides out where channels lie last, as Swin's do.
        mean=Alone(lambda x: F.adaptive_avg_pool1d(x.transpose(1, 2), 1)),
        batch=Alone(lambda x: F.batch_norm(x, None, None, training=True))))
    graph = imported(module, rows(3, 6, 150))
    # A window of 128 is 16 runs of 8.
    assert graph.mlir.count("hk.concat") < 10


def image(x):
    return x.view(-1, 1, 4, 6)


def test_windows():
    imported(Of(patches=lambda x: x.unfold(1, 4, 4), runs=lambda x: x.unfold(1, 5, 2),
                whole=lambda x: F.max_pool2d(image(x), 3, 2, 1, ceil_mode=True)), rows(5, 24))


def test_averages_of_fewer_elements_at_the_edges():
    imported(Of(within=lambda x: F.avg_pool2d(image(x), 3, 1, 1, count_include_pad=False),
                beyond=lambda x: F.avg_pool2d(image(x), 3, 2, 1, ceil_mode=True),
                both=lambda x: F.avg_pool1d(x, 5, 3, 2, True, False)), rows(5, 24))


class Sampled(nn.Module):
    """Features at places that data give, means of windows that overlap, a table made in f64."""

    def forward(self, x, grid):
        table = (torch.arange(6, dtype=torch.float64) / 7).sin().to(x.dtype)
        made = {f"{mode}_{outside}_{corners}": F.grid_sample(x, grid, mode, outside, corners)
                for mode, outside, corners in (("bilinear", "zeros", False), ("nearest", "zeros", True),
                                               ("bilinear", "border", True))}
        return made | {"means": F.adaptive_avg_pool2d(x, (3, 4)), "table": x + table}


def test_samples():
    imported(Sampled(), rows(2, 3, 5, 6), 0.8 * rows(2, 4, 7, 2), dynamic=False)
    with pytest.raises(hk.UnsupportedModel, match="bicubic or reflects"):
        imported(Of(x=lambda x: F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), "bicubic")),
                 rows(2, 3, 4, 4))


def bounded(x):
    """With numbers for infinities and NaN, so that a check compares them."""
    return torch.where(x == x, x.clamp(-99, 99), 77.0)


def test_infinities_stay_where_they_are():
    x = rows(2, 3, 5, 6)
    x[:, 0, 0, 0], x[:, 1, 4, 5], x[0, 2, 2] = float("inf"), -float("inf"), float("nan")
    grid = 1.5 * rows(2, 4, 7, 2)
    grid[:, 0, :2], grid[:, 0, 2] = -2.0, 1.0
    border = grid.clone()
    border[0, 1, 1] = float("nan")
    imported(Of(means=lambda x: bounded(F.adaptive_avg_pool2d(x, (3, 3))), **{
        f"{mode}_{outside}": lambda x, mode=mode, outside=outside: bounded(
            F.grid_sample(x, (border if outside == "border" else grid).to(x.dtype), mode, outside, False))
        for mode in ("bilinear", "nearest") for outside in ("zeros", "border")}), x, dynamic=False)


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
def test_other_sizes(mode):
    imported(Of(larger=lambda x: F.interpolate(x, (9, 14), mode=mode),
                smaller=lambda x: F.interpolate(x, (3, 5), mode=mode),
                by=lambda x: F.interpolate(x, scale_factor=1.7, mode=mode)), rows(3, 2, 6, 7))


def test_refused():
    with pytest.raises(hk.UnsupportedModel, match="transposed convolution of 3 groups"):
        imported(Each(back=nn.ConvTranspose2d(3, 3, 2, groups=3)), rows(3, 3, 8, 8))
    with pytest.raises(hk.UnsupportedModel, match="as_strided of .2, 6. to .2, 3. in steps of .6, 2."):
        imported(Alone(lambda x: x.as_strided((2, 3), (6, 2))), rows(2, 6), dynamic=False)
    # A formula makes other strides than the model's convolution.
    weights = rows(4, 3, 2, 2)
    with pytest.raises(hk.UnsupportedModel, match="as_strided of .2, 4, 4, 5. to .2, 4, 4, 5."):
        imported(Alone(lambda x: F.conv2d(x, weights).as_strided((2, 4, 4, 5), (80, 1, 20, 4))),
                 rows(2, 3, 5, 6), dynamic=False)
    with pytest.raises(hk.UnsupportedModel, match="topk of 0 elements"):
        imported(Alone(lambda x: x.topk(0, 1)[0]), rows(2, 6))
    with pytest.raises(hk.UnsupportedModel, match="fewer elements, along a dim whose size a call tells"):
        imported(Alone(lambda x: F.avg_pool1d(x.T, 3, 1, 1, count_include_pad=False)), rows(8, 3))
    # What fails behind the trace has the model's line, too.
    with pytest.raises(hk.UnsupportedModel, match="test_perception.py:.*how many depends on data|"
                                                  "depends on data must be taken out"):
        imported(Alone(lambda x: x[x > 0].view(-1, 1)[:, 0].sum()), rows(3, 3), dynamic=False)


def test_sounds_of_any_length():
    """Windows with steps and zeros around, and norms along a dim whose size a call tells."""
    module = random(Each(
        third=nn.Conv1d(6, 8, 3, 2), fifth=nn.Conv1d(6, 8, 10, 5, 3), same=nn.Conv1d(6, 8, 3, padding=1),
        spread=nn.Conv1d(6, 8, 3, 2, 4, 3), groups=nn.Conv1d(6, 6, 4, padding=2, groups=3),
        alone=nn.Conv1d(6, 6, 5, 2, 2, groups=6), runs=Alone(lambda x: x.unfold(2, 5, 3)),
        one=Alone(lambda x: F.conv1d(x[:, :1], torch.ones(2, 1, 4, dtype=x.dtype), stride=3)),
        norm=nn.GroupNorm(2, 6),
        shares=Alone(lambda x: x.softmax(1))))
    graph = hk.torch.export_module(module, (rows(3, 6, 51),), dynamic_shapes=(
        {0: torch.export.Dim("sounds", min=2), 2: torch.export.Dim("time", min=20)},))
    assert "arith.divui" in graph.mlir and "%x: tensor<?x6x?xf32>" in graph.mlir
    hk.torch.check(module, graph, threads=1)


def test_what_repeats_as_often_as_a_call_says():
    """Also truth values; a mask that repeats is read where it lies."""
    def attend(x):
        heads = x.view(x.shape[0], 2, 5, 8)
        mask = (torch.arange(5)[:, None] >= torch.arange(5)).expand(x.shape[0], 1, 5, 5)
        return F.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask)

    graph = imported(Of(
        sums=lambda x: torch.ones(5)[None].expand(x.shape[0], 5).cumsum(1) * x[:, :5],
        rows=lambda x: torch.where(torch.cat([torch.arange(4)[None].expand(x.shape[0], 4) > 1,
                                              x[:, 4:] > 0], 1), x, -x),
        seen=attend), rows(3, 80))
    assert "hk.gather_elements %mask [%i, %j]" in graph.mlir


def test_a_folder(tmp_path):
    """By its configuration, no example is given: `hk import` takes it, too."""
    torch.manual_seed(0)
    config = transformers.ViTConfig(**IMAGES, num_labels=5)
    random(transformers.ViTForImageClassification(config), 2.0).save_pretrained(tmp_path)
    model = hk.torch.read(tmp_path)
    graph = hk.torch.export(model)
    assert "%pixel_values: tensor<?x3x32x32xf32>" in graph.mlir
    assert graph.signature.results == ("logits",) and graph.mlir.count("= hk.attention ") == 2
    # Weights have the names of the file, and what it lacks is an error.
    names = set(dict(model.named_parameters())) | set(dict(model.named_buffers()))
    assert {n.removesuffix(".by_tap") for n in graph.tensors} <= names
    hk.torch.check(model, graph, threads=1)
    tensors = load_file(tmp_path / "model.safetensors")
    del tensors["classifier.bias"]
    save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    with pytest.raises(hk.UnsupportedModel, match="no values for classifier.bias"):
        hk.torch.export(hk.torch.read(tmp_path))


def test_sounds():
    """Of any length. The weight of a convolution is a product of two parameters: made at import."""
    torch.manual_seed(0)
    config = transformers.Wav2Vec2Config(
        hidden_size=64, num_hidden_layers=1, num_attention_heads=4, intermediate_size=96,
        conv_dim=[16, 16], conv_kernel=[10, 3], conv_stride=[5, 2], num_conv_pos_embeddings=16,
        num_conv_pos_embedding_groups=4)
    model = random(transformers.Wav2Vec2Model(config), 2.0)
    with pytest.raises(hk.UnsupportedModel, match="takes input_values.*export_module"):
        hk.torch.export(model)

    class Hidden(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, sound):
            return self.model(sound).last_hidden_state

    module = Hidden().eval()
    graph = hk.torch.export_module(module, (rows(2, 400),), dynamic_shapes=(
        {0: torch.export.Dim("sounds", min=2), 1: torch.export.Dim("time", min=100)},))
    hk.torch.check(module, graph, threads=1)
    assert "%sound: tensor<?x?xf32>" in graph.mlir
    assert "hk.sqrt" not in graph.mlir and graph.mlir.count("= hk.attention ") == 1


# Two tokens fill an expert of Switch: it gives others nothing.
SEQUENCES = {"t5": ("T5", {}), "switch": ("SwitchTransformers", {
    "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1, "num_experts": 4,
    "expert_capacity": 2, "num_decoder_layers": 1})}


@pytest.mark.parametrize("name", SEQUENCES)
def test_encoders_with_decoders(name):
    torch.manual_seed(0)
    family, more = SEQUENCES[name]
    config = getattr(transformers, family + "Config")(
        d_model=64, d_kv=16, d_ff=96, num_layers=1, num_heads=4, vocab_size=97,
        decoder_start_token_id=0, **more)
    model = random(getattr(transformers, family + "ForConditionalGeneration")(config), 2.0)
    with pytest.raises(hk.UnsupportedModel, match="an encoder with a decoder.*export_module"):
        hk.torch.export(model)

    class Logits(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, ids, decoder_ids):
            masks = {} if name == "t5" else {"attention_mask": torch.ones_like(ids),
                                             "decoder_attention_mask": torch.ones_like(decoder_ids)}
            return self.model(input_ids=ids, decoder_input_ids=decoder_ids, use_cache=False,
                              **masks).logits

    generator = torch.Generator().manual_seed(3)
    given = [torch.randint(3, 90, (2, n), generator=generator) for n in (9, 5)]
    batch = torch.export.Dim("n", min=2)
    module = Logits().eval()
    graph = hk.torch.export_module(module, given, dynamic_shapes=({0: batch}, {0: batch}))
    # Switch writes its attention as products.
    assert graph.mlir.count("= hk.attention ") == (3 if name == "t5" else 0)
    assert graph.mlir.count("= hk.grouped_matmul ") == (4 if name == "switch" else 0)
    hk.torch.check(module, graph, threads=1)


def test_features_in_the_places_of_a_text():
    """As models of images and text merge them: rows of one tensor where tokens say so; and
    elements."""
    class Merge(nn.Module):
        def forward(self, x, ids, features):
            places = ids == 6
            rows = x.masked_scatter(places[..., None].expand_as(x), features)
            return {"rows": rows, "elements": x.masked_scatter(x > 1, features + x[0])}

    ids = torch.tensor([[1, 6, 6, 2, 3], [6, 4, 5, 1, 6]])
    imported(Merge(), rows(2, 5, 8), ids, rows(5, 8), dynamic=False)
