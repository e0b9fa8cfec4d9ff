// Composes training specs for tests.
#ifndef TEST_UNIT_COMPILER_IMPORT_TRAININGTESTING_H
#define TEST_UNIT_COMPILER_IMPORT_TRAININGTESTING_H

#include "Importing.h"
#include "compiler/import/onnx/model/OnnxModel.h"

namespace gradc {

/// A spec of parts that tests can replace individually.
struct Parts {
  std::string model = "model: \"mlp.onnx\"";
  std::string feed;
  std::string loss = "loss { softmax_cross_entropy { logits: \"logits\" labels: \"labels\" } }";
  std::string metric;
  std::string optimizer = "optimizer { adam {} }";
  std::string source = "source { npz { path: \"data.npz\" } }";
  std::string map;
  std::string batch = "stage { batch { size: 4 } }";
  std::string rest;

  operator std::string() const {
    return llvm::join(
        llvm::ArrayRef<std::string>{model, feed, loss, metric, optimizer,
                                    "data { " + source + " " + map + " " + batch + " }", rest},
        "\n");
  }
};

class TrainingTesting : public Importing {
protected:
  /// A block for `rest`: the rows that train, in batches of 5.
  static constexpr const char *evaluation =
      " evaluation { data { source { npz { path: \"data.npz\" } } stage { batch { size: 5 } } } }";

  std::vector<std::string> functions(const Imported &imported) {
    std::vector<std::string> names;
    mlir::ModuleOp module = imported.module.get();
    for (auto function : module.getOps<mlir::func::FuncOp>())
      names.push_back(function.getName().str());
    return names;
  }
  mlir::func::FuncOp function(const Imported &imported, llvm::StringRef name) {
    mlir::ModuleOp module = imported.module.get();
    return module.lookupSymbol<mlir::func::FuncOp>(name);
  }
  /// The arguments with role and field: "x f32 [4, 4] data x; ...".
  std::string signature(mlir::func::FuncOp f) {
    std::string text;
    for (unsigned i = 0; i < f.getNumArguments(); ++i) {
      auto get = [&](llvm::StringRef name) {
        auto value = f.getArgAttrOfType<mlir::StringAttr>(i, name);
        return value ? value.getValue().str() : std::string("-");
      };
      text += (i ? "; " : "") + get("grad.name") + " " + describe(f.getArgumentTypes()[i]) + " " +
              get("grad.role") + " " + get("grad.field");
    }
    return text;
  }
  std::vector<std::string> trained(const Imported &imported) {
    std::vector<std::string> names;
    for (const Verdict &verdict : imported.verdicts)
      if (verdict.trains)
        names.push_back(verdict.initializer);
    return names;
  }
  template <typename Op> int count(mlir::func::FuncOp f) {
    int n = 0;
    f.walk([&](Op) { ++n; });
    return n;
  }
};

} // namespace gradc

#endif
