// Wraps the C interface in C++ types.
#include "compiler/Session.h"

#include "dialects/Pch.h"
#include <random>

using namespace mlir;
using mlir::grad::HostTensor;

namespace gradc {

char RuntimeError::ID = 0;

static llvm::Error check(gradc_status status) {
  if (status == GRADC_OK)
    return llvm::Error::success();
  return llvm::make_error<RuntimeError>(status, gradc_last_error());
}

static Type elementType(MLIRContext &c, gradc_dtype dtype) {
  auto integer = [&](unsigned width, bool isUnsigned) -> Type {
    return IntegerType::get(&c, width, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  };
  switch (dtype) {
  case GRADC_F32:
    return Float32Type::get(&c);
  case GRADC_F64:
    return Float64Type::get(&c);
  case GRADC_F16:
    return Float16Type::get(&c);
  case GRADC_BF16:
    return BFloat16Type::get(&c);
  case GRADC_BOOL:
    return integer(1, false);
  case GRADC_I8:
    return integer(8, false);
  case GRADC_I16:
    return integer(16, false);
  case GRADC_I32:
    return integer(32, false);
  case GRADC_I64:
    return integer(64, false);
  case GRADC_U8:
    return integer(8, true);
  case GRADC_U16:
    return integer(16, true);
  case GRADC_U32:
    return integer(32, true);
  case GRADC_U64:
    return integer(64, true);
  case GRADC_F8E4M3FN:
    return Float8E4M3FNType::get(&c);
  case GRADC_F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(&c);
  case GRADC_F8E5M2:
    return Float8E5M2Type::get(&c);
  case GRADC_F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(&c);
  case GRADC_F8E8M0:
    return Float8E8M0FNUType::get(&c);
  case GRADC_F4E2M1:
    return Float4E2M1FNType::get(&c);
  case GRADC_U4:
    return integer(4, true);
  case GRADC_I4:
    return integer(4, false);
  case GRADC_U2:
    return integer(2, true);
  case GRADC_I2:
    return integer(2, false);
  }
  llvm_unreachable("the runtime checks dtypes when it opens an artifact");
}

RankedTensorType tensorType(MLIRContext &context, gradc_dtype dtype, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, elementType(context, dtype));
}

llvm::Error CompiledSession::start(const std::string &level) {
  gradc_session_options options{};
  options.size = sizeof options;
  options.threads = 1;
  options.level = level.empty() ? nullptr : level.c_str();
  return check(gradc_session_create(model, &options, &session));
}

llvm::Expected<std::unique_ptr<CompiledSession>> CompiledSession::open(std::string artifact,
                                                                       const std::string &level) {
  std::unique_ptr<CompiledSession> s(new CompiledSession);
  s->artifact = std::move(artifact);
  if (auto error = check(gradc_open_memory(s->artifact.data(), s->artifact.size(), &s->model)))
    return error;
  if (auto error = s->start(level))
    return error;
  return s;
}

llvm::Expected<std::unique_ptr<CompiledSession>>
CompiledSession::openFile(const std::string &path) {
  std::unique_ptr<CompiledSession> s(new CompiledSession);
  if (auto error = check(gradc_open(path.c_str(), &s->model)))
    return error;
  if (auto error = s->start())
    return error;
  return s;
}

CompiledSession::~CompiledSession() {
  gradc_session_free(session);
  gradc_close(model);
}

llvm::Expected<uint32_t> CompiledSession::find(StringRef entry) {
  uint32_t index;
  if (auto error = check(gradc_entry_find(session, entry.str().c_str(), &index)))
    return error;
  return index;
}

using Describe = gradc_status (*)(const gradc_session *, uint32_t, uint32_t, gradc_port_info *);

static std::vector<Port> describePorts(MLIRContext &context, const gradc_session *session,
                                       uint32_t entry, uint32_t count, Describe describe) {
  std::vector<Port> ports;
  for (uint32_t i = 0; i < count; ++i) {
    gradc_port_info info{};
    info.size = sizeof info;
    describe(session, entry, i, &info);
    if (!gradc_role_counts_rows(info.role))
      ports.push_back({info.name, tensorType(context, info.dtype, ArrayRef(info.shape, info.rank)),
                       info.role, info.classes, info.batched != 0, info.field, info.text != 0});
  }
  return ports;
}

static gradc_entry_info describeEntry(const gradc_session *session, uint32_t entry) {
  gradc_entry_info info{};
  info.size = sizeof info;
  gradc_entry_describe(session, entry, &info);
  return info;
}

std::vector<Port> CompiledSession::inputs(MLIRContext &context, uint32_t entry) {
  return describePorts(context, session, entry, describeEntry(session, entry).inputs,
                       gradc_input_describe);
}

std::vector<Port> CompiledSession::outputs(MLIRContext &context, uint32_t entry) {
  return describePorts(context, session, entry, describeEntry(session, entry).outputs,
                       gradc_output_describe);
}

int64_t CompiledSession::batch(uint32_t entry) const { return describeEntry(session, entry).batch; }

StringRef CompiledSession::couplingNode(uint32_t entry) const {
  return describeEntry(session, entry).coupling_node;
}

int64_t CompiledSession::plannedBytes(uint32_t entry) const {
  auto bytes = int64_t(describeEntry(session, entry).arena_bytes);
  for (uint32_t i = 0; i < gradc_state_count(session); ++i) {
    gradc_state_info info{};
    info.size = sizeof info;
    gradc_state_describe(session, i, &info);
    bytes += int64_t(info.bytes);
  }
  return bytes;
}

std::vector<Port> portsOfRows(std::vector<Port> ports, int64_t batch, int64_t rows) {
  for (Port &port : ports) {
    if (!port.batched || rows == batch)
      continue;
    SmallVector<int64_t> shape(port.type.getShape());
    for (int64_t &size : shape)
      if (size > 1 || batch == 1) {
        size = size / batch * rows;
        break;
      }
    port.type = port.type.clone(shape);
  }
  return ports;
}

/// The first `count` of the tensor's slices along `dim`.
static HostTensor cut(const HostTensor &tensor, int64_t dim, int64_t count) {
  SmallVector<int64_t> shape(tensor.getShape());
  int64_t inner = grad::elementBytes(tensor.getElementType()), outer = 1, size = shape[dim];
  for (auto [d, n] : llvm::enumerate(shape))
    (int64_t(d) < dim ? outer : inner) *= int64_t(d) == dim ? 1 : n;
  shape[dim] = std::clamp<int64_t>(count, 0, size);
  HostTensor result(tensor.getType().clone(shape));
  char *to = result.mutableBytes().data();
  for (int64_t o = 0; o < outer; ++o)
    to = std::copy_n(tensor.bytes().data() + o * size * inner, shape[dim] * inner, to);
  return result;
}

void cutToExtents(std::vector<Port> &outputs, std::vector<HostTensor> &results) {
  for (size_t i = outputs.size(); i-- > 0;) {
    if (outputs[i].role != GRADC_ROLE_EXTENT)
      continue;
    auto whole = llvm::find_if(outputs, [&](const Port &o) { return o.name == outputs[i].field; });
    if (whole != outputs.end()) {
      HostTensor &result = results[size_t(whole - outputs.begin())];
      result = cut(result, outputs[i].classes, results[i].getInt(0));
      whole->type = result.getType();
    }
    outputs.erase(outputs.begin() + ptrdiff_t(i));
    results.erase(results.begin() + ptrdiff_t(i));
  }
}

const void *addressOf(ArrayRef<char> bytes) {
  static constexpr char nothing = 0;
  return bytes.empty() ? &nothing : bytes.data();
}

static SmallVector<const void *> addresses(ArrayRef<HostTensor> tensors) {
  return llvm::map_to_vector(tensors,
                             [](const HostTensor &tensor) { return addressOf(tensor.bytes()); });
}

/// In the entry's order; null for the number of rows.
SmallVector<const void *> CompiledSession::withRows(uint32_t entry,
                                                    ArrayRef<const void *> inputs) const {
  SmallVector<const void *> all;
  for (uint32_t i = 0; i < describeEntry(session, entry).inputs; ++i) {
    gradc_port_info info{};
    info.size = sizeof info;
    gradc_input_describe(session, entry, i, &info);
    if (gradc_role_counts_rows(info.role)) {
      all.push_back(nullptr);
    } else if (!inputs.empty()) {
      all.push_back(inputs.front());
      inputs = inputs.drop_front();
    }
  }
  return all;
}

llvm::Expected<std::vector<HostTensor>> CompiledSession::run(MLIRContext &context, uint32_t entry,
                                                             ArrayRef<HostTensor> inputs) {
  return run(context, entry, inputs, batch(entry));
}

llvm::Expected<std::vector<HostTensor>> CompiledSession::run(MLIRContext &context, uint32_t entry,
                                                             ArrayRef<HostTensor> inputs,
                                                             int64_t rows) {
  std::vector<HostTensor> results;
  SmallVector<void *> out;
  for (const Port &port : portsOfRows(outputs(context, entry), batch(entry), rows))
    results.emplace_back(port.type);
  for (HostTensor &result : results)
    out.push_back(result.mutableBytes().data());
  if (auto error = run(entry, rows, addresses(inputs), out))
    return error;
  return results;
}

llvm::Error CompiledSession::run(uint32_t entry, int64_t rows, ArrayRef<const void *> inputs,
                                 ArrayRef<void *> outputs) {
  auto in = withRows(entry, inputs);
  return check(
      gradc_run_rows(session, entry, rows, in.data(), in.size(), outputs.data(), outputs.size()));
}

llvm::Error CompiledSession::begin(uint32_t entry, ArrayRef<HostTensor> inputs) {
  auto in = withRows(entry, addresses(inputs));
  return check(gradc_begin(session, entry, in.data(), in.size()));
}

llvm::Expected<uint32_t> CompiledSession::next() {
  gradc_launch_path path{};
  path.size = sizeof path;
  if (auto error = check(gradc_next(session, &path)))
    return error;
  return path.launch;
}

llvm::Error CompiledSession::launch(uint32_t launch) {
  return check(gradc_launch(session, launch));
}

llvm::Expected<std::vector<char>> CompiledSession::readSlice(uint32_t entry, uint32_t launch,
                                                             uint32_t slice) {
  gradc_slice_info info{};
  info.size = sizeof info;
  if (auto error = check(gradc_slice_describe(session, entry, launch, slice, &info)))
    return error;
  std::vector<char> bytes(info.bytes);
  if (auto error = check(gradc_slice_read(session, launch, slice, bytes.data(), bytes.size())))
    return error;
  return bytes;
}

llvm::Expected<std::vector<char>> CompiledSession::getState(StringRef name) {
  uint32_t state;
  gradc_state_info info{};
  info.size = sizeof info;
  if (auto error = check(gradc_state_find(session, name.str().c_str(), &state)))
    return error;
  if (auto error = check(gradc_state_describe(session, state, &info)))
    return error;
  std::vector<char> bytes(info.bytes);
  if (auto error = check(gradc_state_get(session, state, bytes.data(), bytes.size())))
    return error;
  return bytes;
}

llvm::Error CompiledSession::setState(StringRef name, ArrayRef<char> value) {
  uint32_t state;
  if (auto error = check(gradc_state_find(session, name.str().c_str(), &state)))
    return error;
  return check(gradc_state_set(session, state, value.data(), value.size()));
}

/// Scales the numbers of each row so that their sum is 1.
static void makeDistributions(HostTensor &value, int64_t classes) {
  for (int64_t row = 0; row < value.size(); row += classes) {
    double sum = 0;
    for (int64_t i = row; i < row + classes; ++i)
      sum += value.getFloat(i);
    for (int64_t i = row; i < row + classes; ++i)
      value.setFloat(i, value.getFloat(i) / sum);
  }
}

std::vector<HostTensor> randomTensors(ArrayRef<Port> inputs, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<HostTensor> values;
  for (const Port &port : inputs) {
    HostTensor value(port.type);
    bool isFloat = isa<FloatType>(port.type.getElementType());
    for (int64_t i = 0; i < value.size(); ++i) {
      if (port.role == GRADC_ROLE_LEARNING_RATE)
        value.setFloat(i, 1e-3);
      else if (port.role == GRADC_ROLE_MOMENTUM)
        value.setFloat(i, 0.9);
      else if (port.role != GRADC_ROLE_DATA)
        value.setInt(i, 1);
      else if (isFloat)
        value.setFloat(i, random() * 0x1p-32);
      else
        value.setInt(i, random() % std::max<int64_t>(2, port.classes));
    }
    if (isFloat && port.role == GRADC_ROLE_DATA && port.classes > 1)
      makeDistributions(value, port.classes);
    values.push_back(value);
  }
  return values;
}

} // namespace gradc
