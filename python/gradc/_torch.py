"""PyTorch models, if PyTorch is installed."""
from __future__ import annotations

import io

from gradc._compile import compile
from gradc._interface import Error
from gradc._model import Model


def from_torch(module, example_inputs, spec=None, *, input_names=None, output_names=None, **options) -> Model:
    """Compiles a torch.nn.Module with its weights, in training form (Dropout and BatchNormalization are kept). The first dim of the example
    inputs is the batch, of at least two rows. Parameters without requires_grad do not train, nor do buffers. Other arguments are those of
    `compile`.

    The session's state_dict() uses the module's names: `module.load_state_dict({name: torch.from_numpy(value) ...}, strict=False)`."""
    try:
        import torch
    except ImportError:
        raise Error("from_torch needs PyTorch: pip install torch onnx onnxscript") from None
    inputs = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    file, training = io.BytesIO(), module.training
    try:
        program = torch.onnx.export(module.train(), inputs, dynamo=True, optimize=False, input_names=input_names, output_names=output_names,
                                    dynamic_shapes=tuple({0: "batch"} for _ in inputs), verbose=False)
        _freeze(program, [name for name, value in module.named_parameters(remove_duplicate=False) if not value.requires_grad])
        program.save(file)
    finally:
        module.train(training)
    return compile(file.getvalue(), spec, **options)


def _freeze(program, names):
    """Lets the program call parameters buffers, which do not train."""
    for name in names:
        if name in program.model.graph.initializers:
            program.model.graph.initializers[name].metadata_props["pkg.torch.export.graph_signature.InputSpec.kind"] = "BUFFER"
