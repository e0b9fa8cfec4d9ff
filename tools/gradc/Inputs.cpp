// Reads --input, and sorts tensors into the order of an entry.
#include "tools/gradc/Inputs.h"

#include "compiler/import/onnx/Text.h"
#include "tools/gradc/TensorFile.h"

using mlir::grad::HostTensor;

namespace gradc {

void addInputs(CLI::App &command, std::vector<std::string> &inputs) {
  command.add_option("--input", inputs, "a tensor as .npy or as ONNX's TensorProto (.pb)")
      ->allow_extra_args(false) // the model may follow
      ->type_name("NAME=FILE");
}

/// `read`: converts a file's tensor to `Tensor`.
template <typename Tensor>
static Result<std::map<std::string, Tensor>>
readAll(llvm::ArrayRef<std::string> inputs,
        llvm::function_ref<Result<Tensor>(const std::string &)> read) {
  std::map<std::string, Tensor> tensors;
  for (llvm::StringRef text : inputs) {
    auto [name, path] = text.split('=');
    if (name.empty() || path.empty())
      return Status(Code::usage, "expected --input NAME=FILE, found " + text.str());
    if (tensors.count(name.str()))
      return Status(Code::usage, "--input names \"" + name.str() + "\" twice");
    auto value = read(path.str());
    if (!value)
      return value.status();
    tensors.emplace(name.str(), std::move(*value));
  }
  return tensors;
}

Result<NamedTensors> readInputs(mlir::MLIRContext &context, llvm::ArrayRef<std::string> inputs,
                                CompileOptions &options) {
  auto tensors = readAll<HostTensor>(
      inputs, [&](const std::string &path) { return readTensor(context, path); });
  if (tensors)
    options.inputs = *tensors;
  return tensors;
}

Result<NamedViews> openInputs(mlir::MLIRContext &context, llvm::ArrayRef<std::string> inputs) {
  return readAll<TensorView>(inputs,
                             [&](const std::string &path) { return openTensor(context, path); });
}

NamedViews viewsOf(const NamedTensors &tensors) {
  NamedViews views;
  for (const auto &[name, tensor] : tensors)
    views.emplace(name, viewOf(tensor));
  return views;
}

void dropBound(NamedTensors &given, const Imported &imported) {
  for (const std::string &name : imported.boundInputs)
    given.erase(name);
  if (!imported.spec) // whose steps may read what a forward does not
    for (const std::string &name : imported.unreadInputs)
      given.erase(name);
}

static HostTensor ownOf(const HostTensor &tensor) { return tensor; }
static HostTensor ownOf(const TensorView &view) { return HostTensor(view.type, view.bytes); }
static void assign(HostTensor &to, HostTensor value) { to = std::move(value); }
static void assign(TensorView &to, HostTensor value) { to = viewOf(value); }

/// Resizes strings to the port's number of bytes; tensors that do not fit stay unchanged and are
/// refused later.
template <typename Tensor> static Status fitText(Tensor &value, const Port &port) {
  mlir::RankedTensorType type = value.getType();
  if (!port.isText || type.getElementType() != port.type.getElementType() ||
      type.getRank() != port.type.getRank())
    return {};
  HostTensor text = ownOf(value);
  int64_t longest = longestText(text), most = port.type.getShape().back();
  if (longest > most)
    return Status::invalid("input \"" + port.name + "\": found a string of " +
                           std::to_string(longest) + " bytes, expected at most " +
                           std::to_string(most) + "; compile with --string-bytes " +
                           std::to_string(longest));
  assign(value, withBytes(text, most));
  return {};
}

static void retype(HostTensor &tensor, mlir::RankedTensorType type) {
  tensor = HostTensor(type, tensor.bytes());
}
static void retype(TensorView &view, mlir::RankedTensorType type) { view.type = type; }

/// Whether .npy has no type for such elements.
static bool isUnknownToNumpy(mlir::Type element) {
  return element.isBF16() || (element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1)) ||
         (mlir::isa<mlir::FloatType>(element) && element.getIntOrFloatBitWidth() == 8);
}

/// Gives opaque bits and small integers from a .npy the port's type; tensors that do not fit stay
/// unchanged and are refused later.
template <typename Tensor> static Status fitBits(Tensor &value, const Port &port) {
  mlir::Type from = value.getType().getElementType(), to = port.type.getElementType();
  if (!isUnknownToNumpy(to) || mlir::grad::elementBytes(from) != mlir::grad::elementBytes(to))
    return {};
  bool isInteger = mlir::isa<mlir::IntegerType>(to);
  bool isNumbers = isInteger && mlir::isa<mlir::IntegerType>(from) && !isOpaque(from) &&
                   !from.isInteger(1) && from.isUnsignedInteger() == to.isUnsignedInteger();
  // Programs that read bf16 as bits write it as numbers of type u2.
  if (!isOpaque(from) && !isNumbers && !(to.isBF16() && from.isUnsignedInteger()))
    return {};
  retype(value, value.getType().clone(to));
  if (!isInteger)
    return {};
  HostTensor numbers = ownOf(value);
  int64_t bits = to.getIntOrFloatBitWidth();
  int64_t least = to.isUnsignedInteger() ? 0 : -(int64_t(1) << (bits - 1));
  int64_t most = least + (int64_t(1) << bits) - 1;
  for (int64_t i = 0; i < numbers.size(); ++i)
    if (int64_t number = numbers.getInt(i); number < least || number > most)
      return Status::invalid("input \"" + port.name + "\": expected numbers from " +
                             std::to_string(least) + " to " + std::to_string(most) + ", found " +
                             std::to_string(number) + " at element " + std::to_string(i));
  return {};
}

static void addZeros(std::vector<HostTensor> &to, mlir::RankedTensorType type) {
  to.emplace_back(type);
}
static void addZeros(std::vector<TensorView> &to, mlir::RankedTensorType type) {
  to.push_back(viewOf(HostTensor(type)));
}

/// The values of the ports in order. A seed or counter of random ops that is not given is 0.
template <typename Tensor>
static Result<std::vector<Tensor>> arrangeAll(const std::map<std::string, Tensor> &given,
                                              llvm::ArrayRef<Port> ports,
                                              const std::vector<Tensor> *defaults) {
  std::vector<Tensor> ordered;
  std::string names;
  for (const auto &port : ports)
    names += (names.empty() ? "" : ", ") + port.name;
  for (const auto &[name, value] : given)
    if (llvm::none_of(ports, [&](auto &port) { return port.name == name; }))
      return Status(Code::usage, "no input \"" + name + "\": the model has " + names);
  for (const auto &port : ports) {
    auto it = given.find(port.name);
    if (it == given.end() && defaults) {
      ordered.push_back((*defaults)[ordered.size()]);
      continue;
    }
    if (it == given.end() && gradc_role_draws(port.role)) {
      addZeros(ordered, port.type);
      continue;
    }
    if (it == given.end())
      return Status(Code::usage, "no value for input \"" + port.name + "\": add --input " +
                                     port.name + "=FILE.npy");
    Tensor value = it->second;
    if (Status status = fitText(value, port); !status.ok())
      return status;
    if (Status status = fitBits(value, port); !status.ok())
      return status;
    if (value.getType() != port.type)
      return Status::invalid("input \"" + port.name + "\": expected " +
                             (port.isText ? describeText(port.type) : describe(port.type)) +
                             ", found " + describeFile(value.getType()));
    ordered.push_back(std::move(value));
  }
  return ordered;
}

Result<std::vector<HostTensor>> arrange(const NamedTensors &given, llvm::ArrayRef<Port> ports,
                                        const std::vector<HostTensor> *defaults) {
  return arrangeAll(given, ports, defaults);
}

Result<std::vector<TensorView>> arrange(const NamedViews &given, llvm::ArrayRef<Port> ports) {
  return arrangeAll<TensorView>(given, ports, nullptr);
}

} // namespace gradc
