"""Import of PyTorch models: `export` a model of transformers to a Graph, or `read` a folder or
GGUF file first, or `export_module` any nn.Module; `check` compares the compiled result with it.

    model = transformers.AutoModelForCausalLM.from_pretrained(folder)
    graph = hk.torch.export(model, dtype=torch.bfloat16)
    hk.torch.check(model, graph)
    hk.compile(graph, "model.so", targets=["host", "gfx942"])
"""

from ._check import Report, check
from ._graph import Graph, default_signature, export, export_module
from ._source import read, read_tokenizer
from ._stored import stored_weights

__all__ = ["Graph", "Report", "check", "default_signature", "export", "export_module", "read",
           "read_tokenizer", "stored_weights"]
