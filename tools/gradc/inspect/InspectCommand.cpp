// gradc inspect: prints the content of a file that gradc reads or writes.
#include "tools/gradc/inspect/Inspect.h"

#include "compiler/import/onnx/model/OnnxModel.h"
#include "compiler/import/spec/TrainingSpec.h"
#include "compiler/import/support/Safetensors.h"
#include "runtime/data/source/ParquetText.h"
#include "runtime/train/checkpoint/CheckpointFolder.h"
#include "runtime/train/spec/JobFiles.h"
#include "tools/gradc/Command.h"
#include "tools/gradc/Compilation.h"
#include "tools/gradc/Files.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/core.h>
#include <fmt/ranges.h>

namespace gradc {
namespace {

int inspectModel(const std::string &path) {
  auto context = createContext();
  Console console(*context);
  auto model = OnnxModel::read(*context, path);
  if (failed(model))
    return exitCode(Code::invalid);
  const onnx::GraphProto &graph = (*model)->graph();
  fmt::print("ONNX model, opset {}, {} nodes, {} initializers\n", (*model)->opset(),
             graph.node_size(), graph.initializer_size());
  auto printValues = [](const char *what, const auto &values, auto &&skip) {
    for (const onnx::ValueInfoProto &value : values) {
      if (skip(value.name()))
        continue;
      const auto &type = value.type().tensor_type();
      std::vector<std::string> dims;
      for (const auto &dim : type.shape().dim())
        dims.push_back(dim.has_dim_value()       ? std::to_string(dim.dim_value())
                       : dim.dim_param().empty() ? "?"
                                                 : dim.dim_param());
      fmt::print("  {:6}  {}  {} [{}]\n", what, value.name(), dataTypeName(type.elem_type()),
                 fmt::join(dims, ", "));
    }
  };
  printValues("input", graph.input(),
              [&](const std::string &name) { return (*model)->initializer(name) != nullptr; });
  printValues("output", graph.output(), [](const std::string &) { return false; });

  std::map<std::string, int> ops;
  for (const onnx::NodeProto &node : graph.node())
    ++ops[node.op_type()];
  fmt::print("ops\n");
  for (const auto &[op, count] : ops)
    fmt::print("  {:>6}  {}\n", count, op);
  std::vector<InspectedTensor> tensors;
  for (const onnx::TensorProto &tensor : graph.initializer())
    tensors.push_back({tensor.name(),
                       dataTypeName(tensor.data_type()),
                       {tensor.dims().begin(), tensor.dims().end()},
                       int64_t(tensor.raw_data().size())});
  printTensors("initializers", tensors);
  return exitCode(Code::ok);
}

int inspectSpec(const std::string &path) {
  auto context = createContext();
  Console console(*context);
  auto spec = SpecFile::read(*context, path);
  if (failed(spec) || failed((*spec)->check()))
    return exitCode(Code::invalid);
  fmt::print("training spec of the model {}\n{}", (*spec)->resolve((*spec)->get().model()),
             (*spec)->get().DebugString());
  return exitCode(Code::ok);
}

/// The kind of file that a name's end stands for; "" if it stands for none, or for one that reports
/// other content itself.
llvm::StringRef kindByName(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .EndsWith(".parquet", "a Parquet table")
      .EndsWith(".npz", "an .npz archive")
      .EndsWith(".npy", "a .npy array")
      .EndsWith(".ckpt", "a checkpoint")
      .EndsWith("-ubyte", "an .idx array")
      .Default("");
}

int inspectSafetensors(llvm::StringRef bytes, const std::string &path) {
  auto entries = readSafetensors(bytes);
  if (!entries)
    return fail(Code::error, path + " is " + llvm::toString(entries.takeError()));
  std::vector<InspectedTensor> tensors;
  for (const SafetensorsEntry &entry : *entries)
    tensors.push_back({entry.name, entry.dtype, entry.shape, int64_t(entry.bytes.size())});
  fmt::print("safetensors\n");
  printTensors("tensors", tensors);
  return exitCode(Code::ok);
}

/// The newest checkpoint of a training's folder, or its best if there is no other.
int inspectFolder(const std::string &path) {
  runtime::CheckpointFolder folder(path);
  if (!folder.holdsAny())
    return fail(Code::invalid, path + " is a folder without checkpoints");
  std::string file = folder.latestOrBest();
  fmt::print("{}\n", file);
  return inspectCheckpoint(file);
}

/// Recognizes a file by its beginning or end, then by its name; any other file is read as a spec.
int inspect(const std::string &path) {
  if (llvm::sys::fs::is_directory(path))
    return inspectFolder(path);
  if (int code = expectFile(path))
    return code;
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return fail(Code::error, "cannot read " + path + ": " + file.getError().message());
  llvm::StringRef bytes = (*file)->getBuffer(), name = path;
  auto raw = std::as_bytes(std::span(bytes.data(), bytes.size()));
  if (isArtifact(path))
    return inspectArtifact(path);
  if (runtime::isCheckpoint(path))
    return inspectCheckpoint(path);
  if (bytes.starts_with("\x93NUMPY"))
    return inspectNpy(path, raw);
  if (bytes.starts_with("PK"))
    return inspectNpz(path, raw);
  bool isTable = llvm::any_of(llvm::ArrayRef<llvm::StringRef>{".csv", ".csv.gz", ".tsv", ".tsv.gz"},
                              [&](llvm::StringRef ending) { return name.ends_with(ending); });
  if (isTable || runtime::isParquet(raw))
    return inspectTable(path, bytes);
  // MNIST's file names: train-images-idx3-ubyte, possibly followed by .gz.
  if (name.contains("idx") &&
      (bytes.starts_with(llvm::StringRef("\0\0", 2)) || name.ends_with(".gz")))
    return inspectIdx(path, raw);
  if (llvm::StringRef kind = kindByName(name); !kind.empty())
    return failForKind(path, kind, bytes);
  if (name.ends_with(".safetensors"))
    return inspectSafetensors(bytes, path);
  if (name.ends_with(".onnx"))
    return inspectModel(path);
  if (bytes.contains('\0'))
    return fail(Code::invalid,
                path + " is neither an artifact, a checkpoint, an ONNX model (.onnx), "
                       "a training spec, .npy, .npz, .csv, .tsv, .parquet, .idx nor safetensors");
  return inspectSpec(path);
}

} // namespace

void printTensors(const char *title, llvm::ArrayRef<InspectedTensor> tensors) {
  int64_t bytes = 0;
  size_t name = 0, type = 0;
  std::vector<std::string> types;
  for (const InspectedTensor &tensor : tensors) {
    bytes += tensor.bytes;
    types.push_back(fmt::format("{} [{}]", tensor.dtype, fmt::join(tensor.shape, ", ")));
    name = std::max(name, tensor.name.size());
    type = std::max(type, types.back().size());
  }
  fmt::print("{}: {}, {}\n", title, tensors.size(), bytesText(bytes));
  for (auto [tensor, text] : llvm::zip(tensors, types))
    fmt::print("  {:{}}  {:{}}  {:>10}\n", tensor.name, name, text, type, bytesText(tensor.bytes));
}

void addInspect(CLI::App &app, Runner &run) {
  auto file = std::make_shared<std::string>();
  CLI::App *command =
      app.add_subcommand("inspect", "the content of a file that gradc reads or writes");
  command
      ->add_option(
          "file", *file,
          "an artifact, checkpoint or folder of checkpoints, ONNX model, training spec, .npy, "
          ".npz, .csv, .tsv, .parquet, .idx or safetensors")
      ->required();
  command->callback([=, &run] { run = [=] { return inspect(*file); }; });
}

} // namespace gradc
