// Matches the patterns with the names of the parameters that train.
#include "dialects/Pch.h"

#include "compiler/import/parameters/TrainedParameters.h"
#include "compiler/import/support/Names.h"

using namespace mlir;
using namespace gradc;

FailureOr<llvm::SetVector<StringRef>>
gradc::trainedParameters(const Imported &imported, const States &states, const SpecFile &spec,
                         SpecFile::Step block,
                         const google::protobuf::RepeatedPtrField<std::string> &patterns) {
  std::vector<std::string> wanted(patterns.begin(), patterns.end());
  if (wanted.empty())
    wanted.push_back("*");
  PatternScope scope{block.name, "parameter that trains", {}};
  for (const Verdict &verdict : imported.verdicts)
    if (verdict.trains)
      scope.names.push_back(verdict.initializer);
  llvm::StringSet<> names;
  auto where = [&](int i) { return spec.at({block, {"pattern", i}}); };
  if (failed(collectMatching(wanted, scope, where, names)))
    return failure();
  llvm::SetVector<StringRef> symbols;
  for (const std::string &name : scope.names)
    if (names.contains(name))
      symbols.insert(states.symbol(name));
  return symbols;
}
