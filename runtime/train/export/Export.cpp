// Patches the trained values into the model's own bytes, so that everything else in it stays the
// same.
#include "runtime/train/export/Export.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/Text.h"
#include "runtime/core/Fitted.h"
#include "runtime/core/artifact/ModelPlaces.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/data/transform/Transform.h"
#include "runtime/include/gradc/entries.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace gradc::runtime {

/// Writes the transpose of a row-major matrix.
static void transpose(const std::byte *in, std::byte *out, size_t rows, size_t columns,
                      size_t width) {
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      std::memcpy(out + (j * rows + i) * width, in + (i * columns + j) * width, width);
}

gradc_dtype exportedType(const Artifact &artifact, const gradc_artifact_state &state) {
  auto places = artifact.elements<gradc_artifact_place>(state.places);
  return places.empty() ? gradc_dtype(state.tensor.dtype) : typeAt(places.front(), state);
}

uint64_t exportedBytes(const Artifact &artifact, const gradc_artifact_state &state) {
  auto places = artifact.elements<gradc_artifact_place>(state.places);
  return places.empty() ? state.tensor.bytes : bytesAt(places.front(), state);
}

/// Calls use(number, state) for each exported state in shards, in their order.
template <typename Use> static Status forEachSharded(const Artifact &artifact, Use use) {
  for (uint32_t i = 0; i < artifact.states().size(); ++i)
    if (const auto &state = artifact.states()[i]; isSharded(state) && state.places.count)
      if (Status used = use(i, state); !used.ok())
        return used;
  return {};
}

Result<StateValues> gatherExport(Session &session) {
  StateValues values;
  auto gather = [&](uint32_t number, const gradc_artifact_state &state) {
    auto &bytes = values[std::string(session.artifact().string(state.tensor.name))];
    bytes.resize(state.tensor.bytes);
    return session.readState(number, bytes.data());
  };
  if (Status gathered = forEachSharded(session.artifact(), gather); !gathered.ok())
    return gathered;
  return values;
}

Status joinExport(Session &session) {
  return forEachSharded(session.artifact(), [&](uint32_t number, const gradc_artifact_state &) {
    return session.readState(number, nullptr);
  });
}

Result<ExportedValues> ExportedValues::compute(Session &session, StateValues gathered) {
  ExportedValues values(session, std::move(gathered));
  const gradc_artifact_entry *entry = session.findEntry(GRADC_MERGED_ENTRY);
  if (!entry)
    return values;
  const Artifact &artifact = session.artifact();
  // Its only inputs are those that the session sets.
  std::vector<const void *> inputs(entry->inputs.count);
  std::vector<void *> outputs;
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry->outputs)) {
    auto &bytes = values.merged[std::string(artifact.string(port.tensor.name))];
    bytes.resize(port.tensor.bytes);
    outputs.push_back(bytes.data());
  }
  if (Status status = session.run(*entry, inputs, outputs); !status.ok())
    return status;
  return values;
}

Status ExportedValues::read(uint32_t number, void *out) const {
  const Artifact &artifact = session->artifact();
  const gradc_artifact_state &state = artifact.states()[number];
  gradc_dtype type = exportedType(artifact, state);
  auto *target = static_cast<std::byte *>(out);
  auto found = merged.find(artifact.string(state.tensor.name));
  if (type == state.tensor.dtype && found == merged.end())
    return session->readState(number, out);
  std::vector<std::byte> own;
  if (found == merged.end()) {
    own.resize(state.tensor.bytes);
    if (Status status = session->readState(number, own.data()); !status.ok())
      return status;
  }
  const std::vector<std::byte> &value = found == merged.end() ? own : found->second;
  if (type == state.tensor.dtype)
    std::copy(value.begin(), value.end(), target);
  else
    roundFloats(type, value, target);
  return {};
}

void ExportedValues::copyTo(std::span<std::byte> model) const {
  const gradc_artifact_entry *entry = session->findEntry(GRADC_MERGED_ENTRY);
  if (!entry)
    return;
  const Artifact &artifact = session->artifact();
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry->outputs))
    for (uint64_t offset : artifact.elements<uint64_t>(port.places))
      std::ranges::copy(merged.find(artifact.string(port.tensor.name))->second,
                        model.subspan(offset).begin());
}

bool ExportedValues::hasCodes() const {
  const gradc_artifact_entry *entry = session->findEntry(GRADC_MERGED_ENTRY);
  auto hasPlaces = [](const gradc_artifact_port &port) { return port.places.count > 0; };
  return entry && std::ranges::any_of(
                      session->artifact().elements<gradc_artifact_port>(entry->outputs), hasPlaces);
}

/// Fails if the ranges of activations are unknown, all 0 as compiled. Not to be asked after a step:
/// an activation whose values all are 0 keeps that range.
static Status expectRanges(Session &session, const std::string &path) {
  const Artifact &artifact = session.artifact();
  bool isUnset = false;
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    if (artifact.string(state.rule) != GRADC_RANGE_RULE)
      continue;
    std::vector<float> range(state.tensor.bytes / sizeof(float));
    if (Status read = session.readState(i, range.data()); !read.ok())
      return read;
    if (std::ranges::any_of(range, [](float end) { return end != 0; }))
      return {};
    isUnset = true;
  }
  return isUnset
             ? Status::error(text("cannot export '", path, "': the ranges of activations, which ",
                                  "quantize finds in the data, are unset; train first, or take ",
                                  "a checkpoint"))
             : Status();
}

Status exportOnnx(Session &session, const std::string &path, int64_t steps, StateValues gathered) {
  const Artifact &artifact = session.artifact();
  std::span<const std::byte> original = artifact.bytes(artifact.header().model);
  if (original.empty())
    return Status::error(text("cannot export '", path, "': the artifact carries no ONNX model"));
  if (std::string missing = missingFitted(session); !missing.empty())
    return Status::error(text("cannot export '", path, "': the model computes with what training ",
                              "finds in the data (", missing,
                              "); train first, or take a checkpoint"));
  if (steps == 0)
    if (Status found = expectRanges(session, path); !found.ok())
      return found;
  auto exported = ExportedValues::compute(session, std::move(gathered));
  if (!exported)
    return exported.status();
  std::vector<std::byte> model(original.begin(), original.end());
  std::vector<std::byte> value;
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    auto shape = artifact.elements<int64_t>(state.tensor.shape);
    for (const auto &place : artifact.elements<gradc_artifact_place>(state.places)) {
      std::byte *target = model.data() + place.offset;
      if (place.transposed)
        value.resize(exportedBytes(artifact, state));
      if (Status status = exported->read(i, place.transposed ? value.data() : target); !status.ok())
        return status;
      if (place.transposed)
        transpose(value.data(), target, size_t(shape[0]), size_t(shape[1]),
                  findDataType(exportedType(artifact, state))->bytes);
    }
  }
  exported->copyTo(model);
  if (Config job = Config::job(artifact); job.child("exported_files"))
    return writeExternal(job, model, path);
  AtomicFile file(path);
  file.write(model);
  return file.commit();
}

std::string_view exportedInputs(const Artifact &artifact) {
  return Config::job(artifact).string("exported_inputs");
}

Status writeFitted(Session &session, const DataState &found) {
  for (Config fitted : Config::job(session.artifact()).children("fitted")) {
    auto numbers = found.find(std::string(fitted.string("key")));
    if (numbers == found.end())
      return Status::invalid(text("the exported model computes with '", fitted.string("key"),
                                  "', which no stage of the data has found"));
    Standardization values = standardization(numbers->second, fitted.real("epsilon", 0));
    for (auto [name, list] :
         {std::pair("means", &values.means), std::pair("scales", &values.scales)}) {
      auto state = findNumbers(session.artifact(), fitted.string(name));
      if (!state ||
          session.artifact().states()[*state].tensor.bytes != list->size() * sizeof(double))
        return Status::invalid(
            text("the artifact has no room for the ", name, " of '", fitted.string("key"), '\''));
      if (Status status = session.writeState(*state, list->data()); !status.ok())
        return status;
    }
  }
  return {};
}

} // namespace gradc::runtime
