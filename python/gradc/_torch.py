"""PyTorch models, if PyTorch is installed."""
from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from collections.abc import Mapping
from unittest import mock

from gradc._compile import compile
from gradc._interface import Error
from gradc._model import Model


def from_torch(module, example_inputs, spec=None, *, input_names=None, output_names=None, **options) -> Model:
    """Compiles a torch.nn.Module with its weights, in training form (Dropout and BatchNormalization are kept). `example_inputs`: a tensor, a
    dict of keyword arguments, or a tuple, which may end with that dict: with {} if the last argument is a dict itself. The first dim of each
    tensor is the batch, of at least two rows. Inputs are by default named after the arguments. Parameters without requires_grad do not train,
    nor do buffers, and gradients stop at what torch.no_grad computes. Other arguments are those of `compile`.

    The session's state_dict() uses the module's names: `module.load_state_dict({name: torch.from_numpy(value) ...}, strict=False)`."""
    try:
        import torch
    except ImportError:
        raise Error("from_torch needs PyTorch: pip install torch onnx onnxscript") from None
    args = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    args, kwargs = (args[:-1], dict(args[-1])) if args and isinstance(args[-1], Mapping) else (args, {})
    args, kwargs = _with_last_named(module, args, kwargs)
    file, training, derivatives = io.BytesIO(), module.training, []
    try:
        with _capturing(torch, derivatives):
            program = torch.onnx.export(module.train(), args, kwargs=kwargs, dynamo=True, optimize=False, input_names=input_names,
                                        output_names=output_names, dynamic_shapes=_shapes(torch, module, args, kwargs), verbose=False)
        _refuse_smoothing(torch, program.exported_program.graph)
        _freeze(program, [name for name, value in module.named_parameters(remove_duplicate=False) if not value.requires_grad])
        program.save(file)
    except Error:
        raise
    except RuntimeError as failed:  # the exporter's errors, and those of writing what it has made of derivatives
        raise Error(_reason(failed, bool(derivatives))) from failed
    finally:
        module.train(training)
    model = compile(file.getvalue(), spec, **options)
    model.inputs = {value.name for value in program.model.graph.inputs}
    return model


def _reason(failed, derives):
    """The first cause of a failed export, as the exporter's own message begins with advice for developers of PyTorch."""
    while failed.__cause__ is not None:
        failed = failed.__cause__
    hint = ("\nnote: the module calls torch.autograd.grad or torch.func: make the derivative an input of forward and let the spec compute it, as "
            'in gradients { of: "u"  with_respect_to: "x"  name: "slope" } for an input slope; see examples/pinn') if derives else ""
    return f"PyTorch cannot export the module: {type(failed).__name__}: {str(failed).strip()}{hint}"


def _with_last_named(module, args, kwargs):
    """Passes a dict that is the last argument by name: the exporter takes it for the keyword arguments if there are none."""
    if kwargs or not args or not isinstance(args[-1], dict):
        return args, kwargs
    named = [of.name for of in inspect.signature(module.forward).parameters.values() if of.kind is of.POSITIONAL_OR_KEYWORD]
    return (args[:-1], {named[len(args) - 1]: args[-1]}) if len(args) <= len(named) else (args, kwargs)


def _shapes(torch, module, args, kwargs):
    """A batch as the first dim of every tensor of the examples, also of those in *args, **kwargs, lists and dicts."""
    shapes = torch.export.ShapesCollection()
    for value in torch.utils._pytree.tree_leaves((args, kwargs)):
        if isinstance(value, torch.Tensor) and value.ndim:
            shapes[value] = {0: "batch"}
    return shapes.dynamic_shapes(module, args, kwargs)


@contextlib.contextmanager
def _capturing(torch, derivatives):
    """The exporter captures modules by torch.export.export, which here stops the gradients of torch.no_grad. Attention is captured as its
    formula: PyTorch cannot decompose it where a bias has a gradient and the capture has taken the layout of a kernel that has none. Whether
    a mask of nn.Transformer is causal is not asked of its values, which a capture does not have: that only chooses the kernel.
    `derivatives` gets an element for each call of torch.autograd.grad, which torch.func makes as well."""
    capture, derive = torch.export.export, torch.autograd.grad

    def noted(*args, **kwargs):
        derivatives.append(True)
        return derive(*args, **kwargs)

    with (mock.patch.object(torch.export, "export", lambda *args, **kwargs: _detach(torch, capture(*args, **kwargs))),
          mock.patch.object(torch.autograd, "grad", noted),
          mock.patch.object(torch.nn.modules.transformer, "_detect_is_causal_mask", lambda mask, is_causal=None, size=None: is_causal is True),
          torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH), warnings.catch_warnings()):
        for ours in "Exporting a model while it is in training mode", "# The axis name: batch will not be used":
            warnings.filterwarnings("ignore", ours)  # it advises against what a caller has not chosen
        yield


def _detach(torch, program):
    """Adds detach to the results of the parts that were captured under torch.no_grad, which the exporter inlines without a trace."""
    names = {}
    for part in program.graph_module.modules():
        for region in list(part.graph.nodes) if isinstance(part, torch.fx.GraphModule) else ():
            if region.target is not torch.ops.higher_order.wrap_with_set_grad_enabled or region.args[0]:
                continue
            for result in list(region.users):
                value = result.meta.get("val")
                if not isinstance(value, torch.Tensor) or not value.is_floating_point():
                    continue
                with part.graph.inserting_after(result):
                    detached = part.graph.call_function(torch.ops.aten.detach.default, (result,))
                detached.meta = dict(result.meta)
                result.replace_all_uses_with(detached, lambda user, detached=detached: user is not detached)
                if part is program.graph_module:
                    names[result.name] = detached.name
            part.recompile()
    for output in program.graph_signature.output_specs:
        if getattr(output.arg, "name", None) in names:
            output.arg.name = names[output.arg.name]
    return program


def _refuse_smoothing(torch, graph):
    """The exporter writes a cross-entropy without its label smoothing, the sixth argument: the loss would be another one."""
    for node in graph.nodes:
        if node.target is torch.ops.aten.cross_entropy_loss.default and len(node.args) > 5 and node.args[5]:
            raise Error(f"PyTorch's exporter leaves out the label smoothing of cross_entropy ({node.args[5]}): make the scores an output, with "
                        "softmax_cross_entropy { label_smoothing } as the spec's loss, or compute the smoothed loss from log_softmax")


def _freeze(program, names):
    """Lets the program call parameters buffers, which do not train."""
    for name in names:
        if name in program.model.graph.initializers:
            program.model.graph.initializers[name].metadata_props["pkg.torch.export.graph_signature.InputSpec.kind"] = "BUFFER"
