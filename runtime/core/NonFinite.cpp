// A float is non-finite if all bits of its exponent are set; this holds for all four formats. A
// replay, launch by launch, finds the first non-finite tensor of an entry.
#include "runtime/core/NonFinite.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/core/Session.h"

#include <cstring>
#include <limits>

using namespace gradc::runtime;

namespace {

template <typename Bits>
std::optional<BadElement> scan(std::span<const std::byte> bytes, Bits exponent) {
  size_t count = bytes.size() / sizeof(Bits);
  for (size_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);
    if ((bits & exponent) != exponent)
      continue;
    // The exponent is the only field between sign and mantissa.
    const Bits sign = Bits(Bits(1) << (8 * sizeof bits - 1)), mantissa = Bits(~(exponent | sign));
    double value = bits & mantissa ? std::numeric_limits<double>::quiet_NaN()
                                   : std::numeric_limits<double>::infinity();
    return BadElement{int64_t(i), bits & sign ? -value : value};
  }
  return std::nullopt;
}

} // namespace

std::optional<BadElement> gradc::runtime::firstNonFinite(std::span<const std::byte> bytes,
                                                         uint32_t dtype) {
  switch (dtype) {
  case GRADC_F32:
    return scan<uint32_t>(bytes, 0x7f800000u);
  case GRADC_F64:
    return scan<uint64_t>(bytes, 0x7ff0000000000000u);
  case GRADC_F16:
    return scan<uint16_t>(bytes, 0x7c00u);
  case GRADC_BF16:
    return scan<uint16_t>(bytes, 0x7f80u);
  default:
    return std::nullopt;
  }
}

/// Replays an entry until a value is not finite; none: all are.
static Result<std::optional<NonFinite>> searchReplay(Session &session,
                                                     const gradc_artifact_entry &entry,
                                                     std::span<const void *const> inputs,
                                                     int64_t rows) {
  if (Status begun = session.begin(entry, inputs, rows); !begun.ok())
    return begun;
  const Artifact &from = session.artifact();
  auto kernels = from.elements<gradc_artifact_kernel>(session.level().kernels);
  auto nodes = from.elements<gradc_artifact_node>(entry.nodes);
  auto ports = from.elements<gradc_artifact_port>(entry.inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const gradc_artifact_tensor &tensor = ports[i].tensor;
    auto bytes = static_cast<const std::byte *>(inputs[i]);
    if (gradc_role_counts_rows(ports[i].role))
      continue;
    if (auto bad =
            firstNonFinite({bytes, size_t(bytesOfRows(entry, ports[i], rows))}, tensor.dtype))
      return std::optional(
          NonFinite{std::string(from.string(tensor.name)), "input", bad->index, bad->value});
  }
  for (;;) {
    auto path = session.next();
    if (!path)
      return path.status();
    if (!*path)
      break;
    const gradc_artifact_node &node = nodes[(*path)->node];
    if (Status ran = session.runLaunch((*path)->node); !ran.ok())
      return ran;
    auto slices = from.elements<gradc_artifact_slice>(node.slices);
    for (const gradc_artifact_slice &result : slices.subspan(node.operands))
      if (auto bad = firstNonFinite(session.slice(result), result.dtype))
        return std::optional(NonFinite{std::string(from.string(node.node)),
                                       std::string(nodeTitle(from, node, kernels)), bad->index,
                                       bad->value, **path});
  }
  return std::optional<NonFinite>();
}

static Status onlyFinite(const Artifact &artifact, const gradc_artifact_entry &entry) {
  return Status::error(
      text("the replay of entry ", artifact.string(entry.name), " gives finite values only"));
}

/// Replays the entry that runs for each row, row by row.
static Result<NonFinite> findInRows(Session &session, const gradc_artifact_entry &entry,
                                    std::span<const void *const> inputs, int64_t rows) {
  const Artifact &from = session.artifact();
  const gradc_artifact_entry &oneRow =
      scheduleOf(from, from.elements<gradc_artifact_entry>(session.level().entries), entry);
  auto ports = from.elements<gradc_artifact_port>(entry.inputs);
  if (Status count = checkCount(from, entry, "inputs", ports.size(), inputs.size()); !count.ok())
    return count;
  std::vector<const void *> ofRow(inputs.begin(), inputs.end());
  for (int64_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] && ports[i].batched)
        ofRow[i] = static_cast<const std::byte *>(inputs[i]) + bytesOfRows(entry, ports[i], row);
    auto found = searchReplay(session, oneRow, ofRow, 1);
    if (!found)
      return found.status();
    if (!*found)
      continue;
    for (const gradc_artifact_port &port : ports) // elements of inputs are those of the batch
      if ((*found)->kernel == "input" && (*found)->node == from.string(port.tensor.name) &&
          port.batched)
        (*found)->index +=
            row * int64_t(bytesOfRows(entry, port, 1) / findDataType(port.tensor.dtype)->bytes);
    return **found;
  }
  return onlyFinite(from, entry);
}

Result<NonFinite> gradc::runtime::findNonFinite(Session &session, const gradc_artifact_entry &entry,
                                                std::span<const void *const> inputs, int64_t rows) {
  if (entry.each_row)
    return findInRows(session, entry, inputs, rows);
  auto found = searchReplay(session, entry, inputs, rows);
  if (!found)
    return found.status();
  return *found ? Result<NonFinite>(std::move(**found)) : onlyFinite(session.artifact(), entry);
}
