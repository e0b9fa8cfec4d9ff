// Checks an artifact top down: earlier checks prove that what later checks read exists.
#include "runtime/core/artifact/ArtifactCheck.h"
#include "runtime/core/artifact/EntryRows.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/core/artifact/KernelCheck.h"
#include "runtime/core/artifact/ModelPlaces.h"
#include "runtime/core/artifact/ScheduleCheck.h"
#include "runtime/core/artifact/Shards.h"
#include "runtime/core/artifact/StateCodes.h"
#include "runtime/include/gradc/hash.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

using namespace gradc::runtime;

namespace {

/// Whether the state is computed from others.
bool isDerived(const gradc_artifact_state &state) { return state.kind == GRADC_STATE_DERIVED; }

class Checker : BlobView {
public:
  using BlobView::BlobView;
  Status check();

private:
  struct Level {
    std::span<const gradc_artifact_buffer> buffers;
    std::span<const gradc_artifact_kernel> kernels;
    std::span<const gradc_artifact_entry> entries;
    std::span<const gradc_artifact_cut> cuts;
  };

  bool checkHeader();
  bool checkTensor(const gradc_artifact_tensor &tensor);
  bool checkState(const gradc_artifact_state &state);
  bool checkShards(const gradc_artifact_state &state);
  bool checkCodes(const gradc_artifact_state &state);
  bool checkJob();
  bool checkLevel(const gradc_artifact_level &level);
  bool checkBuffers(const Level &level);
  bool checkPort(const gradc_artifact_port &port);
  bool checkRows(const CheckedEntry &entry);
  bool checkBuckets(const Level &level, const CheckedEntry &entry);
  bool checkEachRow(const Level &level, const CheckedEntry &entry);
  bool checkEntry(const Level &level, const gradc_artifact_entry &entry);
  bool checkPackEntries(const Level &level);

  const gradc_artifact_header *header = nullptr;
  std::span<const gradc_artifact_state> states;
  std::span<const std::byte> model;
  uint64_t shards = 1; ///< of sharded states so far
};

Status Checker::check() {
  bool good = checkHeader();
  for (size_t i = 0; good && i < states.size(); ++i) {
    where = text("state ", i);
    good = checkState(states[i]);
    if (good && i > 0 && states[i].kind < GRADC_STATE_DERIVED && isDerived(states[i - 1]))
      good = fail("expected it before derived states");
  }
  where = "job";
  good = good && checkJob();
  where.clear();
  std::span<const gradc_artifact_level> levels;
  good = good && view(header->levels, "levels", levels);
  for (size_t i = 0; good && i < levels.size(); ++i)
    good = checkLevel(levels[i]);
  return good ? Status() : Status::invalid(error);
}

bool Checker::checkHeader() {
  if (reinterpret_cast<uintptr_t>(blob.data()) % alignof(gradc_artifact_header) != 0)
    return fail("expected its bytes to be aligned to 8");
  if (blob.size() < sizeof *header)
    return failCount("at least a header", sizeof *header, blob.size());
  header = reinterpret_cast<const gradc_artifact_header *>(blob.data());
  if (std::memcmp(header->magic, GRADC_ARTIFACT_MAGIC, 8) != 0)
    return fail("it does not begin with " GRADC_ARTIFACT_MAGIC);
  if (header->version != GRADC_ARTIFACT_VERSION) {
    error = text("expected an artifact of version ", GRADC_ARTIFACT_VERSION, ", found ",
                 header->version, ": compile it again, gradc compile SPEC -o FILE");
    return false;
  }
  if (header->header_bytes != sizeof *header)
    return failCount("a header", sizeof *header, header->header_bytes);
  if (header->total_bytes != blob.size())
    return failCount("a size", header->total_bytes, blob.size());
  std::span<const std::byte> body = blob.subspan(sizeof *header);
  if (header->hash != gradc_hash(body.data(), body.size()))
    return fail("its bytes do not match the hash in its header");
  if (!view(header->strings, "strings", strings) || !view(header->states, "states", states) ||
      !view(header->model, "model bytes", model))
    return false;
  if (strings.empty() || strings.front() != 0 || strings.back() != 0)
    return fail("expected the strings to begin and end with NUL");
  return true;
}

bool Checker::checkTensor(const gradc_artifact_tensor &tensor) {
  if (!checkString(tensor.name, "name"))
    return false;
  const DataType *type = findDataType(tensor.dtype);
  if (!type)
    return fail("unknown element type ", tensor.dtype);
  std::span<const int64_t> shape;
  if (!view(tensor.shape, "dims", shape))
    return false;
  uint64_t bytes = type->bytes;
  for (int64_t dim : shape)
    if (dim < 0 || __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return fail("impossible dim ", dim);
  return bytes == tensor.bytes || failCount("a tensor size", bytes, tensor.bytes);
}

bool Checker::checkState(const gradc_artifact_state &state) {
  if (!checkTensor(state.tensor) || !checkString(state.rule, "rule"))
    return false;
  if (state.kind > GRADC_STATE_DERIVED)
    return fail("unknown kind ", state.kind);
  if (isDerived(state) && (isSharded(state) || state.places.count))
    return fail("a derived state that is sharded, or in the model");
  std::span<const std::byte> initial;
  if (state.codes.bits && !checkCodes(state))
    return false;
  uint64_t expected = state.codes.bits ? bytesOfCodes(state)
                      : state.splat    ? findDataType(state.tensor.dtype)->bytes
                                       : state.tensor.bytes;
  if (!view(state.initial, "initial values", initial))
    return false;
  if (initial.size() != expected)
    return failCount("initial values", expected, initial.size());
  std::span<const gradc_artifact_place> places;
  if ((isSharded(state) && !checkShards(state)) ||
      !view(state.places, "places in the model", places))
    return false;
  for (const gradc_artifact_place &place : places) {
    if (!hasTypeAt(place, state) || place.dtype != places.front().dtype)
      return fail("a place in the model of element type ", place.dtype);
    if (place.offset > model.size() || bytesAt(place, state) > model.size() - place.offset)
      return fail("its place in the model lies outside the model");
    if (place.transposed && state.tensor.shape.count != 2)
      return fail("a transposed place of a state of rank ", state.tensor.shape.count);
  }
  return true;
}

bool Checker::checkShards(const gradc_artifact_state &state) {
  uint64_t width = findDataType(state.tensor.dtype)->bytes, pieces = 0;
  if (state.shards > GRADC_MAX_RANKS || state.runs == 0 ||
      __builtin_mul_overflow(state.shards, state.runs, &pieces) ||
      state.tensor.bytes / width % pieces)
    return fail("an impossible division into ", state.shards, " shards of ", state.runs, " runs");
  if (shards > 1 && state.shards != shards)
    return failCount("a number of shards", shards, state.shards);
  shards = state.shards;
  return true;
}

bool Checker::checkCodes(const gradc_artifact_state &state) {
  const gradc_artifact_codes &codes = state.codes;
  uint64_t elements = state.tensor.bytes;
  bool hasBits = codes.bits == 2 || codes.bits == 4 || codes.bits == 8;
  if (!hasBits || codes.flip >> codes.bits || codes.block == 0 ||
      (codes.block < elements && codes.block % codesPerByte(codes)))
    return fail("impossible codes of ", codes.bits, " bits in blocks of ", codes.block);
  if (state.splat || (state.tensor.dtype != GRADC_I8 && state.tensor.dtype != GRADC_U8))
    return fail("codes of elements that are no 8-bit integers");
  std::span<const uint8_t> zeros;
  if (!view(codes.zeros, "zero points", zeros))
    return false;
  uint64_t blocks = elements / codes.block + (elements % codes.block != 0);
  return zeros.size() == blocks || failCount("zero points", blocks, zeros.size());
}

bool Checker::checkJob() {
  std::span<const gradc_artifact_value> job;
  if (!view(header->job, "values", job))
    return false;
  // Links only lead forward, so no walk can loop.
  auto checkLink = [&](uint32_t from, uint32_t to) {
    return to == GRADC_NONE || (to > from && to < job.size()) ||
           fail("value ", from, " links to value ", to);
  };
  for (uint32_t i = 0; i < job.size(); ++i) {
    const gradc_artifact_value &value = job[i];
    if (!checkString(value.name, "name") || !checkLink(i, value.first_child) ||
        !checkLink(i, value.next_sibling))
      return false;
    if (value.kind > GRADC_VALUE_BOOL)
      return fail("unknown kind of value ", value.kind);
    if (value.kind == GRADC_VALUE_STRING && value.as.string >= strings.size())
      return fail("text lies outside the strings");
  }
  return true;
}

bool Checker::checkLevel(const gradc_artifact_level &raw) {
  if (!checkString(raw.name, "level name"))
    return false;
  std::string name = text("level ", string(raw.name));
  where = name;
  Level level{};
  std::span<const std::byte> image;
  if (!view(raw.image, "image bytes", image) || !view(raw.buffers, "buffers", level.buffers) ||
      !view(raw.kernels, "kernels", level.kernels) ||
      !view(raw.entries, "entries", level.entries) || !view(raw.cuts, "cuts", level.cuts))
    return false;
  constexpr uint64_t maxScratch = uint64_t(1)
                                  << 40; // times any number of threads, does not overflow
  if (raw.scratch > maxScratch || raw.scratch % 64 != 0)
    return fail("impossible scratch of ", raw.scratch, " bytes");
  for (const gradc_artifact_cut &cut : level.cuts)
    if (cut.unit < 1 || cut.unit > cut.elements || cut.elements > maxRows)
      return fail("an impossible cut of ", cut.elements, " elements by ", cut.unit);
  if (!checkBuffers(level))
    return false;
  for (const gradc_artifact_kernel &kernel : level.kernels)
    if (!checkKernel(*this, kernel))
      return false;
  for (const gradc_artifact_entry &entry : level.entries)
    if (!checkString(entry.name, "entry name"))
      return false;
  for (const gradc_artifact_entry &entry : level.entries) {
    where = text(name, ": entry ", string(entry.name));
    if (!checkEntry(level, entry))
      return false;
  }
  where = name;
  return checkPackEntries(level);
}

bool Checker::checkBuffers(const Level &level) {
  std::vector<bool> hasPrimary(states.size());
  for (const gradc_artifact_buffer &buffer : level.buffers) {
    if (buffer.state >= states.size())
      return fail("a buffer of state ", buffer.state, " of ", states.size());
    const gradc_artifact_tensor &tensor = states[buffer.state].tensor;
    uint64_t least = storedBytes(states[buffer.state]);
    if (buffer.kind > GRADC_BUFFER_MIRROR)
      return fail("a buffer of unknown kind ", buffer.kind);
    if ((buffer.kind == GRADC_BUFFER_MIRROR) != hasPrimary[buffer.state])
      return fail("expected one primary buffer before the mirrors of state ", string(tensor.name));
    hasPrimary[buffer.state] = true;
    if (buffer.kind == GRADC_BUFFER_PLAIN && buffer.bytes < least)
      return failCount("a buffer", least, buffer.bytes);
    if (buffer.cut == 0)
      continue;
    uint64_t width = findDataType(tensor.dtype)->bytes, stored = buffer.bytes / width;
    auto fits = [&](const gradc_artifact_cut &cut) {
      return cut.unit >= cut.elements || cut.elements == stored; // one piece, or as stored
    };
    if (buffer.cut > level.cuts.size() || buffer.kind == GRADC_BUFFER_MIRROR ||
        buffer.bytes % width != 0 || buffer.bytes < least || !fits(level.cuts[buffer.cut - 1]))
      return fail("expected a cut of as many elements as state ", string(tensor.name), " stores");
  }
  return true;
}

bool Checker::checkPort(const gradc_artifact_port &port) {
  if (!checkTensor(port.tensor) || !checkString(port.field, "field"))
    return false;
#define TYPE_OF_ROLE(enumerator, name, type) type,
  static constexpr uint32_t types[] = {GRADC_PORT_ROLES(TYPE_OF_ROLE)};
#undef TYPE_OF_ROLE
  if (port.role >= GRADC_ROLES)
    return fail("unknown role ", port.role);
  if (port.role == GRADC_ROLE_INDICES && port.classes < GRADC_LIMIT_TRIPS)
    return fail("impossible limit ", port.classes, " of ", string(port.tensor.name));
  if (port.text && (port.tensor.dtype != GRADC_U8 || port.tensor.shape.count == 0))
    return fail("expected strings of ", string(port.tensor.name), " to be bytes");
  std::span<const uint64_t> places;
  if (!view(port.places, "places in the model", places))
    return false;
  for (uint64_t offset : places)
    if (offset > model.size() || port.tensor.bytes > model.size() - offset)
      return fail("the place of ", string(port.tensor.name), " lies outside the model");
  uint32_t expected = types[port.role];
  if (expected == GRADC_ANY)
    return true;
  const DataType *type = findDataType(expected);
  if (port.tensor.dtype != expected || port.tensor.bytes != type->bytes)
    return fail("expected ", string(port.tensor.name), " to be one ", type->name);
  return true;
}

bool Checker::checkRows(const CheckedEntry &entry) {
  const gradc_artifact_entry &raw = entry.entry;
  if (!checkString(raw.least_rows_node, "node") || !checkString(raw.coupling_node, "node"))
    return false;
  int64_t unit = std::max<int64_t>(raw.row_unit, 1);
  if (raw.batch < 0 || raw.batch > maxRows || raw.least_rows < 0 ||
      raw.least_rows > raw.batch / unit || (raw.any_rows && raw.batch == 0) || raw.batch % unit)
    return fail("impossible rows: a batch of ", raw.batch, ", at least ", raw.least_rows,
                " groups of ", unit);
  for (auto list : {entry.inputs, entry.outputs})
    for (const gradc_artifact_port &port : list)
      if (port.batched &&
          ((!raw.any_rows && raw.batch != 1) || port.tensor.bytes % uint64_t(raw.batch) != 0))
        return fail("expected ", string(port.tensor.name), " to be a batch of ", raw.batch,
                    " rows, found ", port.tensor.bytes, " bytes");
  return true;
}

/// Whether both ports have the same role and, for a run with the same number of rows, the same
/// bytes.
static bool isSamePort(const gradc_artifact_entry &entry, const gradc_artifact_port &port,
                       const gradc_artifact_entry &bucket, const gradc_artifact_port &other) {
  if (port.role != other.role || port.tensor.dtype != other.tensor.dtype ||
      port.classes != other.classes || port.text != other.text)
    return false;
  if (!port.batched)
    return !other.batched && port.tensor.bytes == other.tensor.bytes;
  return (other.batched || bucket.batch == 1) &&
         port.tensor.bytes / uint64_t(entry.batch) == other.tensor.bytes / uint64_t(bucket.batch);
}

bool Checker::checkBuckets(const Level &level, const CheckedEntry &entry) {
  const gradc_artifact_entry &raw = entry.entry;
  std::span<const uint32_t> buckets;
  if (!view(raw.buckets, "buckets", buckets))
    return false;
  int64_t below = 0;
  for (uint32_t i : buckets) {
    if (i >= level.entries.size())
      return fail("a bucket of entry ", i, " of ", level.entries.size());
    const gradc_artifact_entry &bucket = level.entries[i];
    std::span<const gradc_artifact_port> inputs, outputs;
    if (!view(bucket.inputs, "inputs", inputs) || !view(bucket.outputs, "outputs", outputs))
      return false;
    auto isSame = [&](const gradc_artifact_port &port, const gradc_artifact_port &other) {
      return isSamePort(raw, port, bucket, other);
    };
    bool takesRows =
        bucket.batch > below && bucket.batch < raw.batch && (bucket.batch == 1 || bucket.any_rows);
    // An entry and its bucket may check different indices.
    bool isSameResult = countGiven(entry.outputs) == countGiven(outputs);
    for (size_t i = 0; isSameResult && i < countGiven(outputs); ++i)
      isSameResult = isSame(*findGiven(entry.outputs, i), *findGiven(outputs, i));
    if (!takesRows || !isSameResult || !std::ranges::equal(entry.inputs, inputs, isSame))
      return fail("expected entry ", string(bucket.name), " to run in place of ", string(raw.name),
                  " on fewer rows");
    below = bucket.batch;
  }
  return true;
}

bool Checker::checkEntry(const Level &level, const gradc_artifact_entry &raw) {
  CheckedEntry entry{raw, level.buffers, level.kernels, level.cuts, {}, {}};
  if (!view(raw.inputs, "inputs", entry.inputs) || !view(raw.outputs, "outputs", entry.outputs))
    return false;
  for (const gradc_artifact_port &port : entry.inputs)
    if (!checkPort(port))
      return false;
  for (const gradc_artifact_port &port : entry.outputs) {
    if (!checkPort(port))
      return false;
    if (raw.each_row)
      continue;
    if (!checkSlice(*this, entry, port.slice))
      return false;
    if (port.slice.bytes != port.tensor.bytes)
      return failCount("an output slice", port.tensor.bytes, port.slice.bytes);
  }
  return checkRows(entry) && checkBuckets(level, entry) && checkEachRow(level, entry) &&
         checkSchedule(*this, entry);
}

/// After the buckets. It has nodes itself, so that no run is endless.
bool Checker::checkEachRow(const Level &level, const CheckedEntry &entry) {
  const gradc_artifact_entry &raw = entry.entry;
  if (!raw.each_row)
    return true;
  std::span<const uint32_t> buckets;
  bool areBatched = view(raw.buckets, "buckets", buckets) &&
                    std::ranges::all_of(entry.outputs, [](const gradc_artifact_port &port) {
                      return port.batched || !isGiven(port);
                    });
  bool isWhole =
      areBatched && raw.any_rows && raw.nodes.count == 0 && !buckets.empty() && unitOf(raw) == 1;
  const gradc_artifact_entry *one = isWhole ? &level.entries[buckets.front()] : nullptr;
  return (one && one->batch == 1 && !one->each_row && keepsToItself(*this, *one)) ||
         fail("expected entry ", string(raw.name), " to run a bucket of one row for each row");
}

/// States that are stored twice or not row-major need entries that convert them.
bool Checker::checkPackEntries(const Level &level) {
  std::map<std::string_view, const gradc_artifact_entry *> byName;
  for (const gradc_artifact_entry &entry : level.entries)
    byName.emplace(string(entry.name), &entry);
  auto needs = [&](const char *kind, const gradc_artifact_state &state, bool packs) {
    std::string name = text(kind, ":", string(state.tensor.name));
    auto found = byName.find(name);
    if (found == byName.end())
      return fail("expected an entry ", name);
    std::span<const gradc_artifact_port> inputs, outputs;
    view(found->second->inputs, "inputs", inputs);
    view(found->second->outputs, "outputs", outputs);
    if (inputs.size() != (packs ? 1 : 0) || (!packs && outputs.size() != 1))
      return fail("expected entry ", name, " to have one ", (packs ? "input" : "output"));
    uint64_t bytes = (packs ? inputs : outputs)[0].tensor.bytes;
    if (bytes != storedBytes(state))
      return failCount(name.c_str(), storedBytes(state), bytes);
    return true;
  };
  for (const gradc_artifact_buffer &buffer : level.buffers) {
    const gradc_artifact_state &state = states[buffer.state];
    if (isDerived(state)) {
      auto found = byName.find(GRADC_DERIVE_ENTRY);
      if (found == byName.end() || found->second->inputs.count || found->second->outputs.count)
        return fail("expected an entry " GRADC_DERIVE_ENTRY " without inputs and outputs");
      continue;
    }
    if (buffer.kind != GRADC_BUFFER_PLAIN && !needs("pack", state, true))
      return false;
    if (buffer.kind == GRADC_BUFFER_PACKED && !needs("unpack", state, false))
      return false;
  }
  return true;
}

} // namespace

Status gradc::runtime::checkArtifact(std::span<const std::byte> blob) {
  return Checker(blob).check();
}
