// Checks a spec of gradients as far as possible without the model.
#include "dialects/Pch.h"

#include "compiler/import/spec/SpecChecker.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace gradc;

static void checkRequest(Checker &c, const spec::Gradients &request, int index) {
  SpecFile::Step block = {"gradients", index};
  c.require(!request.of().empty(), {block}, "of", "of: \"y\"");
  c.require(request.with_respect_to_size() > 0, {block}, "with_respect_to",
            "with_respect_to: \"x\"");
  llvm::StringSet<> targets;
  for (auto [i, target] : llvm::enumerate(request.with_respect_to()))
    if (!targets.insert(target).second)
      c.error({block, {"with_respect_to", int(i)}})
          << "expected each target once, found \"" << target << "\" twice";
  if (request.combination_case() == spec::Gradients::kWeights)
    c.require(!request.weights().empty(), {block, "weights"}, "the input's name", "weights: \"v\"");
  std::set<int64_t> elements;
  for (auto [i, element] : llvm::enumerate(request.jacobian().element())) {
    SpecFile::Step place = {"element", int(i)};
    c.expect(element >= 0, {block, "jacobian", place}, "element", "of 0 or more", element);
    c.expect(elements.insert(element).second, {block, "jacobian", place}, "each element", "once",
             std::to_string(element) + " twice");
  }
}

void gradc::checkLossGradients(Checker &c, const spec::Training &training) {
  for (auto [i, request] : llvm::enumerate(training.gradients())) {
    checkRequest(c, request, int(i));
    auto refuse = [&, block = SpecFile::Step("gradients", int(i))](bool given, const char *field) {
      if (given)
        c.error({block, field}) << "expected of, with_respect_to and name alone beside a loss, "
                                << "found " << field << ": each derivative there is that of a sum";
    };
    refuse(request.has_weights(), "weights");
    refuse(request.has_jacobian(), "jacobian");
    refuse(request.has_per_sample(), "per_sample");
  }
}

void gradc::checkGradients(Checker &c, const spec::Training &training) {
  std::vector<const google::protobuf::FieldDescriptor *> fields;
  training.GetReflection()->ListFields(training, &fields);
  for (const auto *field : fields) {
    std::string name(field->name());
    if (llvm::is_contained({"model", "gradients", "chunk"}, name))
      continue;
    c.error({{name.c_str(), field->is_repeated() ? 0 : -1}})
        << "expected model, gradients and chunk alone, found " << name
        << ": a spec without a loss asks for gradients; for those of a trained model, name its "
           "export as the model";
  }
  for (auto [i, request] : llvm::enumerate(training.gradients()))
    checkRequest(c, request, int(i));
  // A single row would not show how rows depend on each other.
  c.expect(training.chunk() >= 2 && training.chunk() <= 1 << 24, {"chunk"}, "chunk",
           "from 2 to 16777216", training.chunk());
}
