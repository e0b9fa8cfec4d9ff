// Checks an artifact top down: what a later check reads, an earlier one has proved to be there.
#include "runtime/core/ArtifactCheck.h"
#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/artifact.h"
#include "runtime/include/gradc/hash.h"

#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

using namespace gradc::runtime;

namespace {

class Checker {
public:
  explicit Checker(std::span<const std::byte> blob) : blob(blob) {}
  Status check();

private:
  struct Level {
    const gradc_artifact_level *level;
    std::span<const gradc_artifact_buffer> buffers;
    std::span<const gradc_artifact_kernel> kernels;
  };
  struct Entry {
    const gradc_artifact_entry *entry;
    std::span<const gradc_artifact_port> inputs, outputs;
  };

  template <typename... Parts> bool fail(const Parts &...parts) {
    return failWith({TextPart(parts)...});
  }
  bool failWith(std::initializer_list<TextPart> parts) {
    if (error.empty())
      error = text("corrupt artifact: ", where, where.empty() ? "" : ": ", joinText(parts));
    return false;
  }
  bool failCount(const char *what, uint64_t expected, uint64_t found) {
    return fail("expected ", what, " of ", expected, ", found ", found);
  }

  bool checkHeader();
  bool checkString(gradc_string offset, const char *what);
  bool checkTensor(const gradc_artifact_tensor &tensor);
  bool checkState(const gradc_artifact_state &state);
  bool checkJob();
  bool checkLevel(const gradc_artifact_level &level);
  bool checkBuffers(const Level &level);
  bool checkKernel(const gradc_artifact_kernel &kernel);
  bool checkCallForm(const char *symbol, const gradc_artifact_call &call);
  bool checkCall(const gradc_artifact_kernel &kernel, std::span<const gradc_artifact_slice> slices);
  bool checkPort(const gradc_artifact_port &port);
  bool checkEntry(const Level &level, const gradc_artifact_entry &entry);
  bool checkSlice(const Level &level, const Entry &entry, const gradc_artifact_slice &slice);
  bool checkLaunch(const Level &level, const Entry &entry, const gradc_artifact_launch &launch);
  bool checkPackEntries(const Level &level);

  template <typename T>
  bool view(gradc_range range, const char *what, std::span<const T> &elements) {
    if (range.offset % alignof(T) != 0 || range.offset > blob.size() ||
        range.count > (blob.size() - range.offset) / sizeof(T))
      return fail(what, " lie outside the artifact (", range.count, " elements at byte ",
                  range.offset, ")");
    elements = {reinterpret_cast<const T *>(blob.data() + range.offset), size_t(range.count)};
    return true;
  }
  const char *string(gradc_string offset) const { return strings.data() + offset; }

  std::span<const std::byte> blob;
  const gradc_artifact_header *header = nullptr;
  std::span<const char> strings;
  std::span<const gradc_artifact_state> states;
  std::span<const std::byte> model;
  std::string where, error;
};

Status Checker::check() {
  bool good = checkHeader();
  for (size_t i = 0; good && i < states.size(); ++i) {
    where = text("state ", i);
    good = checkState(states[i]);
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
                 header->version, ": compile it again");
    return false;
  }
  if (header->header_bytes != sizeof *header)
    return failCount("a header", sizeof *header, header->header_bytes);
  if (header->total_bytes != blob.size())
    return failCount("a size", header->total_bytes, blob.size());
  std::span<const std::byte> body = blob.subspan(sizeof *header);
  if (header->hash != gradc_hash(body.data(), body.size()))
    return fail("its bytes do not have the hash that its header promises");
  if (!view(header->strings, "strings", strings) || !view(header->states, "states", states) ||
      !view(header->model, "model bytes", model))
    return false;
  if (strings.empty() || strings.front() != 0 || strings.back() != 0)
    return fail("expected the strings to begin and end with NUL");
  return true;
}

bool Checker::checkString(gradc_string offset, const char *what) {
  return offset < strings.size() ? true : fail(what, " lies outside the strings");
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
  if (!checkTensor(state.tensor))
    return false;
  if (state.kind > GRADC_STATE_CONSTANT)
    return fail("unknown kind ", state.kind);
  std::span<const std::byte> initial;
  uint64_t expected = state.splat ? findDataType(state.tensor.dtype)->bytes : state.tensor.bytes;
  if (!view(state.initial, "initial values", initial))
    return false;
  if (initial.size() != expected)
    return failCount("initial values", expected, initial.size());
  std::span<const gradc_artifact_place> places;
  if (!view(state.places, "places in the model", places))
    return false;
  for (const gradc_artifact_place &place : places) {
    if (place.offset > model.size() || state.tensor.bytes > model.size() - place.offset)
      return fail("its place in the model lies outside the model");
    if (place.transposed && state.tensor.shape.count != 2)
      return fail("a transposed place of a state of rank ", state.tensor.shape.count);
  }
  return true;
}

bool Checker::checkJob() {
  std::span<const gradc_artifact_value> job;
  if (!view(header->job, "values", job))
    return false;
  // Links lead forward only, so that no walk can loop.
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
  Level level{&raw, {}, {}};
  std::span<const std::byte> image;
  std::span<const gradc_artifact_entry> entries;
  if (!view(raw.image, "image bytes", image) || !view(raw.buffers, "buffers", level.buffers) ||
      !view(raw.kernels, "kernels", level.kernels) || !view(raw.entries, "entries", entries))
    return false;
  if (!checkBuffers(level))
    return false;
  for (const gradc_artifact_kernel &kernel : level.kernels)
    if (!checkKernel(kernel))
      return false;
  for (const gradc_artifact_entry &entry : entries) {
    if (!checkString(entry.name, "entry name"))
      return false;
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
    bool mirror = buffer.mirror != 0;
    if (mirror != hasPrimary[buffer.state])
      return fail("expected one primary buffer before the mirrors of state ", string(tensor.name));
    hasPrimary[buffer.state] = true;
    if (!buffer.packed && buffer.bytes < tensor.bytes)
      return failCount("a buffer", tensor.bytes, buffer.bytes);
  }
  return true;
}

bool Checker::checkKernel(const gradc_artifact_kernel &kernel) {
  std::span<const gradc_string> nodes;
  if (!checkString(kernel.symbol, "kernel symbol") || !checkString(kernel.title, "kernel title") ||
      !view(kernel.nodes, "source nodes", nodes))
    return false;
  for (gradc_string node : nodes)
    if (!checkString(node, "source node"))
      return false;
  constexpr int64_t maxUnits = int64_t(1) << 48; // times a thread's number, it still fits
  if (kernel.units < 0 || kernel.units > maxUnits || kernel.grain < 0)
    return fail("kernel ", string(kernel.symbol), ": impossible units ", kernel.units, " or grain ",
                kernel.grain);
  std::span<const gradc_artifact_call> calls;
  if (!view(kernel.call, "library calls", calls))
    return false;
  if (calls.size() > 1)
    return failCount("library calls of a kernel at most", 1, calls.size());
  return calls.empty() || checkCallForm(string(kernel.symbol), calls.front());
}

/// Whether there is such a call.
bool Checker::checkCallForm(const char *symbol, const gradc_artifact_call &call) {
  bool convolves = call.role != GRADC_LIBRARY_MATMUL;
  if (call.role > GRADC_LIBRARY_FILTER_GRADIENT)
    return fail("kernel ", symbol, ": unknown library call ", call.role);
  bool hasGelu = call.epilogue == GRADC_EPILOGUE_GELU || call.epilogue == GRADC_EPILOGUE_BIAS_GELU;
  bool hasGeluGrad = call.epilogue == GRADC_EPILOGUE_GELU_GRAD;
  if (call.epilogue > GRADC_EPILOGUE_BIAS_RELU && (convolves || !(hasGelu || hasGeluGrad)))
    return fail("kernel ", symbol, ": unknown epilogue ", call.epilogue, " of library call ",
                call.role);
  bool hasBias = call.epilogue & GRADC_EPILOGUE_BIAS;
  if (hasBias != (call.bias != GRADC_NONE))
    return fail("kernel ", symbol, ": a library call of epilogue ", call.epilogue,
                hasBias ? " without" : " with", " a bias");
  bool keeps = call.kept != GRADC_NONE;
  if (keeps ? !hasGelu && !hasGeluGrad : hasGeluGrad)
    return fail("kernel ", symbol, ": a library call of epilogue ", call.epilogue,
                keeps ? " with" : " without", " a matrix beside its result");
  for (int d = 0; d < 2; ++d)
    if (convolves &&
        (call.low[d] < 0 || call.high[d] < 0 || call.stride[d] < 1 || call.dilation[d] < 1))
      return fail("kernel ", symbol, ": a library call with an impossible window");
  return true;
}

/// Whether what a library call touches lies in a launch's slices.
bool Checker::checkCall(const gradc_artifact_kernel &kernel,
                        std::span<const gradc_artifact_slice> slices) {
  std::span<const gradc_artifact_call> calls;
  view(kernel.call, "library calls", calls);
  auto lies = [&](const gradc_library_tensor &tensor) {
    uint64_t bytes = sizeof(float);
    for (int d = 0; d < 4; ++d) {
      uint64_t reach = 0;
      if (tensor.sizes[d] < 1 || tensor.strides[d] < 0 ||
          __builtin_mul_overflow(uint64_t(tensor.sizes[d] - 1), uint64_t(tensor.strides[d]),
                                 &reach) ||
          __builtin_mul_overflow(reach, sizeof(float), &reach) ||
          __builtin_add_overflow(bytes, reach, &bytes))
        return false;
    }
    return tensor.slice < slices.size() && slices[tensor.slice].dtype == GRADC_F32 &&
           bytes <= slices[tensor.slice].bytes;
  };
  for (const gradc_artifact_call &call : calls) {
    gradc_library_tensor kept = call.result;
    kept.slice = call.kept;
    int64_t columns = call.result.sizes[call.role == GRADC_LIBRARY_MATMUL ? 3 : 1];
    gradc_library_tensor bias{call.bias, 0, {1, 1, 1, columns}, {0, 0, 0, 1}};
    if (!lies(call.lhs) || !lies(call.rhs) || !lies(call.result) ||
        (call.bias != GRADC_NONE && !lies(bias)) || (call.kept != GRADC_NONE && !lies(kept)))
      return fail("kernel ", string(kernel.symbol),
                  ": a library call touches more than the slices of its launch");
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
  uint32_t expected = types[port.role];
  if (expected == GRADC_ANY)
    return true;
  const DataType *type = findDataType(expected);
  if (port.tensor.dtype != expected || port.tensor.bytes != type->bytes)
    return fail("expected ", string(port.tensor.name), " to be one ", type->name);
  return true;
}

bool Checker::checkEntry(const Level &level, const gradc_artifact_entry &raw) {
  Entry entry{&raw, {}, {}};
  std::span<const gradc_artifact_launch> launches;
  if (!view(raw.inputs, "inputs", entry.inputs) || !view(raw.outputs, "outputs", entry.outputs) ||
      !view(raw.launches, "launches", launches))
    return false;
  for (const gradc_artifact_port &port : entry.inputs)
    if (!checkPort(port))
      return false;
  for (const gradc_artifact_port &port : entry.outputs) {
    if (!checkPort(port) || !checkSlice(level, entry, port.slice))
      return false;
    if (port.slice.bytes != port.tensor.bytes)
      return failCount("an output slice", port.tensor.bytes, port.slice.bytes);
  }
  for (const gradc_artifact_launch &launch : launches)
    if (!checkLaunch(level, entry, launch))
      return false;
  return true;
}

bool Checker::checkSlice(const Level &level, const Entry &entry,
                         const gradc_artifact_slice &slice) {
  auto within = [&](const char *what, size_t count, auto bytesOf) {
    if (slice.index >= count)
      return fail("a slice of ", what, " ", slice.index, " of ", count);
    uint64_t limit = bytesOf(slice.index);
    return (slice.offset <= limit && slice.bytes <= limit - slice.offset) ||
           fail("a slice lies outside ", what, " ", slice.index, " (", slice.bytes, " bytes at ",
                slice.offset, " of ", limit, ")");
  };
  const DataType *type = findDataType(slice.dtype);
  if (!type)
    return fail("a slice of unknown element type ", slice.dtype);
  if (slice.bytes % type->bytes != 0)
    return fail("a slice of ", type->name, " of ", slice.bytes, " bytes");
  switch (slice.space) {
  case GRADC_SPACE_ARENA:
    return within("arena", 1, [&](uint32_t) { return entry.entry->arena; });
  case GRADC_SPACE_BUFFER:
    return within("buffer", level.buffers.size(),
                  [&](uint32_t i) { return level.buffers[i].bytes; });
  case GRADC_SPACE_INPUT:
    return within("input", entry.inputs.size(),
                  [&](uint32_t i) { return entry.inputs[i].tensor.bytes; });
  case GRADC_SPACE_OUTPUT:
    return within("output", entry.outputs.size(),
                  [&](uint32_t i) { return entry.outputs[i].tensor.bytes; });
  default:
    return fail("a slice of unknown space ", slice.space);
  }
}

bool Checker::checkLaunch(const Level &level, const Entry &entry,
                          const gradc_artifact_launch &launch) {
  if (launch.kernel >= level.kernels.size())
    return fail("a launch of kernel ", launch.kernel, " of ", level.kernels.size());
  std::span<const gradc_artifact_slice> slices;
  if (!checkString(launch.node, "source node") || !view(launch.slices, "slices", slices))
    return false;
  const char *symbol = string(level.kernels[launch.kernel].symbol);
  if (launch.operands > slices.size())
    return failCount("operands at most", slices.size(), launch.operands);
  for (size_t i = 0; i < slices.size(); ++i) {
    if (!checkSlice(level, entry, slices[i]))
      return false;
    if (slices[i].offset % 64 != 0)
      return fail("kernel ", symbol, ": a slice at byte ", slices[i].offset,
                  ", expected a multiple of 64");
    if (i >= launch.operands && slices[i].space == GRADC_SPACE_INPUT)
      return fail("kernel ", symbol, " writes an input");
  }
  return checkCall(level.kernels[launch.kernel], slices);
}

/// States that are not kept row-major, or are kept twice, need entries that convert them.
bool Checker::checkPackEntries(const Level &level) {
  std::unordered_map<std::string_view, const gradc_artifact_entry *> byName;
  std::span<const gradc_artifact_entry> entries;
  view(level.level->entries, "entries", entries);
  for (const gradc_artifact_entry &entry : entries)
    byName.emplace(string(entry.name), &entry);
  auto needs = [&](const char *kind, const gradc_artifact_tensor &tensor, bool packs) {
    std::string name = text(kind, ":", string(tensor.name));
    auto found = byName.find(name);
    if (found == byName.end())
      return fail("expected an entry ", name);
    std::span<const gradc_artifact_port> inputs, outputs;
    view(found->second->inputs, "inputs", inputs);
    view(found->second->outputs, "outputs", outputs);
    if (inputs.size() != (packs ? 1 : 0) || (!packs && outputs.size() != 1))
      return fail("expected entry ", name, " to have one ", (packs ? "input" : "output"));
    uint64_t bytes = (packs ? inputs : outputs)[0].tensor.bytes;
    if (bytes != tensor.bytes)
      return failCount(name.c_str(), tensor.bytes, bytes);
    return true;
  };
  for (const gradc_artifact_buffer &buffer : level.buffers) {
    const gradc_artifact_tensor &tensor = states[buffer.state].tensor;
    if ((buffer.packed || buffer.mirror) && !needs("pack", tensor, true))
      return false;
    if (buffer.packed && !buffer.mirror && !needs("unpack", tensor, false))
      return false;
  }
  return true;
}

} // namespace

Status gradc::runtime::checkArtifact(std::span<const std::byte> blob) {
  return Checker(blob).check();
}
