// A loaded artifact.
#ifndef RUNTIME_CORE_ARTIFACT_ARTIFACT_H
#define RUNTIME_CORE_ARTIFACT_ARTIFACT_H

#include "runtime/base/Status.h"
#include "runtime/include/gradc/artifact.h"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gradc::runtime {

/// The initial states of a level in a device's memory, shared by the sessions that do not write
/// them. The mutex is held while a block is created or abandoned.
struct SharedStates {
  std::mutex mutex;
  std::map<const gradc_artifact_level *, std::weak_ptr<std::byte>> blocks;
};

/// A view of an artifact's bytes: sections as spans, strings as string_views. The bytes are checked
/// once on opening (magic, version, bounds of every range, hash), so accesses need no checks.
class Artifact {
public:
  /// Maps the file: a bare artifact, or an executable or shared library that carries one.
  static Result<std::shared_ptr<Artifact>> open(const std::string &path);
  /// The bytes must outlive the artifact and be aligned to 8.
  static Result<std::shared_ptr<Artifact>> fromMemory(std::span<const std::byte> bytes);
  ~Artifact();

  /// Releases the resident pages of a mapped file; later accesses read them again.
  void releasePages() const;

  const gradc_artifact_header &header() const;
  std::string_view string(gradc_string offset) const;
  /// The elements of a range: `artifact.elements<gradc_artifact_state>(header().states)`.
  template <typename T> std::span<const T> elements(gradc_range range) const {
    return {reinterpret_cast<const T *>(base + range.offset), size_t(range.count)};
  }
  /// The whole artifact.
  std::span<const std::byte> bytes() const { return {base, size}; }
  std::span<const std::byte> bytes(gradc_range range) const { return elements<std::byte>(range); }
  /// The states that users and checkpoints see: all but derived ones.
  std::span<const gradc_artifact_state> states() const { return storedStates().first(numStates); }
  /// The same states and, behind them, derived ones.
  std::span<const gradc_artifact_state> storedStates() const;
  /// The number of the state of that name, if there is one.
  std::optional<uint32_t> findState(std::string_view name) const;
  std::span<const gradc_artifact_level> levels() const;
  SharedStates &sharedStates() const { return shared; }

private:
  explicit Artifact(std::span<const std::byte> checked);
  const std::byte *base;
  size_t size;
  size_t numStates;        // without derived ones
  void *mapping = nullptr; // of the whole file, when a file was opened
  size_t mappingBytes = 0;
  mutable SharedStates shared;
};

/// The title of a schedule's node: its kernel's title, or the kind of node.
std::string_view nodeTitle(const Artifact &artifact, const gradc_artifact_node &node,
                           std::span<const gradc_artifact_kernel> kernels);

/// The quoted names of the entries that programs may call, of those of a level.
std::string entryNames(const Artifact &artifact, std::span<const gradc_artifact_entry> entries);

} // namespace gradc::runtime

#endif
