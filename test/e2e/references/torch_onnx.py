"""Runs an ONNX graph in PyTorch, differentiably; supports the operations of the stored models and the examples."""
import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper


class TorchModel:
    """The parameters are the graph's float initializers that are not statistics. Call it with the graph's single input."""

    def __init__(self, path, dtype=torch.float32):
        graph = onnx.load(path).graph
        self.nodes, self.input, self.outputs = graph.node, graph.input[0].name, [output.name for output in graph.output]
        running = {name for node in graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}
        self.constants, self.parameters = {}, {}
        for initializer in graph.initializer:
            array = numpy_helper.to_array(initializer)
            tensor = torch.from_numpy(array.copy())
            if array.dtype != np.float32:
                self.constants[initializer.name] = tensor
            elif initializer.name in running:
                self.constants[initializer.name] = tensor.to(dtype)
            else:
                self.parameters[initializer.name] = tensor.to(dtype).requires_grad_()

    def __call__(self, x, training):
        """The graph's outputs. In training, batch normalization uses the batch's statistics and updates its own."""
        values = self.constants | self.parameters | {self.input: x}
        for node in self.nodes:
            attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            operands = [values[name] if name else None for name in node.input]
            values[node.output[0]] = OPERATIONS[node.op_type](operands, attributes, training)
        return [values[name] for name in self.outputs]


def same_pads(attributes):
    pads = attributes["pads"]
    if len(set(pads)) > 1:
        raise ValueError(f"expected equal pads, found {pads}")
    return pads[0]


def conv(operands, a, training):
    weight, bias = operands[1], operands[2] if len(operands) > 2 else None
    return F.conv2d(operands[0], weight, bias, a["strides"], same_pads(a), a["dilations"], a["group"])


def batch_normalization(operands, a, training):
    x, scale, offset, mean, variance = operands
    return F.batch_norm(x, mean, variance, scale, offset, training, 1 - a["momentum"], a["epsilon"])


OPERATIONS = {
    "Add": lambda v, a, t: v[0] + v[1],
    "BatchNormalization": batch_normalization,
    "Conv": conv,
    "Flatten": lambda v, a, t: v[0].flatten(1),
    "Gemm": lambda v, a, t: F.linear(v[0], v[1] if a.get("transB") else v[1].t(), v[2]),
    "GlobalAveragePool": lambda v, a, t: v[0].mean((2, 3), keepdim=True),
    "Identity": lambda v, a, t: v[0],
    "MaxPool": lambda v, a, t: F.max_pool2d(v[0], a["kernel_shape"], a["strides"], same_pads(a)),
    "Relu": lambda v, a, t: F.relu(v[0]),
    "Unsqueeze": lambda v, a, t: v[0].unsqueeze(int(v[1])),
}
