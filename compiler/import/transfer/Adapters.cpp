// Adds a few nodes per adapter to the imported graph; the importer handles them like all others.
#include "dialects/Pch.h"

#include "compiler/import/transfer/Adapters.h"

#include "compiler/import/onnx/GraphBuilder.h"
#include "compiler/import/support/Names.h"
#include "compiler/import/transfer/Layers.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// Adds the nodes of one weight's adapter to a graph, which has A and B as initializers.
class AdapterNodes {
public:
  /// Transposes A and B, once per weight, to factors of rows.
  AdapterNodes(onnx::GraphProto &graph, const Adapter &adapter, double dropout)
      : graph(graph), builder(graph, "lora:"), dropout(dropout), down(transposed(adapter.down)),
        up(transposed(adapter.up)) {}

  /// Adds the adapter's product, multiplied by `factor`, to the product that computes `output`.
  void addTo(const std::string &output, onnx::TensorProto factor) {
    builder.addConstant(output + ".lora_factor", std::move(factor));
    onnx::NodeProto *product = nullptr;
    for (onnx::NodeProto &node : *graph.mutable_node())
      if (node.output_size() && node.output(0) == output)
        product = &node;
    std::string frozen = output + ".frozen", x = product->input(0);
    product->set_output(0, frozen);
    if (dropout > 0)
      x = builder.add("Dropout", {x}, {output + ".lora_dropout"}).set("ratio", dropout).result();
    builder.add("MatMul", {x, down}, {output + ".lora_A"});
    builder.add("MatMul", {output + ".lora_A", up}, {output + ".lora_B"});
    builder.add("Mul", {output + ".lora_B", output + ".lora_factor"}, {output + ".lora"});
    builder.add("Add", {frozen, output + ".lora"}, {output});
  }

private:
  std::string transposed(const std::string &matrix) {
    return builder.add("Transpose", {matrix}, {matrix + ".transposed"}).result();
  }

  onnx::GraphProto &graph;
  GraphBuilder builder;
  double dropout;
  std::string down, up;
};

/// Finds the weights of all blocks and adapts each of them.
class Adaption {
public:
  Adaption(const SpecFile &spec, OnnxModel &model, InitialValues &values)
      : spec(spec), model(model), values(values) {}

  FailureOr<std::vector<Adapter>> run();

private:
  LogicalResult adapt(const std::string &weight, const spec::Lora &block, Location where);
  LogicalResult expectNoOtherReader(const std::string &name, Location where) const;

  const SpecFile &spec;
  OnnxModel &model;
  InitialValues &values;
  std::vector<Adapter> adapters;
};
} // namespace

/// The adapter's factor, multiplied by Gemm's own.
static double factorOf(const onnx::NodeProto &product, double factor) {
  const onnx::AttributeProto *alpha =
      product.op_type() == "Gemm" ? findAttribute(product, "alpha") : nullptr;
  return alpha ? factor * alpha->f() : factor;
}

LogicalResult Adaption::adapt(const std::string &weight, const spec::Lora &block, Location where) {
  GraphUses uses(model.graph());
  SmallVector<LinearUse> products = linearUses(uses, weight);
  const onnx::TensorProto &tensor = *uses.initializer(weight);
  int32_t dataType = tensor.data_type();
  FailureOr<RankedTensorType> type = model.type(tensor, where);
  if (failed(type))
    return failure();
  bool inputsFirst = products.front().inputsFirst;
  SmallVector<std::pair<std::string, double>>
      outputs; // the outputs of products, with their factors
  double alpha = block.has_alpha() ? block.alpha() : double(block.rank());
  Adapter adapter{weight, weight + ".lora_A", weight + ".lora_B", alpha / double(block.rank()),
                  inputsFirst};
  for (const LinearUse &use : products) {
    if (integerAttribute(*use.node, "transA", 0) || use.inputsFirst != inputsFirst)
      return emitError(where)
             << "lora: node \"" << nodeName(model.nodeLoc(*use.node)) << "\" multiplies by \""
             << weight
             << "\" in a way that adapters do not: its left operand is transposed, "
                "or the weight is, unlike elsewhere";
    outputs.push_back({use.node->output(0), factorOf(*use.node, adapter.factor)});
  }
  for (const std::string &name : {adapter.down, adapter.up})
    if (model.initializer(name))
      return emitError(where) << "lora: the model has an initializer \"" << name << "\" already";
  int64_t inputs = type->getShape()[inputsFirst ? 0 : 1],
          outputSize = type->getShape()[inputsFirst ? 1 : 0];
  auto downType = RankedTensorType::get({block.rank(), inputs}, type->getElementType()),
       upType = RankedTensorType::get({outputSize, block.rank()}, type->getElementType());
  model.extend([&](onnx::GraphProto &graph) {
    auto tensor = [&](const HostTensor &value) {
      ArrayRef<char> bytes = value.bytes();
      return tensorOf(dataType, value.getShape(), std::string(bytes.begin(), bytes.end()));
    };
    GraphBuilder builder(graph);
    builder.addInitializer(adapter.down, tensor(HostTensor(downType)));
    builder.addInitializer(adapter.up, tensor(HostTensor(upType)));
    AdapterNodes nodes(graph, adapter, block.dropout());
    for (const auto &[output, factor] : outputs) {
      HostTensor number(RankedTensorType::get({}, type->getElementType()));
      number.setFloat(0, factor);
      nodes.addTo(output, tensor(number));
    }
  });
  values[adapter.down] = drawUniform(spec, adapter.down, downType, 1 / std::sqrt(double(inputs)));
  adapters.push_back(std::move(adapter));
  return success();
}

/// The first node that reads an initializer otherwise than products of MatMul and Gemm do; null if
/// there is none.
static const onnx::NodeProto *otherReader(const GraphUses &uses, StringRef initializer) {
  for (const ValueUse &use : uses.of(initializer))
    if (!llvm::is_contained({"MatMul", "Gemm", "Transpose", "Identity"}, use.node->op_type()))
      return use.node;
  return nullptr;
}

/// Reports an initializer that is named, such as an embedding tied to the last layer, but that
/// cannot be adapted because of another reader.
LogicalResult Adaption::expectNoOtherReader(const std::string &name, Location where) const {
  GraphUses uses(model.graph());
  const onnx::NodeProto *reader = uses.initializer(name) ? otherReader(uses, name) : nullptr;
  if (!reader)
    return success();
  return emitError(where) << "lora: expected a weight of MatMul or Gemm alone, but node \""
                          << nodeName(model.nodeLoc(*reader)) << "\" (" << reader->op_type()
                          << ") reads \"" << name << "\"";
}

FailureOr<std::vector<Adapter>> Adaption::run() {
  GraphUses uses(model.graph());
  PatternScope scope{"lora", "weight of MatMul or Gemm", {}};
  for (const std::string &name : model.initializerNames())
    if (!linearUses(uses, name).empty())
      scope.names.push_back(name);
  llvm::StringSet<> taken;
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().lora()))
    for (auto [p, pattern] : llvm::enumerate(block.pattern())) {
      Location where = spec.at({{"lora", int(i)}, {"pattern", int(p)}});
      if (failed(expectNoOtherReader(pattern, where))) {
        ok = false;
        continue;
      }
      FailureOr<std::vector<std::string>> names = matching(pattern, scope, where);
      ok &= succeeded(names);
      if (succeeded(names))
        for (const std::string &name : *names)
          if (taken.insert(name).second)
            ok &= succeeded(adapt(name, block, where));
    }
  if (!ok)
    return failure();
  return adapters;
}

FailureOr<std::vector<Adapter>> gradc::addAdapters(const SpecFile &spec, OnnxModel &model,
                                                   InitialValues &values) {
  if (spec.get().lora().empty())
    return std::vector<Adapter>();
  return Adaption(spec, model, values).run();
}

LogicalResult gradc::importMerged(const OnnxModel &model, States &states,
                                  const ImportOptions &options, ArrayRef<Adapter> adapters) {
  if (adapters.empty())
    return success();
  EntryImport entry(model, states, options, GRADC_MERGED_ENTRY, 0, /*training=*/false);
  for (const Adapter &adapter : adapters) {
    Location where = model.nameLoc(adapter.weight);
    OpBuilder &b = entry.getBuilder();
    Expr weight(b, where, entry.value(adapter.weight)),
        down = weight.with(entry.value(adapter.down)), up = weight.with(entry.value(adapter.up));
    Expr product = weight.with(adapter.inputsFirst
                                   ? MatmulOp::create(b, where, down, up, /*transpose_lhs=*/true,
                                                      /*transpose_rhs=*/true)
                                   : MatmulOp::create(b, where, up, down, /*transpose_lhs=*/false,
                                                      /*transpose_rhs=*/false));
    entry.addResult(weight + product * adapter.factor, states.symbol(adapter.weight),
                    GRADC_ROLE_OUTPUT);
  }
  entry.finish();
  return success();
}
