// Splits an exported model into its graph and a file of its weights, ONNX's external data.
#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"
#include "runtime/train/export/Export.h"
#include "runtime/train/spec/JobFiles.h"

#include <algorithm>

namespace gradc::runtime {

static std::string weightsFile(const std::string &path) { return path + ".data"; }

/// Writes any length for protobuf in two bytes.
static void writeLength(std::byte *out, size_t length) {
  out[0] = std::byte(0x80 | (length & 0x7f));
  out[1] = std::byte(length >> 7);
}

/// The entry contains the field `value` twice, of which the second counts: the first fills the
/// space that the name leaves.
static void writeLocation(std::byte *out, std::string_view name) {
  constexpr size_t key = 3; // a tag and a length
  constexpr std::byte value{0x12};
  size_t padding = GRADC_LOCATION_BYTES - 2 * key - name.size();
  out[0] = value;
  writeLength(out + 1, padding);
  std::fill_n(out + key, padding, std::byte(' '));
  out += key + padding;
  out[0] = value;
  writeLength(out + 1, name.size());
  std::copy_n(reinterpret_cast<const std::byte *>(name.data()), name.size(), out + key);
}

Status expectNoWeights(const std::string &path, std::span<const std::string> inputs) {
  return expectNoInput(weightsFile(path), inputs);
}

Status writeExternal(Config job, std::span<std::byte> model, const std::string &path) {
  Config files = job.child("exported_files");
  if (Status status = expectNoWeights(path, filesOfJob(job, {})); !status.ok())
    return status;
  std::string data = weightsFile(path), name = data.substr(data.rfind('/') + 1);
  auto head = size_t(files.integer("graph_bytes", 0));
  if (head > model.size())
    return Status::invalid("the artifact is damaged: its graph is longer than its model");
  if (name.size() > 200)
    return Status::error(text("cannot export '", path, "': its name is longer than 200 bytes"));
  for (Config location : files.children("location")) {
    auto offset = size_t(location.integer(0));
    if (offset > head || head - offset < GRADC_LOCATION_BYTES)
      return Status::invalid("the artifact is damaged: a location lies outside of its model");
    writeLocation(model.data() + offset, name);
  }
  // Both files are written before either is renamed, so a model always names existing data.
  AtomicFile graph(path), weights(data);
  graph.write(model.first(head));
  weights.write(model.subspan(head));
  Status status = graph.settle();
  if (status.ok())
    status = weights.commit();
  return status.ok() ? graph.commit() : status;
}

} // namespace gradc::runtime
