// Changes graphs first, so that patterns and weight files find all initializers. Later values
// override earlier ones.
#include "dialects/Pch.h"

#include "compiler/import/transfer/Transfer.h"

#include "compiler/import/transfer/Heads.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static void setValues(OnnxModel &model, const InitialValues &values) {
  if (values.empty())
    return;
  model.edit([&](onnx::ModelProto &proto) {
    for (onnx::TensorProto &tensor : *proto.mutable_graph()->mutable_initializer())
      if (auto found = values.find(tensor.name()); found != values.end())
        tensor.set_raw_data(found->second.bytes().data(), found->second.bytes().size());
  });
}

LogicalResult gradc::applyTies(const SpecFile &spec, OnnxModel &model) {
  bool ok = true;
  for (auto [i, tie] : llvm::enumerate(spec.get().tie())) {
    bool known = true;
    for (auto [field, name] : {std::pair("a", tie.a()), std::pair("b", tie.b())})
      known &= succeeded(model.expectInitializer(name, spec.at({{"tie", int(i)}, field})));
    if (known && tie.a() == tie.b()) {
      emitError(spec.at({{"tie", int(i)}}))
          << "expected two initializers to tie, found \"" << tie.a() << "\" twice";
      known = false;
    }
    ok &= known &&
          succeeded(model.tie(tie.a(), tie.b(), tie.transpose(), spec.at({{"tie", int(i)}})));
  }
  return success(ok);
}

FailureOr<std::vector<Adapter>> gradc::applyTransfer(const SpecFile &spec, OnnxModel &model) {
  ResizedParameters resized;
  if (failed(resizeHeads(spec, model, resized)))
    return failure();
  InitialValues values;
  for (const auto &[name, shape] : resized) {
    FailureOr<HostTensor> fresh = drawFresh(spec, model, name);
    if (failed(fresh))
      return failure();
    values[name] = *fresh;
  }
  InitialValues loaded, drawn;
  // Drawn before adapters exist, because adapters have fixed initial values.
  LogicalResult fresh = drawReinitialized(spec, model, drawn);
  FailureOr<std::vector<Adapter>> adapters = addAdapters(spec, model, values);
  if (failed(adapters))
    return failure();
  llvm::StringSet<> optional;
  for (const Adapter &adapter : *adapters)
    optional.insert_range(ArrayRef{adapter.down, adapter.up});
  auto isOptional = [&](StringRef name) { return optional.contains(name); };
  LogicalResult read = readInitialWeights(spec, model, resized, isOptional, loaded);
  if (failed(read) || failed(fresh))
    return failure();
  for (InitialValues *later : {&loaded, &drawn})
    for (auto &[name, value] : *later)
      values.insert_or_assign(name, std::move(value));
  setValues(model, values);
  return adapters;
}
