// Recognizes folded BatchNormalization and exports in evaluation mode by the names that exporters
// write.
#include "compiler/import/onnx/ExportSigns.h"

#include "compiler/import/onnx/model/DataType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <tuple>

using namespace gradc;
using llvm::StringRef;

static constexpr StringRef torchCall =
    "torch.onnx.export(model.train(), ..., dynamo=True, optimize=False)";

static bool hasOp(const onnx::GraphProto &graph, StringRef op) {
  return llvm::any_of(graph.node(),
                      [&](const onnx::NodeProto &node) { return node.op_type() == op; });
}

/// PyTorch's newer exporter records the operator and the rewriting rules that a node comes from.
static bool isFrom(const onnx::NodeProto &node, StringRef key, StringRef part) {
  return llvm::any_of(node.metadata_props(), [&](const onnx::StringStringEntryProto &entry) {
    return entry.key() == key && StringRef(entry.value()).contains(part);
  });
}

static constexpr StringRef fxNode = "pkg.torch.onnx.fx_node";

bool gradc::isDetach(const onnx::NodeProto &node) {
  return node.op_type() == "Identity" && isFrom(node, fxNode, "[target=torch.ops.aten.detach.");
}

/// What follows `call` in the record of the call that a node comes from: its arguments, up to ')',
/// and its keywords. "": the node comes from no such call.
static StringRef behindCall(const onnx::NodeProto &node, StringRef call) {
  for (const onnx::StringStringEntryProto &entry : node.metadata_props())
    if (entry.key() == fxNode && StringRef(entry.value()).contains(call))
      return StringRef(entry.value()).split(call).second;
  return "";
}

// The call is "...embedding.default](args = (%p_table, %rows, 0), kwargs = {})"; without a
// padding_idx, the third argument is -1 or left out.
std::optional<int64_t> gradc::findPaddingRow(const onnx::NodeProto &node) {
  static constexpr StringRef call = "[target=torch.ops.aten.embedding.default](args = (";
  if (node.op_type() != "Gather")
    return std::nullopt;
  StringRef arguments = behindCall(node, call).split(')').first;
  StringRef third = arguments.split(',').second.split(',').second.split(',').first.trim();
  int64_t row = -1;
  return !third.getAsInteger(10, row) && row >= 0 ? std::optional(row) : std::nullopt;
}

/// The label smoothing of a loss, which PyTorch's newer exporter leaves out. The call is
/// "...cross_entropy_loss.default](args = (%scores, %labels, None, 1, -100, 0.1), kwargs = {})".
static StringRef lostSmoothing(const onnx::NodeProto &node) {
  static constexpr StringRef call = "[target=torch.ops.aten.cross_entropy_loss.default](args = (";
  if (node.op_type() != "SoftmaxCrossEntropyLoss")
    return "";
  StringRef rest = behindCall(node, call).split(')').first;
  for (int before = 0; before < 5; ++before)
    rest = rest.split(',').second;
  double smoothing = 0;
  return !rest.trim().getAsDouble(smoothing) && smoothing != 0 ? rest.trim() : "";
}

// The call is "...embedding_bag.padding_idx](args = (%p_table, %view, %arange, False, 1, False,
// None, False, 0), kwargs = {})": the mode is the fifth argument, and padding_idx, which may be
// None, the ninth. Last arguments are left out where they are the default.
std::optional<EmbeddingBagCall> gradc::findEmbeddingBag(const onnx::NodeProto &node) {
  for (const onnx::StringStringEntryProto &entry : node.metadata_props()) {
    if (entry.key() != fxNode)
      continue;
    auto [name, rest] =
        StringRef(entry.value()).split("[target=torch.ops.aten.").second.split("](args = (");
    name.consume_front("_"); // once decomposed
    auto [list, keywords] = rest.split(')');
    if (!name.starts_with("embedding_bag") || !keywords.starts_with(", kwargs = {}"))
      return std::nullopt;
    llvm::SmallVector<StringRef> arguments;
    list.split(arguments, ',');
    auto number = [&](size_t i, int64_t otherwise) {
      int64_t value;
      bool isNumber = i < arguments.size() && !arguments[i].trim().getAsInteger(10, value);
      return isNumber ? value : otherwise;
    };
    int64_t mode = number(4, EmbeddingBagCall::sum), padding = number(8, -1);
    if (mode < EmbeddingBagCall::sum || mode > EmbeddingBagCall::max)
      return std::nullopt;
    return EmbeddingBagCall{EmbeddingBagCall::Mode(mode),
                            padding < 0 ? std::nullopt : std::optional(padding)};
  }
  return std::nullopt;
}

// The call is "...scatter_reduce.two](args = (%zeros, 0, %rows, %values, mean), kwargs =
// {include_self: False})"; without the keyword, it is true.
std::optional<bool> gradc::findScatterMean(const onnx::NodeProto &node) {
  static constexpr StringRef call = "[target=torch.ops.aten.scatter_reduce.two](args = (";
  if (node.op_type() != "ScatterElements")
    return std::nullopt;
  auto [arguments, keywords] = behindCall(node, call).split(')');
  if (arguments.rsplit(',').second.trim() != "mean")
    return std::nullopt;
  return !keywords.contains("include_self: False");
}

static bool isInName(char c) { return c == '_' || llvm::isAlnum(c); }

/// Whether the call that a node comes from has an argument of this name, "%p_norm_weight".
static bool isCalledWith(const onnx::NodeProto &node, StringRef argument) {
  return llvm::any_of(node.metadata_props(), [&](const onnx::StringStringEntryProto &entry) {
    StringRef call = entry.key() == fxNode ? StringRef(entry.value()) : StringRef();
    for (size_t at = call.find(argument); at != StringRef::npos; at = call.find(argument)) {
      call = call.drop_front(at + argument.size());
      if (call.empty() || !isInName(call.front()))
        return true;
    }
    return false;
  });
}

bool gradc::isGivenToAll(const onnx::GraphProto &graph, const std::string &initializer,
                         const std::set<std::string> &nodes) {
  std::string argument;
  for (const onnx::ValueInfoProto &value : graph.value_info())
    for (const onnx::StringStringEntryProto &entry : value.metadata_props())
      if (value.name() == initializer && entry.key() == "pkg.torch.onnx.original_node_name")
        argument = "%" + entry.value();
  if (argument.empty())
    return false;
  std::set<std::string> called;
  for (const onnx::NodeProto &node : graph.node())
    if (isCalledWith(node, argument))
      called.insert(node.name());
  return llvm::includes(called, nodes);
}

/// Every value that the module stores in a buffer, with the buffer. PyTorch lists them in lines
/// "add_1: BUFFER_MUTATION target='norm.average'".
static std::map<std::string, std::string> recordedUpdates(const onnx::GraphProto &graph) {
  std::map<std::string, std::string> updates;
  for (const onnx::StringStringEntryProto &entry : graph.metadata_props()) {
    if (entry.key() != "pkg.torch.export.ExportedProgram.graph_signature")
      continue;
    StringRef line, rest = entry.value();
    while (!rest.empty()) {
      std::tie(line, rest) = rest.split('\n');
      auto [value, target] = line.split(": BUFFER_MUTATION target='");
      if (target.consume_back("'"))
        updates[value.str()] = target.str();
    }
  }
  return updates;
}

std::map<std::string, std::string> gradc::findBufferUpdates(const onnx::GraphProto &graph) {
  std::map<std::string, std::string> recorded = recordedUpdates(graph), found;
  llvm::StringSet<> computed, follow; // values of nodes; those that depend on such a buffer
  for (const onnx::NodeProto &node : graph.node())
    computed.insert(node.output().begin(), node.output().end());
  for (auto &[value, buffer] : recorded)
    if (computed.contains(value))
      follow.insert(buffer);
  for (const onnx::NodeProto &node : graph.node()) {
    if (llvm::none_of(node.input(), [&](StringRef name) { return follow.contains(name); }))
      continue;
    for (const std::string &output : node.output()) {
      follow.insert(output);
      if (auto update = recorded.find(output); update != recorded.end())
        found.insert(*update);
    }
  }
  return found;
}

/// One note per buffer that steps do not change although the module does and a node reads it.
/// BatchNormalization updates its own, behind an Identity where a module runs twice.
static std::vector<std::string> stillBuffers(const onnx::GraphProto &graph) {
  llvm::StringSet<> computed, read;
  llvm::StringMap<int32_t> types;
  for (const onnx::NodeProto &node : graph.node()) {
    computed.insert(node.output().begin(), node.output().end());
    if (node.op_type() != "BatchNormalization" && node.op_type() != "Identity")
      read.insert(node.input().begin(), node.input().end());
  }
  for (const onnx::TensorProto &initializer : graph.initializer())
    types[initializer.name()] = initializer.data_type();
  std::vector<std::string> notes;
  for (auto &[value, buffer] : recordedUpdates(graph)) {
    auto type = types.find(buffer);
    if (type == types.end() || !read.contains(buffer))
      continue;
    if (!computed.contains(value))
      notes.push_back("the module updates its buffer \"" + buffer +
                      "\", but the exporter has left out the new value, so steps do not change it");
    else if (type->second == data_type::INT64 || type->second == data_type::INT32)
      notes.push_back("the module updates its buffer \"" + buffer +
                      "\", but it holds integers, so steps do not change it");
  }
  return notes;
}

/// The parameters of the module that are read nowhere but in parts that PyTorch's newer exporter
/// has traced as functions of their own, as it does for torch.no_grad.
static std::vector<std::string> parametersOfParts(const onnx::GraphProto &graph) {
  llvm::StringSet<> readInParts, readOutside;
  for (const onnx::NodeProto &node : graph.node()) {
    bool isPart = isFrom(node, "pkg.torch.onnx.stack_trace", "File \"<eval_with_key>");
    (isPart ? readInParts : readOutside).insert(node.input().begin(), node.input().end());
  }
  std::vector<std::string> found;
  for (const onnx::ValueInfoProto &value : graph.value_info())
    for (const onnx::StringStringEntryProto &entry : value.metadata_props())
      if (entry.key() == "pkg.torch.export.graph_signature.InputSpec.kind" &&
          entry.value() == "PARAMETER" && readInParts.contains(value.name()) &&
          !readOutside.contains(value.name()))
        found.push_back(value.name());
  return found;
}

namespace {
/// The results of `detach` in PyTorch, "%detach" or "%detach_1".
struct Detached {
  llvm::StringSet<> kept; ///< those of nodes of the file
  llvm::StringSet<> read; ///< those that other operators read there

  void add(const onnx::NodeProto &node);
  void addReads(StringRef call);
  bool hasLost() const {
    return llvm::any_of(read.keys(), [&](StringRef name) { return !kept.contains(name); });
  }
};
} // namespace

/// PyTorch describes a node as "%name : call_function[...](args = (%other,), kwargs = {})".
void Detached::add(const onnx::NodeProto &node) {
  for (const onnx::StringStringEntryProto &entry : node.metadata_props()) {
    if (entry.key() != fxNode)
      continue;
    auto [result, call] = StringRef(entry.value()).split(" : ");
    if (isDetach(node))
      kept.insert(result);
    else
      addReads(call);
  }
}

void Detached::addReads(StringRef call) {
  static constexpr StringRef prefix = "%detach";
  for (size_t at = call.find(prefix); at != StringRef::npos; at = call.find(prefix)) {
    call = call.drop_front(at);
    StringRef rest = call.drop_front(prefix.size());
    StringRef suffix = rest.take_while(isInName), number = suffix;
    bool isNumbered = number.consume_front("_") && llvm::all_of(number, llvm::isDigit);
    if (suffix.empty() || isNumbered) // others are of operators like detach_copy
      read.insert(call.take_front(prefix.size() + suffix.size()));
    call = rest.drop_front(suffix.size());
  }
}

/// "onnx::Conv_27": the form of names that PyTorch's older exporter gives to values it has
/// computed.
static bool isNumbered(StringRef name) {
  return name.consume_front("onnx::Conv_") && !name.empty() && llvm::all_of(name, llvm::isDigit);
}

static std::string convolutions(size_t count) {
  return std::to_string(count) + (count == 1 ? " convolution" : " convolutions");
}

std::vector<std::string> gradc::exportSigns(const onnx::GraphProto &graph) {
  size_t folded = 0, foldedByTf = 0;
  std::string numbered;
  size_t numberedCount = 0;
  bool isEvaluation = false;
  Detached detached;
  std::vector<std::string> notes;
  for (const onnx::NodeProto &node : graph.node()) {
    isEvaluation |= isFrom(node, fxNode, "_batch_norm_legit_no_training");
    detached.add(node);
    if (StringRef smoothing = lostSmoothing(node); !smoothing.empty())
      notes.push_back("the exporter has left out the label smoothing of cross_entropy (" +
                      smoothing.str() +
                      "); make the scores an output, and the loss one of the spec");
    if (!StringRef(node.op_type()).starts_with("Conv") || node.input_size() < 2)
      continue;
    StringRef weight = node.input(1);
    if (isFrom(node, "pkg.onnxscript.rewriter.rule_name", "FuseBatchNorm"))
      ++folded;
    else if (weight.ends_with("_weights_fused_bn"))
      ++foldedByTf;
    else if (isNumbered(weight) && node.input_size() > 2 && isNumbered(node.input(2)) &&
             numberedCount++ == 0)
      numbered = weight.str();
  }

  if (folded)
    notes.push_back("the exporter has folded BatchNormalization into " + convolutions(folded) +
                    ", and none of it trains; " + torchCall.str() + " keeps it");
  if (foldedByTf)
    notes.push_back("tf2onnx has folded BatchNormalization into " + convolutions(foldedByTf) +
                    ", and none of it trains; examples/from_keras has an export that keeps it");
  if (numberedCount)
    notes.push_back("weights of " + convolutions(numberedCount) + " have numbers for names (\"" +
                    numbered +
                    "\"), as where PyTorch's exporter folds BatchNormalization into them; if the "
                    "network has it, " +
                    torchCall.str() + " keeps it, and the names");
  if (detached.hasLost())
    notes.push_back("the exporter has left out detach(), so gradients flow where it stops them; " +
                    torchCall.str() + " keeps it");
  llvm::append_range(notes, stillBuffers(graph));
  if (std::vector<std::string> apart = parametersOfParts(graph); !apart.empty())
    notes.push_back("gradients flow through what the exporter has traced apart, as it does for "
                    "torch.no_grad(), where they stop in PyTorch; to keep \"" +
                    apart.front() + "\"" +
                    (apart.size() > 1 ? " and " + std::to_string(apart.size() - 1) + " more" : "") +
                    " as in the file, use freeze");
  bool seemsEvaluation = isEvaluation || numberedCount;
  if (seemsEvaluation && !hasOp(graph, "Dropout"))
    notes.push_back("the model looks exported in evaluation mode, which leaves out Dropout; if the "
                    "network has it, call model.train() before the export");
  return notes;
}
