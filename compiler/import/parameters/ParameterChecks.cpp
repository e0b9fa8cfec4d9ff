// Compares values and users of parameters.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ExportSigns.h"
#include "compiler/import/onnx/ops/quantization/Quantization.h"
#include "compiler/import/parameters/ParameterChecks.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/EntryAttributes.h"
#include "dialects/grad/Movement.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
struct Uses {
  std::set<std::string> nodes;
  std::optional<double> value; ///< of all its elements
};
} // namespace

static std::optional<double> commonValue(ElementsAttr initial) {
  HostTensor values(initial);
  for (int64_t i = 1; i < values.size(); ++i)
    if (values.getFloat(i) != values.getFloat(0))
      return std::nullopt;
  return values.size() > 1 ? std::optional(values.getFloat(0)) : std::nullopt;
}

static LogicalResult refuseF64(const Imported &imported, const OnnxModel &model,
                               ArrayRef<Adapter> adapters) {
  llvm::SetVector<StringRef> names;
  for (const Verdict &verdict : imported.verdicts) {
    if (!verdict.trains || !StringRef(verdict.type).starts_with("f64"))
      continue;
    const Adapter *adapter = llvm::find_if(adapters, [&](const Adapter &one) {
      return one.down == verdict.initializer || one.up == verdict.initializer;
    });
    names.insert(adapter == adapters.end() ? StringRef(verdict.initializer) : adapter->weight);
  }
  if (names.empty())
    return success();
  auto error = emitError(model.nameLoc(names.front()))
               << "expected parameters in f32, in which training computes, found initializer \""
               << names.front() << "\" in f64";
  if (names.size() > 1)
    error << " and " << names.size() - 1 << " more";
  return error << "; export the model in f32: call model.float() before torch.onnx.export, "
                  "keras.config.set_floatx(\"float32\") or "
                  "jax.config.update(\"jax_enable_x64\", False)";
}

static LogicalResult refuseMerged(const Imported &imported, const States &states,
                                  const OnnxModel &model) {
  ModuleOp module = imported.module.get();
  std::map<std::string, Uses> uses; // keyed by symbol
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(updateRuleName))
      function.walk([&](ReadOp read) {
        for (Operation *user : read->getUsers())
          if (std::string node = nodeName(user); !StringRef(node).starts_with(quantizationPrefix))
            uses[read.getState().str()].nodes.insert(std::move(node));
      });
  SymbolTable symbols(module);
  for (auto &[symbol, use] : uses)
    if (use.nodes.size() > 1)
      use.value = commonValue(symbols.lookup<StateOp>(symbol).getInitial());

  bool ok = true;
  for (const Verdict &verdict : imported.verdicts) {
    if (!verdict.trains || states.isNamed(verdict.initializer))
      continue;
    const Uses &own = uses[states.symbol(verdict.initializer).str()];
    if (own.nodes.size() < 2 || !own.value)
      continue;
    bool isAppliedAgain = llvm::any_of(uses, [&](const auto &other) {
      return other.second.nodes.size() > 1 && !other.second.value &&
             llvm::includes(other.second.nodes, own.nodes);
    });
    if (isAppliedAgain || isGivenToAll(model.graph(), verdict.initializer, own.nodes))
      continue;
    std::vector<std::string> names(own.nodes.begin(), own.nodes.end());
    auto error = emitError(model.nameLoc(verdict.initializer))
                 << "initializer \"" << verdict.initializer << "\" is " << numberText(*own.value)
                 << " everywhere and serves " << names.size() << " nodes (";
    if (names.size() > 3)
      names.resize(3), names.push_back("...");
    error
        << llvm::join(names, ", ")
        << "): it looks like several parameters of a fresh model that the exporter has merged, and "
           "they would train as one; export with torch.onnx.export(..., optimize=False), or, where "
           "dynamo is False, training=TrainingMode.TRAINING, do_constant_folding=False; "
           "if it is one parameter, name it in the spec: trainable: \""
        << verdict.initializer << "\"";
    ok = false;
  }
  return success(ok);
}

namespace {
/// How the ops that read a value, moved or repeated, use it.
struct FactorUses {
  Operation *product = nullptr; ///< one that multiplies by it
  bool others = false;          ///< any but products, and differences such as 1 - mask

  void add(Value value) {
    for (Operation *user : value.getUsers())
      if (isa<MulOp>(user))
        product = user;
      else if (movesElements(user))
        add(user->getResult(0));
      else
        others |= !isa<SubOp>(user);
  }
};
} // namespace

/// Whether all values are 0 or 1, and both occur.
static bool isOfZerosAndOnes(ElementsAttr initial) {
  HostTensor values(initial);
  int64_t ones = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    double value = values.getFloat(i);
    if (value != 0 && value != 1)
      return false;
    ones += value == 1;
  }
  return ones > 0 && ones < values.size();
}

/// Names parameters that look like masks. Gates of fresh models may look the same, and a bias of
/// an LSTM, which is added, has zeros and ones, so they train all the same.
static void remarkMasks(const Imported &imported, const States &states, const OnnxModel &model) {
  ModuleOp module = imported.module.get();
  std::map<std::string, FactorUses> uses; // keyed by symbol
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(updateRuleName))
      function.walk([&](ReadOp read) { uses[read.getState().str()].add(read.getResult()); });
  SymbolTable symbols(module);
  for (const Verdict &verdict : imported.verdicts) {
    std::string symbol = states.symbol(verdict.initializer).str();
    const FactorUses &own = uses[symbol];
    if (verdict.trains && !states.isNamed(verdict.initializer) && own.product && !own.others &&
        isOfZerosAndOnes(symbols.lookup<StateOp>(symbol).getInitial()))
      emitRemark(model.nameLoc(verdict.initializer))
          << "initializer \"" << verdict.initializer
          << "\" holds only 0 and 1 and is a factor of \"" << nodeName(own.product)
          << "\": if it is a mask, which training would change, name it in the spec: freeze: \""
          << verdict.initializer << "\"; if it is a parameter: trainable: \"" << verdict.initializer
          << "\"";
  }
}

/// Names scalars that may be parameters. PyTorch's older exporter writes numbers of the graph as
/// Constant nodes, and values that it has folded as "onnx::Mul_12": all other initializers are
/// parameters and buffers of the module.
static void remarkScalars(const Imported &imported, const States &states, const OnnxModel &model) {
  if (model.producer() != "pytorch" || states.hasKinds())
    return;
  for (const Verdict &verdict : imported.verdicts)
    if (verdict.reason == scalarReason && !StringRef(verdict.initializer).starts_with("onnx::"))
      emitRemark(model.nameLoc(verdict.initializer))
          << "initializer \"" << verdict.initializer
          << "\" is a scalar, which does not train by itself: if it is a parameter, name it in the "
             "spec: trainable: \""
          << verdict.initializer << "\"; if not: freeze: \"" << verdict.initializer << "\"";
}

namespace {
/// The initial values of a parameter of rank 2.
struct Matrix {
  StringRef name;
  RankedTensorType type;
  ArrayRef<char> values; ///< none if all are equal
};
} // namespace

static ArrayRef<char> storedValues(ElementsAttr initial) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(initial))
    return resource.getData();
  auto dense = dyn_cast<DenseElementsAttr>(initial);
  return dense && !dense.isSplat() ? dense.getRawData() : ArrayRef<char>();
}

/// Whether `a` holds the transpose of `b`, and is not the same matrix, as an identity would be.
static bool isTranspose(const Matrix &a, const Matrix &b) {
  int64_t rows = a.type.getDimSize(0), columns = a.type.getDimSize(1),
          width = elementBytes(a.type.getElementType());
  if (b.type != a.type.clone({columns, rows}) || rows == 1 || columns == 1 ||
      int64_t(a.values.size()) < rows * columns * width || a.values.size() != b.values.size())
    return false;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      if (a.values.slice((i * columns + j) * width, width) !=
          b.values.slice((j * rows + i) * width, width))
        return false;
  return a.values != b.values;
}

/// Names parameters that an exporter has made of a tied one, by transposing it.
static void remarkUntied(const Imported &imported, const States &states, const OnnxModel &model) {
  SymbolTable symbols(imported.module.get());
  SmallVector<Matrix> matrices;
  for (const Verdict &verdict : imported.verdicts) {
    if (!verdict.trains || states.isNamed(verdict.initializer))
      continue;
    auto state = symbols.lookup<StateOp>(states.symbol(verdict.initializer));
    if (!state)
      continue;
    ElementsAttr initial = state.getInitial();
    auto type = cast<RankedTensorType>(initial.getShapedType());
    if (type.getRank() != 2)
      continue;
    Matrix own{verdict.initializer, type, storedValues(initial)};
    for (const Matrix &other : matrices)
      if (isTranspose(own, other))
        emitRemark(model.nameLoc(own.name))
            << "initializer \"" << own.name << "\" is the transpose of \"" << other.name
            << "\": it looks like one parameter of which the exporter has made two, which would "
               "train apart; tie them in the spec: tie { a: \""
            << other.name << "\" b: \"" << own.name
            << "\" transpose: true }; if they are two parameters: trainable: \"" << own.name
            << "\"";
    matrices.push_back(own);
  }
}

LogicalResult gradc::checkParameters(const Imported &imported, const States &states,
                                     const OnnxModel &model, ArrayRef<Adapter> adapters) {
  LogicalResult f32 = refuseF64(imported, model, adapters),
                own = refuseMerged(imported, states, model);
  remarkMasks(imported, states, model);
  remarkScalars(imported, states, model);
  remarkUntied(imported, states, model);
  return success(succeeded(f32) && succeeded(own));
}

LogicalResult gradc::expectTraining(ArrayRef<Verdict> verdicts, const OnnxModel &model) {
  if (llvm::any_of(verdicts, [](const Verdict &verdict) { return verdict.trains; }))
    return success();
  auto error = emitError(model.fileLoc()) << "nothing trains: no initializer is a parameter";
  constexpr size_t most = 3;
  for (const Verdict &verdict : verdicts.take_front(most))
    error << "; \"" << verdict.initializer << "\": " << verdict.reason;
  if (verdicts.size() > most)
    error << "; and " << verdicts.size() - most << " more";
  return error;
}
