// docs/operators.md lists, operator by operator, how the importer and the dialect handle ONNX's own
// cases.
//
//   GRADC_WRITE_OPERATORS=1 build/release/test/unit/operators-page-test    writes the page
#include "test/unit/compiler/OnnxCase.h"

#include "compiler/import/onnx/Node.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "passes/training/Reach.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace gradc;
using namespace gradc::test;
using mlir::grad::HostTensor;

namespace {

/// The best answer that any case of an operator gets.
enum class Derivative { unknown, noFloats, zero, missing, exists };

struct Operator {
  std::set<int64_t> versions; ///< of the operator set, of its cases
  std::set<size_t> types;     ///< of elementTypes
  unsigned accepted = 0;
  std::map<std::string, unsigned> refusals; ///< reasons, and how many cases have each
  Derivative derivative = Derivative::unknown;
  bool isNewer = false; ///< its cases are not libonnx-testdata's

  bool hasCases() const { return accepted > 0 || !refusals.empty(); }
};
using Operators = std::map<std::string, Operator>;

struct ElementType {
  const char *name;
  int32_t number; ///< ONNX's
};
constexpr ElementType elementTypes[] = {
    {"f32", 1},  {"f64", 11}, {"f16", 10}, {"bf16", 16},  {"i8", 3},
    {"i16", 5},  {"i32", 6},  {"i64", 7},  {"u8", 2},     {"u16", 4},
    {"u32", 12}, {"u64", 13}, {"bool", 9}, {"narrow", 17}}; // float8e4m3fn for all of them, last
/// More cases of an operator would not show another type.
constexpr unsigned casesForTypes = 6;

class Survey {
public:
  /// `newer`: further cases, which only count for operators without cases in `folders`.
  Operators run(ArrayRef<std::string> folders, ArrayRef<std::string> newer);

private:
  void visit(const std::string &folder);
  FailureOr<Imported> import(const onnx::ModelProto &model,
                             const std::map<std::string, HostTensor> &inputs);
  void tryTypes(Operator &op, const onnx::ModelProto &model,
                const std::map<std::string, HostTensor> &inputs);
  static Derivative derivativeOf(ModuleOp module);

  std::unique_ptr<MLIRContext> context = createContext();
  std::string said;
  Operators operators;
  std::set<std::string> settled; ///< operators that no more cases are looked at for
  bool isNewer = false;
};

/// Removes names of nodes and values, and their shapes, which depend on the case.
std::string withoutNames(StringRef message) {
  message = message.split(": opset").first;
  std::string text;
  char end = 0;
  for (char c : message) {
    if (end) {
      if (c == end)
        text += end == ']' ? "...]" : "...`";
      end = c == end ? 0 : end;
    } else if (c == '"' || c == '[') {
      end = c == '"' ? '"' : ']';
      text += c == '"' ? '`' : '[';
    } else {
      text += c;
    }
  }
  return text;
}

HostTensor retyped(const HostTensor &tensor, Type element) {
  HostTensor result(tensor.getType().clone(element));
  for (int64_t i = 0; i < tensor.size(); ++i)
    result.setFloat(i, tensor.getFloat(i));
  return result;
}

FailureOr<Imported> Survey::import(const onnx::ModelProto &model,
                                   const std::map<std::string, HostTensor> &inputs) {
  said.clear();
  CompileOptions options;
  options.inputs = inputs;
  return importCase(*context, model, options);
}

/// Whether a gradient reaches any float input of the model from any of its float results.
Derivative Survey::derivativeOf(ModuleOp module) {
  auto forward = module.lookupSymbol<func::FuncOp>("forward");
  SmallVector<Value> targets;
  auto isFloat = [](Value v) { return isa<FloatType>(getElementTypeOrSelf(v)); };
  llvm::copy_if(forward.getArguments(), std::back_inserter(targets), isFloat);
  for (auto read : forward.getOps<grad::ReadOp>())
    if (isFloat(read))
      targets.push_back(read);
  Derivative best = targets.empty() ? Derivative::noFloats : Derivative::zero;
  for (Value result : forward.front().getTerminator()->getOperands())
    if (isFloat(result) && !result.getDefiningOp())
      return Derivative::exists; // the result is an input of the model
    else if (isFloat(result))
      for (const Reach &reach : findReach(result, targets)) {
        if (reach.arrival == Arrival::arrives)
          return Derivative::exists;
        if (reach.arrival == Arrival::missing)
          best = Derivative::missing;
      }
  return best;
}

/// Asks the importer for the same node with other types instead of the first operand's.
void Survey::tryTypes(Operator &op, const onnx::ModelProto &model,
                      const std::map<std::string, HostTensor> &inputs) {
  if (model.graph().input().empty() || !model.graph().input(0).type().has_tensor_type())
    return;
  int32_t own = model.graph().input(0).type().tensor_type().elem_type();
  for (auto [index, other] : llvm::enumerate(elementTypes)) {
    if (op.types.count(index))
      continue;
    Type element = fileElementType(*context, other.number);
    onnx::ModelProto changed = model;
    std::map<std::string, HostTensor> values = inputs;
    auto change = [&](onnx::ValueInfoProto &value) {
      if (!value.type().has_tensor_type() || value.type().tensor_type().elem_type() != own)
        return;
      value.mutable_type()->mutable_tensor_type()->set_elem_type(other.number);
      if (auto given = values.find(value.name()); given != values.end())
        given->second = retyped(given->second, element);
    };
    for (onnx::ValueInfoProto &value : *changed.mutable_graph()->mutable_input())
      change(value);
    for (onnx::ValueInfoProto &value : *changed.mutable_graph()->mutable_output())
      change(value);
    FailureOr<Imported> imported = import(changed, values);
    if (failed(imported))
      continue;
    op.types.insert(index);
    op.derivative = std::max(op.derivative, derivativeOf(*imported->module));
  }
}

void Survey::visit(const std::string &folder) {
  onnx::ModelProto model = readCase(folder);
  if (model.graph().node_size() != 1)
    return;
  const onnx::NodeProto &node = model.graph().node(0);
  std::string domain = node.domain() == "ai.onnx" ? "" : node.domain();
  std::string name = (domain.empty() ? "" : domain + "::") + node.op_type();
  if (settled.count(name))
    return;
  Operator &op = operators[name];
  op.isNewer = isNewer;
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    if (set.domain() == node.domain())
      op.versions.insert(set.version());
  auto inputs = caseInputs(folder, model, *context);
  FailureOr<Imported> imported = import(model, inputs);
  if (failed(imported)) {
    ++op.refusals[withoutNames(said)];
    return;
  }
  op.derivative = std::max(op.derivative, derivativeOf(*imported->module));
  if (op.accepted++ < casesForTypes)
    tryTypes(op, model, inputs);
}

Operators Survey::run(ArrayRef<std::string> folders, ArrayRef<std::string> newer) {
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && said.empty())
      said = diagnostic.str();
    return success();
  });
  for (const auto &known : onnxOps())
    if (!known.getKey().starts_with("gradc::")) // nodes that jobs add to their graphs
      operators[known.getKey().str()];
  for (const std::string &folder : folders)
    visit(folder);
  for (const auto &[name, op] : operators)
    if (op.hasCases())
      settled.insert(name);
  isNewer = true;
  for (const std::string &folder : newer)
    visit(folder);
  return std::move(operators);
}

std::string typesText(const Operator &op) {
  constexpr size_t narrow = std::size(elementTypes) - 1;
  bool isNarrow = op.types.count(narrow);
  std::vector<std::string> names;
  if (op.types.size() - isNarrow == narrow)
    names.push_back("all");
  else
    for (size_t index : op.types)
      if (index != narrow)
        names.push_back(elementTypes[index].name);
  if (isNarrow)
    names.push_back(elementTypes[narrow].name);
  return llvm::join(names, " ");
}

std::string versionsText(const std::set<int64_t> &versions) {
  std::string text;
  for (int64_t version : versions)
    text += (text.empty() ? "" : ", ") + std::to_string(version);
  return text;
}

constexpr StringRef newerMark = "*";

std::string rowOf(const std::string &name, const Operator &op) {
  constexpr const char *derivatives[] = {"", "no float operand", "zero", "no", "yes"};
  unsigned refused = 0;
  for (const auto &[reason, count] : op.refusals)
    refused += count;
  std::string cases = "none";
  if (op.hasCases())
    cases = llvm::formatv("{0} of {1}{2}", op.accepted, op.accepted + refused,
                          op.isNewer ? newerMark : "");
  return llvm::formatv("| {0} | {1} | {2} | {3} | {4} |", name, versionsText(op.versions), cases,
                       typesText(op), derivatives[int(op.derivative)]);
}

std::vector<std::string> limitsOf(const std::string &name, const Operator &op) {
  std::vector<std::string> lines;
  for (const auto &[reason, count] : op.refusals)
    lines.push_back(llvm::formatv("- {0} ({1}): {2}", name, count, reason));
  return lines;
}

/// The current page's entries for operators without available cases.
struct KnownPage {
  explicit KnownPage(StringRef text) {
    SmallVector<StringRef> all;
    text.split(all, '\n');
    for (StringRef line : all) {
      StringRef name = line.drop_front(std::min<size_t>(2, line.size())).split(' ').first;
      if (line.starts_with("| ") && line.contains((newerMark + " |").str()))
        rows[name.str()] = line.str();
      else if (line.starts_with("- "))
        limits[name.str()].push_back(line.str());
    }
  }
  std::map<std::string, std::string> rows;
  std::map<std::string, std::vector<std::string>> limits;
};

std::string page(const Operators &operators, const KnownPage &known) {
  std::string text = llvm::formatv(
      R"(# Operators of ONNX

The importer reads operator sets {0} to {1}, in each the version of an operator that the set has. This page is written by
`operators-page-test` from the importer's table and the answers of importer and dialect to ONNX's own cases of one node
(libonnx-testdata); the test fails when it is stale, and `GRADC_WRITE_OPERATORS=1` writes it. A * marks operators that only the
onnx package on PyPI has cases for; `test/bars/onnx-cases-newest` checks those rows.

- **set**: the versions of the operator set that its cases are for.
- **cases**: how many of them are compiled, of how many. Compiled cases compute what ONNX says (`test/bars/onnx-cases`).
- **types**: of the first operand, with which the importer takes such a node; *narrow*: float8 in its five forms, float4e2m1,
  and integers of 4 and 2 bits; *all*: all but these.
- **gradient**: *yes*: it arrives at a float operand; *zero*: constant between steps, an index or a comparison; *no*: missing.

Shapes are static, so what determines one must be known at compile time: a constant, a computation on constants and shapes, or an
input that `gradc run` is given. A Loop whose trip count is a number of the run needs a bound that the graph
computes (`Min(n, 8)`, `Clip(n, 0, 8)`); one that a condition of the run ends needs a trip count only for a gradient,
unless the condition also compares a counter with a constant (`i < 8 and ...`).
NonZero, Compress, Unique and NonMaxSuppression give values of which only a run knows how many there are. Operators on single
elements, reductions, MatMul, Gemm, Softmax, gathers, scatters, Concat, Split, Reshape, Transpose, Expand, Range, Slice, Shape, Size,
ArgMax, ArgMin, TopK, NonZero, Compress, NonMaxSuppression and RoiAlign take these; convolutions, pools, norms of pictures, Pad, Resize
and GridSample take so many pictures.

| operator | set | cases | types | gradient |
|---|---|---|---|---|
)",
      oldestOpset, newestOpset);
  std::vector<std::string> limits;
  for (const auto &[name, op] : operators) {
    auto before = op.hasCases() ? known.rows.end() : known.rows.find(name);
    text += (before == known.rows.end() ? rowOf(name, op) : before->second) + "\n";
    auto reasons = before == known.rows.end() ? known.limits.end() : known.limits.find(name);
    llvm::append_range(limits,
                       reasons == known.limits.end() ? limitsOf(name, op) : reasons->second);
  }
  return text + "\n## What is refused, of how many cases, and why\n\n" + llvm::join(limits, "\n") +
         "\n";
}

TEST(OperatorsPage, IsCurrent) {
  std::vector<std::string> folders = caseFolders(), newer;
  if (folders.empty())
    GTEST_SKIP() << "libonnx-testdata is not installed";
  if (otherCases())
    newer = caseFolders(otherCases());
  const std::string path = GRADC_OPERATORS_PAGE;
  auto found = llvm::MemoryBuffer::getFile(path);
  std::string current = found ? (*found)->getBuffer().str() : "";
  KnownPage known(current);
  Operators operators = Survey().run(folders, newer);
  if (newer.empty())
    for (const auto &[name, row] : known.rows)
      operators[name];
  std::string expected = page(operators, known);
  if (getenv("GRADC_WRITE_OPERATORS")) {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << expected;
    ASSERT_FALSE(error) << error.message();
    return;
  }
  SmallVector<StringRef> lines, wanted;
  StringRef(current).split(lines, '\n');
  StringRef(expected).split(wanted, '\n');
  for (size_t i = 0; i < std::max(lines.size(), wanted.size()); ++i)
    ASSERT_EQ(i < lines.size() ? lines[i].str() : "nothing",
              i < wanted.size() ? wanted[i].str() : "nothing")
        << path << ":" << i + 1 << ": write the page with GRADC_WRITE_OPERATORS=1";
}

} // namespace
