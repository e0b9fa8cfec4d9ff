// Binds fields to the inputs of map models, and imports each model as an entry over rows or
// batches.
#include "dialects/Pch.h"

#include "compiler/import/data/MapModels.h"
#include "compiler/import/spec/SpecChecker.h"
#include "compiler/import/support/ErrorNote.h"
#include "compiler/import/support/Names.h"
#include "dialects/grad/EntryAttributes.h"
#include "runtime/include/gradc/entries.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

static void print(raw_ostream &out, Type element, ArrayRef<int64_t> shape) {
  out << element << " [";
  llvm::interleaveComma(shape, out, [&](int64_t dim) {
    if (ShapedType::isDynamic(dim))
      out << "?";
    else
      out << dim;
  });
  out << "]";
}

/// The type as the model declares it: "f32 [N, 64]".
static std::string declared(const onnx::ValueInfoProto &input, MLIRContext &context) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const onnx::TypeProto::Tensor &tensor = input.type().tensor_type();
  if (Type element = elementType(context, tensor.elem_type()))
    out << element;
  else
    out << dataTypeName(tensor.elem_type());
  out << " [";
  llvm::interleaveComma(tensor.shape().dim(), out, [&](const auto &dim) {
    if (dim.has_dim_value())
      out << dim.dim_value();
    else
      out << (dim.dim_param().empty() ? "?" : dim.dim_param());
  });
  out << "]";
  return text;
}

/// Whether a graph input with a known shape accepts tensors of this shape.
static bool takes(const onnx::TypeProto::Tensor &tensor, ArrayRef<int64_t> shape) {
  if (!tensor.has_shape())
    return true;
  if (tensor.shape().dim_size() != int(shape.size()))
    return false;
  for (auto [dim, size] : llvm::zip(tensor.shape().dim(), shape))
    if (dim.has_dim_value() && dim.dim_value() != size)
      return false;
  return true;
}

/// Checks the fields that each block needs.
LogicalResult MapModels::checkBlock(const spec::MapModel &block, ArrayRef<SpecFile::Step> place) {
  Checker c{spec};
  SmallVector<SpecFile::Step> at(place);
  c.require(!block.file().empty(), at, "file", "file: \"augment.onnx\"");
  at.push_back("");
  for (auto [i, input] : llvm::enumerate(block.input())) {
    at.back() = {"input", int(i)};
    c.require(!input.field().empty(), at, "field", "input { field: \"image\" to: \"x\" }");
  }
  for (auto [i, output] : llvm::enumerate(block.output())) {
    at.back() = {"output", int(i)};
    c.require(!output.name().empty(), at, "name", "output { name: \"y\" field: \"image\" }");
  }
  return success(c.ok);
}

MapModels::Model *MapModels::open(const std::string &name, ArrayRef<SpecFile::Step> place) {
  std::string path = spec.resolve(name);
  auto [at, isNew] = models.try_emplace(path);
  Model &model = at->second;
  if (isNew) {
    FailureOr<std::unique_ptr<OnnxModel>> file =
        OnnxModel::read(*symbols.getOp()->getContext(), path);
    if (failed(file))
      return nullptr;
    model.file = std::move(*file);
    std::string prefix = GRADC_MAP_PREFIX + std::to_string(models.size() - 1) + "/";
    model.states = std::make_unique<States>(*model.file, symbols, prefix);
    // Nothing in a map model trains, and no statistic changes.
    auto where = [&](int) { return spec.at(place); };
    if (model.file->graph().initializer_size() &&
        failed(model.states->setPatterns({}, {"*"}, where, where)))
      return nullptr;
  }
  return model.file ? &model : nullptr;
}

LogicalResult MapModels::bindInputs(Stage &stage, const spec::MapModel &block) {
  const OnnxModel &file = *stage.model.file;
  std::vector<std::string> names = file.inputNames();
  std::map<std::string, std::pair<std::string, int>> given; // keyed by graph input
  bool ok = true;
  for (auto [i, input] : llvm::enumerate(block.input())) {
    SmallVector<SpecFile::Step> place(stage.place);
    place.push_back({"input", int(i)});
    const std::string &name = input.has_to() ? input.to() : input.field();
    if (!llvm::is_contained(names, name)) {
      unknownName(spec.at(place), "graph input", name, names);
      ok = false;
    } else if (!given.try_emplace(name, input.field(), int(i)).second) {
      emitError(spec.at(place)) << "graph input \"" << name << "\" is fed twice";
      ok = false;
    }
  }
  if (!ok)
    return failure();
  for (const onnx::ValueInfoProto &input : file.graph().input()) {
    if (!llvm::is_contained(names, input.name()))
      continue;
    auto found = given.find(input.name());
    SmallVector<SpecFile::Step> place(stage.place);
    if (found != given.end())
      place.push_back({"input", found->second.second});
    std::string field = found != given.end() ? found->second.first : input.name();
    FailureOr<const FieldType *> row = stage.set.find(field, spec.at(place));
    if (succeeded(row))
      stage.bindings.push_back({&input, field, *row});
    else
      ok = false;
  }
  if (ok && stage.bindings.empty())
    return stage.error(spec) << "expected a model with inputs, \"" << block.file()
                             << "\" has none: it would give every row the same";
  return success(ok);
}

LogicalResult MapModels::bindOutputs(Stage &stage, const spec::MapModel &block) {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto &output : stage.model.file->graph().output())
    names.push_back(output.name());
  bool ok = true;
  llvm::StringSet<> fields;
  for (auto [i, output] : llvm::enumerate(block.output())) {
    SmallVector<SpecFile::Step> place(stage.place);
    place.push_back({"output", int(i)});
    const std::string &field = output.has_field() ? output.field() : output.name();
    if (!llvm::is_contained(names, output.name())) {
      unknownName(spec.at(place), "output", output.name(), names);
      ok = false;
    } else if (!fields.insert(field).second) {
      emitError(spec.at(place)) << "field \"" << field << "\" is made of two outputs";
      ok = false;
    }
    stage.outputs.push_back({output.name(), field});
  }
  if (block.output().empty())
    for (const std::string &name : names)
      stage.outputs.push_back({name, name});
  return success(ok);
}

/// Whether a model over rows has an extra dim before those of the rows.
bool MapModels::hasLeadingDim(const Stage &stage) const {
  return llvm::all_of(stage.bindings, [](const Binding &binding) {
    const onnx::TypeProto::Tensor &tensor = binding.input->type().tensor_type();
    if (!tensor.has_shape() || !tensor.shape().dim_size())
      return false;
    if (binding.row)
      return tensor.shape().dim_size() == int(binding.row->shape.size()) + 1;
    return !tensor.shape().dim(0).has_dim_value();
  });
}

LogicalResult MapModels::checkTypes(const Stage &stage, int64_t batch, bool isBatched) {
  MLIRContext &context = *symbols.getOp()->getContext();
  bool ok = true;
  for (const Binding &binding : stage.bindings) {
    const onnx::TypeProto::Tensor &tensor = binding.input->type().tensor_type();
    auto complain = [&]() {
      ok = false;
      return stage.error(spec);
    };
    if (!binding.row) {
      for (int d = batch ? 1 : 0; d < tensor.shape().dim_size(); ++d)
        if (!tensor.shape().dim(d).has_dim_value())
          complain() << "dim " << d << " of graph input \"" << binding.input->name()
                     << "\" is known with the data, and \"" << stage.set.file
                     << "\" is not there yet";
      continue;
    }
    const FieldType &row = *binding.row;
    SmallVector<int64_t> shape;
    if (batch)
      shape.push_back(batch);
    llvm::append_range(shape, row.shape);
    bool sameType = elementType(context, tensor.elem_type()) == row.element;
    bool sameShape = takes(tensor, shape) && !ShapedType::isDynamicShape(row.shape);
    if (sameType && sameShape)
      continue;
    std::string found;
    llvm::raw_string_ostream out(found);
    print(out, row.element, isBatched ? ArrayRef(shape) : ArrayRef(row.shape));
    auto error = complain() << "expected field \"" << binding.field << "\" of \"" << stage.set.file
                            << "\" to be " << declared(*binding.input, context)
                            << " for graph input \"" << binding.input->name() << "\", found "
                            << (isBatched ? "batches" : "rows") << " of " << found;
    Type wanted = elementType(context, tensor.elem_type());
    if (ShapedType::isDynamicShape(row.shape))
      error << "; its rows must be of one size";
    else if (sameShape && wanted && (wanted.isF32() || wanted.isF64()))
      error << "; add stage { map { field: \"" << binding.field
            << "\" cast: " << (wanted.isF32() ? "F32" : "F64") << " } } before";
  }
  return success(ok);
}

/// `batch`: the first dim of all inputs and outputs; 0 if they have none.
LogicalResult MapModels::importEntry(const Stage &stage, Entry &entry, StringRef name,
                                     int64_t batch, bool isBatched) {
  if (failed(checkTypes(stage, batch, isBatched)))
    return failure();
  ImportOptions options;
  for (const Binding &binding : stage.bindings)
    if (binding.row) {
      std::vector<int64_t> &shape = options.shapes[binding.input->name()];
      if (batch)
        shape.push_back(batch);
      llvm::append_range(shape, binding.row->shape);
    }
  EntryImport import(*stage.model.file, *stage.model.states, options, name, batch,
                     /*training=*/false);
  functions.push_back(import.getFunction());
  Builder &b = import.getBuilder();
  auto bind = [&](const onnx::ValueInfoProto &input) -> Value {
    FailureOr<RankedTensorType> type = import.inputType(input);
    if (failed(type))
      return nullptr;
    auto binding = llvm::find_if(
        stage.bindings, [&](const Binding &known) { return known.input->name() == input.name(); });
    Value argument = import.addArgument(*type, input.name(), GRADC_ROLE_DATA,
                                        b.getNamedAttr(fieldName, b.getStringAttr(binding->field)));
    if (isBatched)
      import.markBatch(input, argument);
    return argument;
  };
  std::vector<std::string> names;
  for (const Output &output : stage.outputs)
    names.push_back(output.name);
  if (failed(import.importNodes(names, bind)))
    return failure();
  bool ok = true;
  for (const Output &output : stage.outputs) {
    Value value = import.value(output.name);
    auto type = cast<RankedTensorType>(value.getType());
    if (failed(import.expectWhole(output.name, value, spec.at(stage.place)))) {
      ok = false;
      continue;
    }
    if (batch && (type.getRank() == 0 || type.getDimSize(0) != batch)) {
      stage.error(spec) << "expected output \"" << output.name << "\" to have a first dim of "
                        << batch << ", as the inputs have, found " << describe(type);
      ok = false;
      continue;
    }
    import.addResult(value, output.field, GRADC_ROLE_OUTPUT);
    entry.fields[output.field] = {type.getElementType(),
                                  SmallVector<int64_t>(type.getShape().drop_front(batch != 0))};
  }
  import.finish();
  return success(ok);
}

const std::map<std::string, FieldType> *MapModels::add(const DataSet &set, const spec::Data &data,
                                                       const spec::MapModel &block,
                                                       ArrayRef<SpecFile::Step> place,
                                                       int64_t batchSize) {
  if (failed(checkBlock(block, place)))
    return nullptr;
  Model *model = open(block.file(), place);
  if (!model)
    return nullptr;
  Stage stage{*model, set, SmallVector<SpecFile::Step>(place)};
  if (failed(bindInputs(stage, block)) || failed(bindOutputs(stage, block)))
    return nullptr;

  bool isBatched = batchSize != 0;
  int64_t batch = isBatched ? batchSize : hasLeadingDim(stage) ? 1 : 0, rest = 0;
  if (isBatched && set.rows != DataSet::unknown && !SpecFile::batchOf(data).drop_remainder() &&
      data.on_error() != spec::SKIP)
    rest = set.rows % batch;
  std::string key;
  llvm::raw_string_ostream out(key);
  out << spec.resolve(block.file()) << '|' << isBatched << '|' << batch << '|' << rest;
  for (const Binding &binding : stage.bindings) {
    out << '|' << binding.field << ' ';
    if (binding.row)
      print(out, binding.row->element, binding.row->shape);
  }
  for (const Output &output : stage.outputs)
    out << '|' << output.name << '>' << output.field;
  std::string name = GRADC_MAP_PREFIX + std::to_string(entries.size());
  auto [at, isNew] = entries.try_emplace(key, Entry{name, {}});
  Entry &entry = at->second;
  if (isNew && failed(importEntries(stage, entry, batch, rest, isBatched)))
    return nullptr;
  if (entry.fields.empty())
    return nullptr; // reported already
  names.push_back(entry.name);
  return &entry.fields;
}

/// Imports the entry, and one for the smaller last batch if the entry does not take other numbers
/// of rows.
LogicalResult MapModels::importEntries(const Stage &stage, Entry &entry, int64_t batch,
                                       int64_t rest, bool isBatched) {
  Entry whole{entry.name, {}}, tail = whole;
  if (failed(importEntry(stage, whole, entry.name, batch, isBatched)))
    return failure();
  if (rest) {
    ErrorNote explain(symbols.getOp()->getContext(), ofLastBatch(rest, batch));
    if (failed(importEntry(stage, tail, entry.name + GRADC_TAIL_SUFFIX, rest, isBatched)))
      return failure();
  }
  entry = std::move(whole);
  return success();
}

LogicalResult MapModels::finish() {
  std::vector<Verdict> ignored;
  bool ok = true;
  for (auto &[path, model] : models)
    if (model.states)
      ok &= succeeded(model.states->finish(ignored));
  for (func::FuncOp function : functions)
    function->moveBefore(function->getBlock(), function->getBlock()->end());
  return success(ok);
}
