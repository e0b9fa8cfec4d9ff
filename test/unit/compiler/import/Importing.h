// Shared by the importer's tests: generated models, and a context that records diagnostics.
#ifndef TEST_UNIT_COMPILER_IMPORT_IMPORTING_H
#define TEST_UNIT_COMPILER_IMPORT_IMPORTING_H

#include "compiler/import/Import.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"
#include <fstream>
#include <gtest/gtest.h>

namespace gradc {

inline std::string modelPath(llvm::StringRef name) {
  return (llvm::Twine(GRADC_TEST_MODELS) + "/in/" + name).str();
}

class Importing : public testing::Test {
protected:
  Importing()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          std::string text;
          llvm::raw_string_ostream out(text);
          out << diagnostic.getLocation() << ": " << diagnostic;
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            out << "\n  note: " << note;
          said.push_back(text);
          return mlir::success();
        }) {}

  mlir::FailureOr<Imported> model(llvm::StringRef name, const ImportOptions &options = {}) {
    return importModel(context, modelPath(name), options);
  }

  /// A file of the running test only, next to the models, because other tests run concurrently.
  static std::string specPath() {
    return modelPath(testing::UnitTest::GetInstance()->current_test_info()->name()) + ".textproto";
  }
  /// Writes a spec next to the models and imports it.
  mlir::FailureOr<Imported> training(const std::string &text, const ImportOptions &options = {}) {
    std::string path = specPath();
    std::ofstream(path) << text;
    return importTraining(context, path, options);
  }

  std::string everything() const { return llvm::join(said, "\n"); }
  /// Expects exactly one diagnostic for each of `parts`, and no others.
  void expectSaid(llvm::ArrayRef<llvm::StringRef> parts) {
    EXPECT_EQ(said.size(), parts.size()) << everything();
    for (llvm::StringRef part : parts)
      EXPECT_EQ(llvm::count_if(said, [&](llvm::StringRef s) { return s.contains(part); }), 1)
          << "expected: " << part.str() << "\nfound: " << everything();
  }

  std::string print(const Imported &imported) {
    std::string text;
    llvm::raw_string_ostream out(text);
    imported.module.get()->print(out);
    return text;
  }

  mlir::MLIRContext context;
  std::vector<std::string> said;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace gradc

#endif
