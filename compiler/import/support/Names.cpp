// Finds names by patterns, and similar names, which the runtime compares.
#include "dialects/Pch.h"

#include "compiler/import/support/Names.h"
#include "runtime/include/gradc/names.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace gradc;

std::string gradc::nearest(StringRef name, ArrayRef<std::string> candidates) {
  auto texts =
      llvm::map_to_vector(candidates, [](const std::string &text) { return text.c_str(); });
  const char *best = gradc_nearest(name.str().c_str(), texts.data(), uint32_t(texts.size()));
  return best ? best : "";
}

bool gradc::matches(StringRef pattern, StringRef name) {
  if (name == pattern)
    return true;
  auto glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    llvm::consumeError(glob.takeError()); // then the pattern is a plain name
  return glob && glob->match(name);
}

std::string gradc::listed(ArrayRef<std::string> names, size_t shown) {
  std::string text = "\"" + llvm::join(names.take_front(shown), "\", \"") + "\"";
  if (names.size() > shown)
    text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

/// PyTorch's exporters transpose the weights of linear layers, and call them "val_76" or, the older
/// one, "onnx::MatMul_76": a pattern of the module's names does not match them.
static void noteRenamed(InFlightDiagnostic &error, ArrayRef<std::string> names) {
  for (StringRef name : names) {
    bool isOlder = name.starts_with("onnx::");
    if (!isOlder && !(name.starts_with("val_") && llvm::all_of(name.drop_front(4), llvm::isDigit)))
      continue;
    error << "; \"" << name
          << "\" may be a weight that PyTorch's exporter has transposed and renamed: export with "
          << (isOlder ? "do_constant_folding=False" : "optimize=False");
    return;
  }
}

FailureOr<std::vector<std::string>> gradc::matching(StringRef pattern, const PatternScope &scope,
                                                    Location where) {
  auto glob = llvm::GlobPattern::create(pattern);
  std::string whyNoGlob = glob ? std::string() : llvm::toString(glob.takeError());
  std::vector<std::string> found;
  for (const std::string &name : scope.names)
    if (name == pattern || (whyNoGlob.empty() && glob->match(name)))
      found.push_back(name);
  if (!found.empty())
    return found;
  if (!whyNoGlob.empty())
    return emitError(where) << scope.field << ": expected a glob pattern or the name of "
                            << (StringRef("aeiou").contains(scope.kind.front()) ? "an " : "a ")
                            << scope.kind << ", found \"" << pattern << "\": " << whyNoGlob;
  auto error = emitError(where) << scope.field << ": no " << scope.kind << " matches \"" << pattern
                                << "\"";
  if (std::string near = nearest(pattern, scope.names); !near.empty())
    error << "; did you mean \"" << near << "\"?";
  else if (scope.names.empty())
    error << "; there is none";
  else
    error << "; there " << (scope.names.size() > 1 ? "are " : "is ")
          << listed(scope.names, /*shown=*/4);
  if (scope.areWeights)
    noteRenamed(error, scope.names);
  return failure();
}

LogicalResult gradc::collectMatching(ArrayRef<std::string> patterns, const PatternScope &scope,
                                     llvm::function_ref<Location(int)> where,
                                     llvm::StringSet<> &matches) {
  bool ok = true;
  for (auto [i, pattern] : llvm::enumerate(patterns)) {
    FailureOr<std::vector<std::string>> found = matching(pattern, scope, where(int(i)));
    ok &= succeeded(found);
    if (succeeded(found))
      matches.insert_range(*found);
  }
  return success(ok);
}

InFlightDiagnostic gradc::unknownName(Location where, StringRef what, StringRef name,
                                      ArrayRef<std::string> known) {
  auto error = emitError(where);
  error << what << " \"" << name << "\" is not in the model";
  if (std::string near = nearest(name, known); !near.empty())
    error << "; did you mean \"" << near << "\"?";
  else
    error << "; it has " << llvm::join(known, ", ");
  return error;
}

std::string gradc::numberText(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
  return text;
}
