// The bytes of an artifact under validation, and the first error found in them.
#ifndef RUNTIME_CORE_ARTIFACT_BLOBVIEW_H
#define RUNTIME_CORE_ARTIFACT_BLOBVIEW_H

#include "runtime/base/Text.h"
#include "runtime/include/gradc/artifact.h"

#include <span>
#include <string>

namespace gradc::runtime {

/// Bounds-checked access to ranges and strings in untrusted bytes. Keeps the first failure and the
/// place where it was found.
class BlobView {
public:
  explicit BlobView(std::span<const std::byte> blob) : blob(blob) {}

  template <typename... Parts> bool fail(const Parts &...parts) { return failWith(text(parts...)); }
  bool failCount(const char *what, uint64_t expected, uint64_t found) {
    return fail("expected ", what, " of ", expected, ", found ", found);
  }

  /// Sets `elements` to the elements of a range; fails unless all of them lie in the blob.
  template <typename T>
  bool view(gradc_range range, const char *what, std::span<const T> &elements) {
    if (range.offset % alignof(T) != 0 || range.offset > blob.size() ||
        range.count > (blob.size() - range.offset) / sizeof(T))
      return fail(what, " lie outside the artifact (", range.count, " elements at byte ",
                  range.offset, ")");
    elements = {reinterpret_cast<const T *>(blob.data() + range.offset), size_t(range.count)};
    return true;
  }
  bool checkString(gradc_string offset, const char *what) {
    return offset < strings.size() ? true : fail(what, " lies outside the strings");
  }
  /// A string whose offset `checkString` has accepted.
  const char *string(gradc_string offset) const { return strings.data() + offset; }

  std::span<const std::byte> blob;
  std::span<const char> strings; ///< begin and end with NUL
  std::string where, error;

private:
  bool failWith(const std::string &message) {
    if (error.empty())
      error = text("corrupt artifact: ", where, where.empty() ? "" : ": ", message);
    return false;
  }
};

} // namespace gradc::runtime

#endif
