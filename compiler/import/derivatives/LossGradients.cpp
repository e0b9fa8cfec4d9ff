// Turns each block `gradients` into ONNX's own node Gradient, which the importer then handles.
#include "dialects/Pch.h"

#include "compiler/import/derivatives/GradientRequests.h"
#include "compiler/import/derivatives/LossGradients.h"
#include "compiler/import/onnx/model/GraphBuilder.h"
#include "compiler/import/support/Names.h"

using namespace mlir;
using namespace gradc;

namespace {
/// The names of the model, extended by the results of each block.
class KnownNames {
public:
  explicit KnownNames(const OnnxModel &model)
      : computed(model.computedNames()), inputs(model.inputNames()), outputs(model.outputNames()),
        initializers(model.initializerNames()) {}

  /// Checks that the block names existing values and that its results have new names.
  bool check(const SpecFile &spec, int index) {
    const spec::Gradients &request = spec.get().gradients(index);
    SpecFile::Step block = {"gradients", index};
    bool ok = computed.contains(request.of());
    if (!ok)
      unknownName(spec.at({block, "of"}), "value", request.of(), outputs);
    for (auto [i, target] : llvm::enumerate(request.with_respect_to())) {
      if (!computed.contains(target) && !llvm::is_contained(inputs, target) &&
          !llvm::is_contained(initializers, target)) {
        std::vector<std::string> known = inputs;
        llvm::append_range(known, outputs);
        unknownName(spec.at({block, {"with_respect_to", int(i)}}), "value", target, known);
        ok = false;
      }
      std::string name = resultName(request, int(i));
      if (!computed.insert(name).second || llvm::is_contained(initializers, name)) {
        emitError(spec.at({block})) << "the model has a value \"" << name << "\", or another block "
                                    << "does: give the result a name of its own, gradients { name: "
                                    << "\"...\" }";
        ok = false;
      }
      outputs.push_back(name);
    }
    return ok;
  }

private:
  llvm::StringSet<> computed;
  std::vector<std::string> inputs, outputs, initializers;
};
} // namespace

/// Moves the declared type of a graph input to the values, where the node is checked against it.
static void takeInputsPlace(onnx::GraphProto &graph, StringRef name) {
  auto *inputs = graph.mutable_input();
  for (int i = 0; i < inputs->size(); ++i)
    if (inputs->Get(i).name() == name) {
      *graph.add_value_info() = inputs->Get(i);
      inputs->DeleteSubrange(i, 1);
      return;
    }
}

static void addNode(onnx::GraphProto &graph, const spec::Gradients &request) {
  std::vector<std::string> targets(request.with_respect_to().begin(),
                                   request.with_respect_to().end()),
      results;
  for (size_t i = 0; i < targets.size(); ++i) {
    results.push_back(resultName(request, int(i)));
    takeInputsPlace(graph, results.back());
  }
  GraphBuilder(graph, "gradients:")
      .add("Gradient", targets, results)
      .in("ai.onnx.preview.training")
      .set("xs", targets)
      .set("y", request.of());
}

LogicalResult gradc::addLossGradients(const SpecFile &spec, OnnxModel &model) {
  KnownNames names(model);
  bool ok = true;
  for (int i = 0; i < spec.get().gradients_size(); ++i)
    ok &= names.check(spec, i);
  if (ok && spec.get().gradients_size())
    model.extend([&](onnx::GraphProto &graph) {
      for (const spec::Gradients &request : spec.get().gradients())
        addNode(graph, request);
    });
  return success(ok);
}
