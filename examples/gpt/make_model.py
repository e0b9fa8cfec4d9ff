"""Writes gpt.onnx, a small GPT with new weights, by PyTorch's own exporter. It reads up to 32 characters, and predicts for each of them the
next one. Needs torch and onnx (made with 2.15.0 and 1.23.2): python3 make_model.py"""
import os

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, CONTEXT, WIDTH, HEADS, BLOCKS = 128, 32, 48, 3, 2


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.expand, self.contract = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        heads = self.attention(self.norm1(x)).view(-1, CONTEXT, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        x = x + self.project(y.transpose(1, 2).reshape(-1, CONTEXT, WIDTH))
        return x + self.contract(F.gelu(self.expand(self.norm2(x))))


class Gpt(nn.Module):
    """The weights of the output are those of the embedding."""

    def __init__(self):
        super().__init__()
        self.embedding, self.position = nn.Embedding(VOCABULARY, WIDTH), nn.Parameter(0.02 * torch.randn(CONTEXT, WIDTH))
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(BLOCKS)), nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.embedding.weight)


torch.manual_seed(1)
model = Gpt()
for name, parameter in model.named_parameters():
    if parameter.dim() == 2 and name != "position":
        nn.init.normal_(parameter, std=0.02)
    elif name.endswith("bias"):
        nn.init.normal_(parameter, std=1e-4)  # exporters make one initializer of equal ones
    elif "norm" in name:
        nn.init.normal_(parameter, mean=1, std=1e-4)
torch.onnx.export(model, (torch.zeros(2, CONTEXT, dtype=torch.int64),),
                  os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpt.onnx"), dynamo=False, opset_version=17,
                  do_constant_folding=False, input_names=["tokens"], output_names=["logits"],
                  dynamic_axes={"tokens": {0: "batch"}, "logits": {0: "batch"}})
