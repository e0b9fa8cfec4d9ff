// Adds a few nodes per adapter to the imported graph; the importer handles them like all others.
#include "dialects/Pch.h"

#include "compiler/import/transfer/Adapters.h"

#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/support/Names.h"
#include "compiler/import/transfer/Layers.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// A weight, and the products of rows with it.
struct Adaptable {
  SmallVector<LinearUse> products;
  int64_t inputs, outputs;
  int32_t dataType;
  bool isCoded;
};

/// An adapter's tensors, and the outputs of the products that it is added to, with its factor.
struct Parts {
  Adapter adapter;
  onnx::TensorProto down, up;
  std::vector<std::pair<std::string, onnx::TensorProto>> outputs;
  double dropout;
};

/// Adds the nodes of one weight's adapter to a graph: behind all others or, for an export, where
/// the nodes of the graph can be computed in their order.
class AdapterNodes {
public:
  /// Transposes A and B, once per weight, to factors of rows.
  AdapterNodes(onnx::GraphProto &graph, const Parts &parts, bool isExported)
      : graph(graph), builder(graph, "lora:"), dropout(isExported ? 0 : parts.dropout),
        isExported(isExported) {
    builder.addInitializer(parts.adapter.down, parts.down);
    builder.addInitializer(parts.adapter.up, parts.up);
    int first = graph.node_size();
    down = transposed(parts.adapter.down);
    up = transposed(parts.adapter.up);
    if (isExported)
      builder.moveToFront(first);
  }

  /// Adds the adapter's product, multiplied by `factor`, to the product that computes `output`.
  void addTo(const std::string &output, onnx::TensorProto factor) {
    int first = graph.node_size(), position = 0;
    for (int i = 0; i < first; ++i)
      if (graph.node(i).output_size() && graph.node(i).output(0) == output)
        position = i;
    builder.addConstant(output + ".lora_factor", std::move(factor));
    onnx::NodeProto &product = *graph.mutable_node(position);
    std::string frozen = output + ".frozen", x = product.input(0);
    product.set_output(0, frozen);
    if (dropout > 0)
      x = builder.add("Dropout", {x}, {output + ".lora_dropout"}).set("ratio", dropout).result();
    builder.add("MatMul", {x, down}, {output + ".lora_A"});
    builder.add("MatMul", {output + ".lora_A", up}, {output + ".lora_B"});
    builder.add("Mul", {output + ".lora_B", output + ".lora_factor"}, {output + ".lora"});
    builder.add("Add", {frozen, output + ".lora"}, {output});
    if (isExported)
      builder.moveBehind(position, first);
  }

private:
  std::string transposed(const std::string &matrix) {
    return builder.add("Transpose", {matrix}, {matrix + ".transposed"}).result();
  }

  onnx::GraphProto &graph;
  GraphBuilder builder;
  double dropout;
  bool isExported;
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
  FailureOr<Adaptable> read(const std::string &weight, Location where) const;
  LogicalResult expectNoOtherReader(const std::string &name, Location where) const;
  LogicalResult addNodes(Location where);

  const SpecFile &spec;
  OnnxModel &model;
  InitialValues &values;
  std::vector<Parts> added;
};
} // namespace

/// The adapter's factor, multiplied by Gemm's own.
static double factorOf(const onnx::NodeProto &product, double factor) {
  const onnx::AttributeProto *alpha =
      product.op_type() == "Gemm" ? findAttribute(product, "alpha") : nullptr;
  return alpha ? factor * alpha->f() : factor;
}

FailureOr<Adaptable> Adaption::read(const std::string &weight, Location where) const {
  GraphUses uses(model.graph());
  if (std::optional<CodedMatrix> codes = codedMatrix(uses, weight))
    return Adaptable{codes->products, codes->inputs, codes->outputs, codes->dataType, true};
  const onnx::TensorProto &tensor = *uses.initializer(weight);
  FailureOr<RankedTensorType> type = model.type(tensor, where);
  if (failed(type))
    return failure();
  SmallVector<LinearUse> products = linearUses(uses, weight);
  bool inputsFirst = products.front().inputsFirst;
  return Adaptable{products, type->getShape()[inputsFirst ? 0 : 1],
                   type->getShape()[inputsFirst ? 1 : 0], tensor.data_type(), false};
}

LogicalResult Adaption::adapt(const std::string &weight, const spec::Lora &block, Location where) {
  FailureOr<Adaptable> matrix = read(weight, where);
  if (failed(matrix))
    return failure();
  bool inputsFirst = matrix->products.front().inputsFirst;
  double alpha = block.has_alpha() ? block.alpha() : double(block.rank());
  Parts parts;
  parts.adapter = {
      weight,      weight + ".lora_A", weight + ".lora_B", alpha / double(block.rank()),
      inputsFirst, !matrix->isCoded};
  parts.dropout = block.dropout();
  for (StringRef name : {StringRef(parts.adapter.down), StringRef(parts.adapter.up)})
    if (model.initializer(name))
      return emitError(where) << "lora: the model has an initializer \"" << name << "\" already";
  Type element = elementType(*where.getContext(), matrix->dataType);
  auto tensor = [&](const HostTensor &value) {
    ArrayRef<char> bytes = value.bytes();
    return tensorOf(matrix->dataType, value.getShape(), std::string(bytes.begin(), bytes.end()));
  };
  for (const LinearUse &use : matrix->products) {
    if (integerAttribute(*use.node, "transA", 0) || use.inputsFirst != inputsFirst)
      return emitError(where)
             << "lora: node \"" << nodeName(model.nodeLoc(*use.node)) << "\" multiplies by \""
             << weight
             << "\" in a way that adapters do not: its left operand is transposed, "
                "or the weight is, unlike elsewhere";
    HostTensor factor(RankedTensorType::get({}, element));
    factor.setFloat(0, factorOf(*use.node, parts.adapter.factor));
    parts.outputs.push_back({use.node->output(0), tensor(factor)});
  }
  auto downType = RankedTensorType::get({block.rank(), matrix->inputs}, element),
       upType = RankedTensorType::get({matrix->outputs, block.rank()}, element);
  parts.down = tensor(HostTensor(downType));
  parts.up = tensor(HostTensor(upType));
  values[parts.adapter.down] =
      drawUniform(spec, parts.adapter.down, downType, 1 / std::sqrt(double(matrix->inputs)));
  added.push_back(std::move(parts));
  return success();
}

LogicalResult Adaption::addNodes(Location where) {
  auto addTo = [&](onnx::GraphProto &graph, bool isExported) {
    for (const Parts &parts : added) {
      if (isExported && parts.adapter.isMerged)
        continue;
      AdapterNodes nodes(graph, parts, isExported);
      for (const auto &[output, factor] : parts.outputs)
        nodes.addTo(output, factor);
    }
  };
  model.extend([&](onnx::GraphProto &graph) { addTo(graph, /*isExported=*/false); });
  if (llvm::all_of(added, [](const Parts &parts) { return parts.adapter.isMerged; }))
    return success();
  return model.editExported(
      [&](onnx::ModelProto &proto) { addTo(*proto.mutable_graph(), /*isExported=*/true); }, where);
}

/// A node that reads an initializer otherwise than products of MatMul and Gemm do, or null. A
/// branch or loop is preferred, since not even adapters of codes take one.
static const onnx::NodeProto *otherReader(const GraphUses &uses, StringRef initializer) {
  const onnx::NodeProto *other = nullptr;
  for (auto [node, operand] : uses.of(initializer))
    if (operand < 0 || (!other && !llvm::is_contained({"MatMul", "Gemm", "Transpose", "Identity"},
                                                      node->op_type())))
      other = node;
  return other;
}

/// Reports an initializer that is named, such as an embedding tied to the last layer, but that
/// cannot be adapted because of another reader.
LogicalResult Adaption::expectNoOtherReader(const std::string &name, Location where) const {
  GraphUses uses(model.graph());
  const onnx::NodeProto *reader = uses.initializer(name) ? otherReader(uses, name) : nullptr;
  if (!reader || codedMatrix(uses, name))
    return success();
  return emitError(where) << "lora: expected a weight of MatMul or Gemm alone, but node \""
                          << nodeName(model.nodeLoc(*reader)) << "\" (" << reader->op_type()
                          << ") reads \"" << name << "\"";
}

FailureOr<std::vector<Adapter>> Adaption::run() {
  GraphUses uses(model.graph());
  PatternScope scope{"lora", "weight of MatMul or Gemm", {}};
  for (const std::string &name : model.initializerNames())
    if (codedMatrix(uses, name) || !linearUses(uses, name).empty())
      scope.names.push_back(name);
  llvm::StringSet<> taken;
  bool ok = true;
  for (auto [i, block] : llvm::enumerate(spec.get().lora()))
    for (auto [p, pattern] : llvm::enumerate(block.pattern())) {
      Location where = spec.at({{"lora", int(i)}, {"pattern", int(p)}});
      FailureOr<std::vector<std::string>> names = failure();
      if (succeeded(expectNoOtherReader(pattern, where)))
        names = matching(pattern, scope, where);
      ok &= succeeded(names);
      if (succeeded(names))
        for (const std::string &name : *names)
          if (taken.insert(name).second)
            ok &= succeeded(adapt(name, block, where));
    }
  if (!ok || failed(addNodes(spec.at({{"lora", 0}}))))
    return failure();
  std::vector<Adapter> adapters;
  for (Parts &parts : added)
    adapters.push_back(std::move(parts.adapter));
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
  if (llvm::none_of(adapters, [](const Adapter &adapter) { return adapter.isMerged; }))
    return success();
  EntryImport entry(model, states, options, GRADC_MERGED_ENTRY, 0, /*training=*/false);
  for (const Adapter &adapter : adapters) {
    if (!adapter.isMerged)
      continue;
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
