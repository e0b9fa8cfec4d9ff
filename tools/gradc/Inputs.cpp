// Reads --input, and sorts tensors in the order of an entry.
#include "tools/gradc/Inputs.h"

#include "compiler/import/onnx/OnnxModel.h"
#include "tools/gradc/TensorFile.h"

using mlir::grad::HostTensor;

namespace gradc {

void addInputs(CLI::App &command, std::vector<std::string> &inputs) {
  command.add_option("--input", inputs, "a tensor as .npy or as ONNX's TensorProto (.pb)")
      ->type_name("NAME=FILE");
}

Result<NamedTensors> readInputs(mlir::MLIRContext &context, llvm::ArrayRef<std::string> inputs,
                                CompileOptions &options) {
  NamedTensors tensors;
  for (llvm::StringRef text : inputs) {
    auto [name, path] = text.split('=');
    if (name.empty() || path.empty())
      return Status(Code::usage, "expected --input NAME=FILE, found " + text.str());
    if (tensors.count(name.str()))
      return Status(Code::usage, "--input names \"" + name.str() + "\" twice");
    auto value = readTensor(context, path.str());
    if (!value)
      return value.status();
    if (value->size() == 0)
      return Status::invalid("input \"" + name.str() + "\": " + path.str() + " is empty");
    options.inputs[name.str()] = *value;
    tensors.emplace(name.str(), std::move(*value));
  }
  return tensors;
}

void dropBound(NamedTensors &given, const Imported &imported) {
  for (const std::string &name : imported.boundInputs)
    given.erase(name);
}

Result<std::vector<HostTensor>> arrange(const NamedTensors &given, llvm::ArrayRef<Port> ports,
                                        const std::vector<HostTensor> *defaults) {
  std::vector<HostTensor> ordered;
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
    if (it == given.end())
      return Status(Code::usage, "no value for input \"" + port.name + "\": add --input " +
                                     port.name + "=FILE.npy");
    if (it->second.getType() != port.type)
      return Status::invalid("input \"" + port.name + "\": expected " + describe(port.type) +
                             ", found " + describe(it->second.getType()));
    ordered.push_back(it->second);
  }
  return ordered;
}

} // namespace gradc
