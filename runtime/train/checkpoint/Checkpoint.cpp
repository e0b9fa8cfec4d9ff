// The file: a header, one record per state (numbers, shape, name, bytes), and a checksum over both.
#include "runtime/train/checkpoint/Checkpoint.h"

#include "runtime/base/AtomicFile.h"
#include "runtime/base/DataType.h"
#include "runtime/base/ShortFloats.h"
#include "runtime/base/Text.h"
#include "runtime/include/gradc/hash.h"
#include "runtime/train/spec/JobFiles.h"
#include "runtime/train/spec/Optimizers.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace gradc::runtime {

namespace {

constexpr std::string_view magic = checkpointMagic;
constexpr uint32_t version = 2;
// States of the data's stages and of the run, not of the model. No model has states with such
// names.
constexpr std::string_view dataPrefix = "data: ", runPrefix = "run: ";
// Followed by the kind of an optimizer. Earlier versions ignore such a state of the run.
constexpr std::string_view optimizerPrefix = "run: optimizer ";
// Followed by a rule, such as the kind of an optimizer; the values are the numbers of the states
// that have it, in the order of the file. Earlier versions ignore this one, too.
constexpr std::string_view rulePrefix = "run: slots ";

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t states;
  uint64_t totalBytes; ///< of the file, including the checksum at its end
  uint64_t modelHash;
  uint64_t step, epoch, row, rows, seed;
  char level[32]; ///< NUL-terminated
};

/// Followed by the shape, the name, and the bytes, each padded to a multiple of 8.
struct Record {
  uint32_t dtype, kind, rank, nameBytes;
  uint64_t bytes;
};

/// Whether the types are equal, or one is f32 and the other a 16-bit float.
bool isCastable(gradc_dtype from, gradc_dtype to) {
  return from == to || (from == GRADC_F32 && isShortFloat(to)) ||
         (isShortFloat(from) && to == GRADC_F32);
}

constexpr uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

/// Whether a checkpoint contains the state: everything that training changes, and the model's other
/// initializers, so that a checkpoint has all weights.
bool isSaved(const gradc_artifact_state &state) {
  return state.kind != GRADC_STATE_CONSTANT || state.places.count;
}

class Writer {
public:
  explicit Writer(const std::string &path) : file(path) {}

  void add(const void *data, size_t size) {
    constexpr std::byte zeros[8] = {};
    put({static_cast<const std::byte *>(data), size});
    put({zeros, padded(size) - size});
  }
  Status finish(bool isDurable) {
    uint64_t sum = gradc_hash_end(&checksum);
    file.write(std::as_bytes(std::span(&sum, 1)));
    return file.commit(isDurable);
  }

private:
  void put(std::span<const std::byte> bytes) {
    gradc_hash_add(&checksum, bytes.data(), bytes.size());
    file.write(bytes);
  }
  AtomicFile file;
  gradc_hasher checksum = gradc_hash_begin();
};

} // namespace

Status writeCheckpoint(const std::string &path, Session &session, const TrainPosition &position,
                       bool isDurable) {
  const Artifact &artifact = session.artifact();
  FileHeader header = {};
  std::memcpy(header.magic, magic.data(), magic.size());
  header.version = version;
  header.totalBytes = sizeof header + sizeof(uint64_t);
  std::map<std::string_view, std::vector<double>> statesByRule;
  for (const gradc_artifact_state &state : artifact.states())
    if (isSaved(state)) {
      if (std::string_view rule = artifact.string(state.rule); !rule.empty())
        statesByRule[rule].push_back(header.states);
      ++header.states;
      header.totalBytes += sizeof(Record) + 8 * state.tensor.shape.count +
                           padded(artifact.string(state.tensor.name).size()) +
                           padded(state.tensor.bytes);
    }
  std::vector<std::pair<std::string, std::span<const double>>> numbers;
  for (const auto &[prefix, state] :
       {std::pair(dataPrefix, &position.dataState), std::pair(runPrefix, &position.runState)})
    for (const auto &[name, values] : *state)
      numbers.emplace_back(text(prefix, name), values);
  static constexpr double present = 1;
  for (const std::string &kind : optimizersOf(Config::job(artifact)))
    numbers.emplace_back(text(optimizerPrefix, kind), std::span(&present, 1));
  for (const auto &[rule, states] : statesByRule)
    numbers.emplace_back(text(rulePrefix, rule), states);
  header.states += uint32_t(numbers.size());
  for (const auto &[name, values] : numbers)
    header.totalBytes += sizeof(Record) + 8 + padded(name.size()) + values.size_bytes();
  header.modelHash = artifact.header().model_hash;
  header.step = position.step;
  header.epoch = position.data.epoch;
  header.row = position.data.row;
  header.rows = position.rows;
  header.seed = position.seed;
  std::string_view level = artifact.string(session.level().name);
  std::memcpy(header.level, level.data(), std::min(level.size(), sizeof header.level - 1));

  Writer writer(path);
  writer.add(&header, sizeof header);
  std::vector<std::byte> bytes;
  for (uint32_t i = 0; i < artifact.states().size(); ++i) {
    const gradc_artifact_state &state = artifact.states()[i];
    if (!isSaved(state))
      continue;
    std::string_view name = artifact.string(state.tensor.name);
    auto shape = artifact.elements<int64_t>(state.tensor.shape);
    Record record = {state.tensor.dtype, state.kind, uint32_t(shape.size()), uint32_t(name.size()),
                     state.tensor.bytes};
    bytes.resize(state.tensor.bytes);
    if (Status status = session.readState(i, bytes.data()); !status.ok())
      return status;
    writer.add(&record, sizeof record);
    writer.add(shape.data(), shape.size_bytes());
    writer.add(name.data(), name.size());
    writer.add(bytes.data(), bytes.size());
  }
  for (const auto &[name, values] : numbers) {
    int64_t count = int64_t(values.size());
    Record record = {GRADC_F64, GRADC_STATE_STATISTIC, 1, uint32_t(name.size()),
                     values.size_bytes()};
    writer.add(&record, sizeof record);
    writer.add(&count, sizeof count);
    writer.add(name.data(), name.size());
    writer.add(values.data(), values.size_bytes());
  }
  return writer.finish(isDurable);
}

Status joinCheckpoint(Session &session) {
  auto states = session.artifact().states();
  for (uint32_t i = 0; i < states.size(); ++i)
    if (isSaved(states[i]))
      if (Status status = session.readState(i, nullptr); !status.ok())
        return status;
  return {};
}

std::string typeText(uint32_t dtype, std::span<const int64_t> shape) {
  std::string type = findDataType(dtype)->name;
  for (size_t d = 0; d < shape.size(); ++d)
    type += text(d ? ", " : "[", shape[d]);
  return type + (shape.empty() ? "" : "]");
}

std::string_view modelName(std::string_view name, uint32_t kind) {
  constexpr std::string_view suffix = GRADC_AVERAGE_SUFFIX;
  if (kind == GRADC_STATE_AVERAGE && name.ends_with(suffix))
    name.remove_suffix(suffix.size());
  return name;
}

const Checkpoint::State *Checkpoint::find(std::string_view name) const {
  auto found = std::ranges::find(theStates, name, &State::name);
  return found == theStates.end() ? nullptr : &*found;
}

/// The average of a weight, if its type can become the weight's.
const Checkpoint::State *Checkpoint::averageOf(const State &weight) const {
  const State *average = find(text(weight.name, GRADC_AVERAGE_SUFFIX));
  bool isAveraged =
      average && average->kind == GRADC_STATE_AVERAGE && isCastable(average->dtype, weight.dtype);
  return isAveraged ? average : nullptr;
}

std::vector<Checkpoint::State> Checkpoint::weights() const {
  std::vector<State> weights;
  for (const State &state : theStates) {
    const State *average = averageOf(state);
    if (state.isWeight() && state.kind != GRADC_STATE_AVERAGE)
      weights.push_back(average ? average->as(state.dtype) : state);
  }
  return weights;
}

bool Checkpoint::lacksAverages(const Artifact &artifact) const {
  return std::ranges::any_of(artifact.states(), [&](const gradc_artifact_state &state) {
    return state.kind == GRADC_STATE_AVERAGE && !find(artifact.string(state.tensor.name));
  });
}

bool Checkpoint::State::isOfModel() const {
  return !name.starts_with(dataPrefix) && !name.starts_with(runPrefix);
}

bool Checkpoint::State::isWeight() const {
  return kind != GRADC_STATE_SLOT && isOfModel() && !name.starts_with(GRADC_FITTED_PREFIX);
}

Checkpoint::State Checkpoint::State::as(gradc_dtype type) const {
  assert(isCastable(dtype, type) && "expected equal types, or f32 and a 16-bit float");
  State state = *this;
  if (type == dtype)
    return state;
  bool isWider = isShortFloat(dtype);
  auto values =
      std::make_shared<std::vector<std::byte>>(isWider ? 2 * bytes.size() : bytes.size() / 2);
  if (isWider)
    widenFloats(dtype, bytes, values->data());
  else
    roundFloats(type, bytes, values->data());
  state.dtype = type;
  state.converted = values;
  state.bytes = *values;
  return state;
}

Result<Checkpoint> Checkpoint::open(const std::string &path) {
  auto file = MappedFile::open(path);
  if (!file)
    return file.status();
  Checkpoint checkpoint;
  checkpoint.path = path;
  checkpoint.mapped = std::move(*file);
  if (Status status = checkpoint.parse(); !status.ok())
    return status;
  return checkpoint;
}

/// Returns whether all states are there.
bool Checkpoint::takeRule(std::string_view rule, std::span<const double> states) {
  for (double number : states) {
    if (!(number >= 0 && number < double(theStates.size())))
      return false;
    theStates[size_t(number)].rule = rule;
  }
  return true;
}

Status Checkpoint::parse() {
  auto failed = [&](const auto &...why) {
    return Status::error(text("checkpoint '", path, "' ", why...));
  };
  // 1. Check the file's kind, version, and size.
  std::span<const std::byte> bytes = mapped->bytes();
  if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()))
    return Status::error(text('\'', path, "' is not a checkpoint"));
  FileHeader header;
  if (bytes.size() < sizeof header + sizeof(uint64_t))
    return failed("is truncated: found ", bytes.size(), " bytes");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != version)
    return failed("has version ", header.version, ", expected ", version);
  if (bytes.size() < header.totalBytes)
    return failed("is truncated: expected ", header.totalBytes, " bytes, found ", bytes.size());

  // 2. Check that the bytes are those that were written.
  uint64_t checksum = gradc_hash(bytes.data(), bytes.size() - sizeof(uint64_t));
  uint64_t expected;
  std::memcpy(&expected, bytes.data() + bytes.size() - sizeof expected, sizeof expected);
  if (bytes.size() != header.totalBytes || checksum != expected)
    return failed("is damaged: its checksum differs");
  theModelHash = header.modelHash;
  thePosition = {header.step, {header.epoch, header.row}, header.rows, header.seed, {}, {}};
  theLevel.assign(header.level, strnlen(header.level, sizeof header.level));

  // 3. Read the states. A checksum is not a signature, so bounds are checked as well.
  auto rest = bytes.subspan(sizeof header, bytes.size() - sizeof header - sizeof(uint64_t));
  auto take = [&](uint64_t size) -> const std::byte * {
    if (size > rest.size() || padded(size) > rest.size())
      return nullptr;
    const std::byte *begin = rest.data();
    rest = rest.subspan(padded(size));
    return begin;
  };
  for (uint32_t i = 0; i < header.states; ++i) {
    auto *record = reinterpret_cast<const Record *>(take(sizeof(Record)));
    auto *shape = record ? take(8 * uint64_t(record->rank)) : nullptr;
    auto *name = shape ? take(record->nameBytes) : nullptr;
    auto *data = name ? take(record->bytes) : nullptr;
    if (!data || !findDataType(record->dtype))
      return failed("is damaged: state ", i, " of ", header.states, " lies outside the file");
    theStates.push_back({{reinterpret_cast<const char *>(name), record->nameBytes},
                         gradc_dtype(record->dtype),
                         gradc_state_kind(record->kind),
                         {reinterpret_cast<const int64_t *>(shape), record->rank},
                         {data, size_t(record->bytes)}});
    State &last = theStates.back();
    if (!hasBytes(last.dtype, last.shape, last.bytes.size()))
      return failed("is damaged: state '", last.name, "' is ", typeText(last.dtype, last.shape),
                    ", but has ", last.bytes.size(), " bytes");
    // Earlier versions had them in the type of their parameter.
    if (isShortFloat(last.dtype) &&
        (last.kind == GRADC_STATE_SLOT || last.kind == GRADC_STATE_AVERAGE))
      last = last.as(GRADC_F32);
    std::string_view stateName = last.name;
    if (stateName.starts_with(optimizerPrefix)) {
      theOptimizers.emplace_back(stateName.substr(optimizerPrefix.size()));
      theStates.pop_back();
      continue;
    }
    auto *values = reinterpret_cast<const double *>(data);
    if (stateName.starts_with(rulePrefix)) {
      theStates.pop_back();
      if (record->dtype != GRADC_F64 ||
          !takeRule(stateName.substr(rulePrefix.size()), {values, record->bytes / 8}))
        return failed("is damaged: '", stateName, "' names states that it lacks");
      continue;
    }
    for (auto [prefix, state] : {std::pair(dataPrefix, &thePosition.dataState),
                                 std::pair(runPrefix, &thePosition.runState)})
      if (stateName.starts_with(prefix) && record->dtype == GRADC_F64 && record->bytes % 8 == 0)
        state->emplace(stateName.substr(prefix.size()),
                       std::vector<double>(values, values + record->bytes / 8));
  }
  return {};
}

Status Checkpoint::restore(Session &session, bool withSlots) const {
  auto found = match(session.artifact(), withSlots); // before anything is written
  if (!found)
    return found.status();
  for (uint32_t i = 0; i < found->size(); ++i)
    if (const State *state = (*found)[i]) {
      auto type = gradc_dtype(session.artifact().states()[i].tensor.dtype);
      if (Status status = session.writeState(i, state->as(type).bytes.data()); !status.ok())
        return status;
    }
  return {};
}

} // namespace gradc::runtime
