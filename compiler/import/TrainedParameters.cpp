#include "dialects/Pch.h"

#include "compiler/import/TrainedParameters.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace gradc;

FailureOr<llvm::SetVector<StringRef>>
gradc::trainedParameters(const Imported &imported, const States &states, const SpecFile &spec,
                         const SpecPlace &block,
                         const google::protobuf::RepeatedPtrField<std::string> &patterns) {
  llvm::SetVector<StringRef> symbols;
  bool ok = true;
  for (int i = 0; i < std::max(patterns.size(), 1); ++i) {
    std::string pattern = patterns.size() ? patterns[i] : "*";
    Location where = spec.at(block + SpecFile::Step("pattern", i));
    auto glob = llvm::GlobPattern::create(pattern);
    if (!glob) {
      emitError(where) << "expected a glob pattern, found \"" << pattern
                       << "\": " << llvm::toString(glob.takeError());
      ok = false;
      continue;
    }
    bool matches = false;
    for (const Verdict &verdict : imported.verdicts)
      if (verdict.trains && glob->match(verdict.initializer)) {
        symbols.insert(states.symbol(verdict.initializer));
        matches = true;
      }
    if (!matches) {
      emitError(where) << "expected the pattern of a parameter that trains, found \"" << pattern
                       << "\"; see what `gradc check` says about each";
      ok = false;
    }
  }
  if (!ok)
    return failure();
  return symbols;
}
