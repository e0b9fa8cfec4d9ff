"""What an export needs in addition to the exporter: the names of the framework's variables, for exporters that number initializers, and the
removal of paths of the machine that made it.

While the exporter runs, each variable holds random numbers, by which it is found among the initializers, in any order of
its dims: fresh models have many equal variables."""
import itertools
import sys

import numpy as np
from onnx import numpy_helper


def markers(values):
    """By name, the values that the variables should hold while the exporter runs."""
    numbers = np.random.default_rng(0)
    return {name: numbers.random(value.shape, np.float32) + 1 for name, value in values.items()}


def restore(model, values, marked):
    """Puts names and values into a model that was exported with `marked` instead of `values`."""
    names = {}
    for tensor in model.graph.initializer:
        found = numpy_helper.to_array(tensor)
        for name, marker in marked.items():
            for order in itertools.permutations(range(marker.ndim)):
                if np.array_equal(marker.transpose(order), found):
                    names[tensor.name] = name
                    tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(values[name].transpose(order)), name))
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
    missing = set(values) - set(names.values())
    if missing:
        sys.exit(f"these variables are no initializers of the exported model: {', '.join(sorted(missing))}")


def drop_paths(model):
    """Removes the files and lines that PyTorch records for each node."""
    for node in model.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
