// Collects an artifact's bytes: aligned sections, shared strings.
#ifndef COMPILER_ARTIFACT_BLOB_H
#define COMPILER_ARTIFACT_BLOB_H

#include "runtime/include/gradc/artifact.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include <optional>
#include <string>

namespace gradc {

class Blob {
public:
  /// Starts with space for the header.
  Blob();

  /// Appends an array as a section; returns its range.
  template <typename T> gradc_range append(llvm::ArrayRef<T> elements) {
    gradc_range range =
        appendBytes({reinterpret_cast<const char *>(elements.data()), elements.size() * sizeof(T)});
    range.count = elements.size();
    return range;
  }
  gradc_range appendBytes(llvm::ArrayRef<char> bytes);
  /// The place of these bytes: that of equal ones which this function has placed before, or which
  /// `offer` has named; else a new section.
  gradc_range appendShared(llvm::ArrayRef<char> bytes);
  /// Whether there is such a place.
  bool holds(llvm::ArrayRef<char> bytes) const { return find(bytes).has_value(); }
  /// Lets `appendShared` return a range of what has been appended.
  void offer(gradc_range range) { shared[range.count].push_back(range); }
  /// The bytes of a range. The next section invalidates them.
  llvm::ArrayRef<char> view(gradc_range range) const {
    return {bytes.data() + range.offset, size_t(range.count)};
  }
  /// The string's offset in the strings section; equal strings share an offset.
  gradc_string intern(llvm::StringRef text);

  /// Completes the header (sizes, strings, hash) and returns the bytes.
  std::string finish(gradc_artifact_header header);

private:
  std::optional<gradc_range> find(llvm::ArrayRef<char> bytes) const;

  std::string bytes;
  std::string strings;
  llvm::StringMap<gradc_string> interned;
  llvm::DenseMap<uint64_t, llvm::SmallVector<gradc_range, 1>> shared; ///< by their bytes' number
};

} // namespace gradc

#endif
