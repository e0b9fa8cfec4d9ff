// Inlines a model's own functions. Inner names are prefixed with the name of the call. Attributes
// that refer to the function's are replaced by the call's values.
#include "compiler/import/onnx/model/Functions.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace gradc;

namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Names = llvm::StringMap<std::string>;

/// Deeper calls and larger results are attacks.
constexpr size_t maxDepth = 64;
constexpr int maxNodes = 1 << 18;

class Inliner {
public:
  Inliner(onnx::ModelProto &model, int64_t opset, Location file)
      : model(model), opset(opset), file(file) {
    for (const onnx::FunctionProto &function : model.functions())
      functions[key(function.domain(), function.name(), function.overload())] = &function;
  }
  LogicalResult run() { return expand(*model.mutable_graph()); }

private:
  static std::string key(StringRef domain, StringRef name, StringRef overload) {
    return (domain + "::" + name + ":" + overload).str();
  }
  static std::string nameOf(const onnx::NodeProto &node) {
    if (!node.name().empty())
      return node.name();
    return node.op_type() + (node.output_size() ? ":" + node.output(0) : std::string());
  }
  InFlightDiagnostic error(const onnx::NodeProto &call) {
    return emitError(NameLoc::get(StringAttr::get(file.getContext(), nameOf(call)), file))
           << "function " << call.domain() << "::" << call.op_type() << " ";
  }

  LogicalResult expand(onnx::GraphProto &graph) {
    Nodes nodes;
    nodes.Swap(graph.mutable_node());
    for (onnx::NodeProto &node : nodes)
      if (failed(append(std::move(node), *graph.mutable_node())))
        return failure();
    return success();
  }

  /// Appends a node, or the nodes of the function that the node calls.
  LogicalResult append(onnx::NodeProto node, Nodes &to) {
    const onnx::FunctionProto *function =
        functions.lookup(key(node.domain(), node.op_type(), node.overload()));
    if (function)
      return call(node, *function, to);
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g() && failed(expand(*attribute.mutable_g())))
        return failure();
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        if (failed(expand(graph)))
          return failure();
    }
    if (++count > maxNodes)
      return error(node) << "brings the model beyond " << maxNodes << " nodes";
    *to.Add() = std::move(node);
    return success();
  }

  LogicalResult call(const onnx::NodeProto &node, const onnx::FunctionProto &function, Nodes &to) {
    if (llvm::is_contained(active, &function))
      return error(node) << "calls itself";
    if (active.size() >= maxDepth)
      return error(node) << "is called more than " << maxDepth << " functions deep";
    if (node.input_size() > function.input_size() || node.output_size() > function.output_size())
      return error(node) << "expected at most " << function.input_size() << " operands and "
                         << function.output_size() << " results, found " << node.input_size()
                         << " and " << node.output_size();
    for (const onnx::OperatorSetIdProto &set : function.opset_import())
      if ((set.domain().empty() || set.domain() == "ai.onnx") && set.version() != opset)
        return error(node) << "expected the model's operator set " << opset << ", found "
                           << set.version();
    Names names;
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < node.input_size() ? node.input(i) : std::string();
    for (int i = 0; i < node.output_size(); ++i)
      if (!node.output(i).empty() &&
          failed(nameResult(node, function.output(i), node.output(i), names, to)))
        return failure();
    // Results have unique names; nodes may lack them.
    std::string prefix = (node.output_size() ? node.output(0) : nameOf(node)) + "/";
    active.push_back(&function);
    for (onnx::NodeProto inner : function.node()) {
      inner.set_name(nameOf(node) + "/" + nameOf(inner));
      rename(inner, names, prefix);
      bindAttributes(inner, node, function);
      if (failed(append(std::move(inner), to)))
        return failure();
    }
    active.pop_back();
    return success();
  }

  /// The call's name for a result. A result that is also an operand or another result is copied.
  LogicalResult nameResult(const onnx::NodeProto &call, const std::string &inner,
                           const std::string &outer, Names &names, Nodes &to) {
    auto [entry, fresh] = names.try_emplace(inner, outer);
    if (fresh)
      return success();
    onnx::NodeProto copy;
    copy.set_op_type("Identity");
    copy.set_name(nameOf(call) + "/" + outer);
    copy.add_input(entry->second);
    copy.add_output(outer);
    return append(std::move(copy), to);
  }

  static void renameOne(std::string &name, Names &names, StringRef prefix) {
    if (!name.empty())
      name = names.try_emplace(name, (prefix + name).str()).first->second;
  }

  static void rename(onnx::NodeProto &node, Names &names, StringRef prefix) {
    for (std::string &name : *node.mutable_input())
      renameOne(name, names, prefix);
    for (std::string &name : *node.mutable_output())
      renameOne(name, names, prefix);
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_g())
        rename(*attribute.mutable_g(), names, prefix);
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        rename(graph, names, prefix);
    }
  }

  static void rename(onnx::GraphProto &graph, Names &names, StringRef prefix) {
    for (onnx::TensorProto &tensor : *graph.mutable_initializer())
      renameOne(*tensor.mutable_name(), names, prefix);
    for (auto *values : {graph.mutable_input(), graph.mutable_output()})
      for (onnx::ValueInfoProto &value : *values)
        renameOne(*value.mutable_name(), names, prefix);
    graph.clear_value_info();
    for (onnx::NodeProto &node : *graph.mutable_node())
      rename(node, names, prefix);
  }

  /// The value of a function's attribute: the call's, else the function's default, else null.
  static const onnx::AttributeProto *find(StringRef name, const onnx::NodeProto &call,
                                          const onnx::FunctionProto &function) {
    for (const onnx::AttributeProto &given : call.attribute())
      if (given.name() == name)
        return &given;
    for (const onnx::AttributeProto &otherwise : function.attribute_proto())
      if (otherwise.name() == name)
        return &otherwise;
    return nullptr;
  }

  /// An attribute that refers to one without a value is omitted: the op has its own default.
  static void bindAttributes(onnx::NodeProto &node, const onnx::NodeProto &call,
                             const onnx::FunctionProto &function) {
    auto *attributes = node.mutable_attribute();
    for (int i = attributes->size() - 1; i >= 0; --i) {
      onnx::AttributeProto &attribute = *attributes->Mutable(i);
      if (attribute.has_g())
        for (onnx::NodeProto &inner : *attribute.mutable_g()->mutable_node())
          bindAttributes(inner, call, function);
      for (onnx::GraphProto &graph : *attribute.mutable_graphs())
        for (onnx::NodeProto &inner : *graph.mutable_node())
          bindAttributes(inner, call, function);
      if (attribute.ref_attr_name().empty())
        continue;
      std::string name = attribute.name();
      if (const onnx::AttributeProto *value = find(attribute.ref_attr_name(), call, function)) {
        attribute = *value;
        attribute.set_name(name);
      } else {
        attributes->DeleteSubrange(i, 1);
      }
    }
  }

  onnx::ModelProto &model;
  int64_t opset;
  Location file;
  llvm::StringMap<const onnx::FunctionProto *> functions;
  SmallVector<const onnx::FunctionProto *> active;
  int count = 0;
};

} // namespace

LogicalResult gradc::inlineFunctions(onnx::ModelProto &model, int64_t opset, Location file) {
  if (failed(Inliner(model, opset, file).run()))
    return failure();
  model.clear_functions();
  return success();
}
