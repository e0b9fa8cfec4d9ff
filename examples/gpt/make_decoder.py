"""Writes decoder.onnx, the model of gpt.onnx with a cache: it reads one or more characters, the position of the first, and the keys and values
of those before. Its weights have the names of gpt.onnx's, so it takes the same checkpoints. Needs onnx (made with 1.23.2): python3 make_decoder.py"""
import os

import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
HEADS = 3
weights = {weight.name: weight for weight in onnx.load(os.path.join(HERE, "gpt.onnx")).graph.initializer}
(context, width), vocabulary = weights["position"].dims, weights["embedding.weight"].dims[0]
blocks = sum(name.endswith("attention.weight") for name in weights)
nodes = []


def node(operator, inputs, outputs, **attributes):
    nodes.append(helper.make_node(operator, inputs, outputs, outputs[0], **attributes))
    return outputs[0]


def constant(name, type, dims, values):
    return node("Constant", [], [name], value=helper.make_tensor(name, type, dims, values))


def normalized(x, name):
    return node("LayerNormalization", [x, f"{name}.weight", f"{name}.bias"], [f"{name}.normalized"])


def linear(x, name):
    turned = node("Transpose", [f"{name}.weight"], [f"{name}.turned"], perm=[1, 0])
    return node("Add", [node("MatMul", [x, turned], [f"{name}.product"]), f"{name}.bias"], [f"{name}.sum"])


zero, one = (constant(name, TensorProto.INT64, [], [value]) for name, value in (("zero", 0), ("one", 1)))
capacity = constant("capacity", TensorProto.INT32, [], [context])
steps = node("Squeeze", [node("Shape", ["tokens"], ["steps"], start=1)], ["step_count"])
places = node("Add", ["position_of_first", node("Range", [zero, steps, one], ["range"])], ["places"])
behind = node("Sub", [steps, one], ["steps_behind_first"])
last = node("Cast", [node("Add", ["position_of_first", behind], ["last"])], ["last_key"], to=TensorProto.INT32)
x = node("Add", [node("Gather", ["embedding.weight", "tokens"], ["embedded"]), node("Gather", ["position", places], ["placed"])], ["x"])
caches = [f"{tensor}.{block}" for block in range(blocks) for tensor in ("key", "value")]
for block in range(blocks):
    name = f"blocks.{block}"
    parts = [f"{name}.{part}" for part in ("queries", "keys", "values")]
    node("Split", [linear(normalized(x, f"{name}.norm1"), f"{name}.attention")], parts, axis=-1, num_outputs=3)
    key, value = caches[2 * block:2 * block + 2]
    mixed = node("GroupQueryAttention", [*parts, f"past_{key}", f"past_{value}", last, capacity],
                 [f"{name}.mixed", f"present_{key}", f"present_{value}"], domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS)
    x = node("Add", [x, linear(mixed, f"{name}.project")], [f"{name}.attended"])
    wide = node("Gelu", [linear(normalized(x, f"{name}.norm2"), f"{name}.expand")], [f"{name}.gelu"])
    x = node("Add", [x, linear(wide, f"{name}.contract")], [f"{name}.result"])
turned = node("Transpose", ["embedding.weight"], ["embedding.turned"], perm=[1, 0])
node("MatMul", [normalized(x, "norm"), turned], ["logits"])

room = [1, HEADS, context, width // HEADS]
inputs = [helper.make_tensor_value_info("tokens", TensorProto.INT64, [1, "steps"]),
          helper.make_tensor_value_info("position_of_first", TensorProto.INT64, [1]),
          *(helper.make_tensor_value_info(f"past_{cache}", TensorProto.FLOAT, room) for cache in caches)]
outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, "steps", vocabulary]),
           *(helper.make_tensor_value_info(f"present_{cache}", TensorProto.FLOAT, room) for cache in caches)]
graph = helper.make_graph(nodes, "decoder", inputs, outputs, list(weights.values()))
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
onnx.save(model, os.path.join(HERE, "decoder.onnx"))
