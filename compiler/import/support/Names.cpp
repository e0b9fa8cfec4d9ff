// A name is close to another that takes few edits to become it.
#include "dialects/Pch.h"

#include "compiler/import/support/Names.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using namespace gradc;

std::string gradc::nearest(StringRef name, ArrayRef<std::string> candidates) {
  std::string best;
  unsigned bestDistance = std::max<size_t>(2, name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> gradc::matching(StringRef pattern, ArrayRef<std::string> names) {
  auto glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    llvm::consumeError(glob.takeError()); // Then it is a plain name.
  std::vector<std::string> found;
  for (const std::string &name : names)
    if (name == pattern || (glob && glob->match(name)))
      found.push_back(name);
  return found;
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
