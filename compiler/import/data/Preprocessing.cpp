// One function per step creates its nodes. A dim of a field is one less than the same dim of its
// batch.
#include "dialects/Pch.h"

#include "compiler/import/data/Preprocessing.h"
#include "compiler/import/onnx/model/GraphBuilder.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace gradc;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {
/// A field's value after the steps so far.
struct Batched {
  std::string name;
  int32_t dtype;
  std::vector<int64_t> row; ///< its shape without the first dim
};

/// Builds the nodes that precede the model's own.
class Prelude {
public:
  explicit Prelude(onnx::ModelProto &model)
      : graph(*model.mutable_graph()), builder(graph), ownNodes(graph.node_size()),
        taken(definedNames(graph)) {
    for (const onnx::OperatorSetIdProto &set : model.opset_import())
      if (set.domain().empty() || set.domain() == "ai.onnx")
        opset = set.version();
  }

  void add(const FedInput &fed);
  Preprocessing finish();

private:
  void apply(const FieldStep &step, Batched &value);
  void scale(const FieldStep &step, Batched &value);
  void standardize(const FieldStep &step, Batched &value);
  void oneHot(const FieldStep &step, Batched &value);
  void weigh(const FieldStep &step, Batched &value);
  void round(Batched &value);
  void cast(int32_t dtype, Batched &value);

  onnx::ValueInfoProto newInput(const FedInput &fed, const onnx::ValueInfoProto &old);
  NodeBuilder node(const char *op, ArrayRef<std::string> operands, std::string &result);
  std::string constant(onnx::TensorProto value);
  std::string integers(ArrayRef<int64_t> values) { return constant(integersOf(values)); }
  std::string numbers(const Batched &value, int64_t axis, ArrayRef<double> numbers);
  std::string fittedNumbers(const FieldStep &step, ArrayRef<int64_t> shape, const char *what);

  onnx::GraphProto &graph;
  GraphBuilder builder;
  int ownNodes; ///< the model's, which the new ones follow until the end
  int64_t opset = 0;
  llvm::StringSet<> taken;
  std::string place;                         ///< where the names of values begin
  std::map<std::string, std::string> inputs; ///< by the field that the input is
  Preprocessing result;
};
} // namespace

/// The numbers as elements of one of the types that maps compute in.
static std::string rawData(int32_t dtype, ArrayRef<double> values) {
  switch (dtype) {
  case GRADC_F64:
    return rawData<double>(values);
  case GRADC_I32:
    return rawData<int32_t>(values);
  case GRADC_I64:
    return rawData<int64_t>(values);
  default:
    assert(dtype == GRADC_F32 && "maps compute in f32, f64, i32 and i64");
    return rawData<float>(values);
  }
}

/// Appends a node and names its result.
NodeBuilder Prelude::node(const char *op, ArrayRef<std::string> operands, std::string &result) {
  std::string name = uniqueName(place + op, taken);
  NodeBuilder node = builder.add(op, operands, {name});
  result = std::move(name); // may be one of the operands
  return node;
}

std::string Prelude::constant(onnx::TensorProto value) {
  std::string name;
  node("Constant", {}, name).set("value", std::move(value));
  return name;
}

/// [count, 1, 1]: one number per position along the axis.
static std::vector<int64_t> alongAxis(const Batched &value, int64_t axis, int64_t count) {
  std::vector<int64_t> shape = {count};
  if (count > 1)
    shape.resize(value.row.size() - axis, 1);
  return shape;
}

std::string Prelude::numbers(const Batched &value, int64_t axis, ArrayRef<double> numbers) {
  return constant(
      tensorOf(value.dtype, alongAxis(value, axis, numbers.size()), rawData(value.dtype, numbers)));
}

void Prelude::cast(int32_t dtype, Batched &value) {
  if (value.dtype == dtype)
    return;
  node("Cast", {value.name}, value.name).set("to", dtype);
  value.dtype = dtype;
}

void Prelude::scale(const FieldStep &step, Batched &value) {
  auto isAll = [](ArrayRef<double> values, double neutral) {
    return llvm::all_of(values, [&](double one) { return one == neutral; });
  };
  if (!isAll(step.factors, 1))
    node("Mul", {value.name, numbers(value, step.axis, step.factors)}, value.name);
  if (!isAll(step.offsets, 0))
    node("Add", {value.name, numbers(value, step.axis, step.offsets)}, value.name);
}

/// Zeros, which the run replaces by the numbers it finds.
std::string Prelude::fittedNumbers(const FieldStep &step, ArrayRef<int64_t> shape,
                                   const char *what) {
  std::string name = uniqueName(GRADC_FITTED_PREFIX + step.key + "/" + what, taken);
  std::string zeros(size_t(step.count) * sizeof(double), '\0');
  builder.addInitializer(name, tensorOf(GRADC_F64, shape, std::move(zeros)));
  return name;
}

void Prelude::standardize(const FieldStep &step, Batched &value) {
  std::vector<int64_t> shape = alongAxis(value, step.axis, step.count);
  FittedNumbers fitted{step.key, fittedNumbers(step, shape, "mean"),
                       fittedNumbers(step, shape, "scale"), step.epsilon};
  node("Sub", {value.name, fitted.means}, value.name);
  node("Mul", {value.name, fitted.scales}, value.name);
  result.fitted.push_back(std::move(fitted));
}

/// Compares with the class numbers; every operator set has Equal.
void Prelude::oneHot(const FieldStep &step, Batched &value) {
  cast(GRADC_I64, value);
  std::vector<int64_t> shape(value.row.size() + 1); // Reshape copies dims that are 0
  shape.push_back(1);
  node("Reshape", {value.name, integers(shape)}, value.name);
  node("Equal", {value.name, integers(llvm::to_vector(llvm::seq<int64_t>(0, step.count)))},
       value.name);
  value.dtype = GRADC_BOOL;
  cast(GRADC_F32, value);
  value.row.push_back(step.count);
}

/// Multiplies the weights by a matrix of the axis and all dims after it.
void Prelude::weigh(const FieldStep &step, Batched &value) {
  int64_t from = value.row[step.axis];
  ArrayRef<int64_t> behind = ArrayRef(value.row).drop_front(step.axis + 1);
  std::vector<int64_t> shape(step.axis + 1); // Reshape copies dims that are 0
  shape.insert(shape.end(), {from, -1});
  if (behind.size() != 1)
    node("Reshape", {value.name, integers(shape)}, value.name);
  std::string weights =
      constant(tensorOf(GRADC_F32, {step.count, from}, rawData<float>(ArrayRef(step.weights))));
  node("MatMul", {weights, value.name}, value.name);
  value.row[step.axis] = step.count;
  if (behind.size() == 1)
    return;
  shape.back() = step.count;
  shape.erase(shape.end() - 2);
  shape.insert(shape.end(), behind.begin(), behind.end());
  node("Reshape", {value.name, integers(shape)}, value.name);
}

void Prelude::round(Batched &value) {
  auto number = [&](float x) { return constant(scalarOf(x)); };
  if (opset >= 11)
    node("Clip", {value.name, number(0), number(255)}, value.name);
  else
    node("Clip", {value.name}, value.name).set("min", 0.0).set("max", 255.0);
  node("Add", {value.name, number(0.5f)}, value.name);
  cast(GRADC_U8, value);
}

void Prelude::apply(const FieldStep &step, Batched &value) {
  switch (step.op) {
  case GRADC_DATA_CAST:
    return cast(step.dtype, value);
  case GRADC_DATA_SCALE:
    return scale(step, value);
  case GRADC_DATA_STANDARDIZE:
    return standardize(step, value);
  case GRADC_DATA_ONE_HOT:
    return oneHot(step, value);
  case GRADC_DATA_TRANSPOSE: {
    std::vector<int64_t> order = {0}, row;
    for (int64_t dim : step.indices) {
      order.push_back(dim + 1);
      row.push_back(value.row[dim]);
    }
    node("Transpose", {value.name}, value.name).set("perm", order);
    value.row = row;
    return;
  }
  case GRADC_DATA_PICK:
    node("Gather", {value.name, integers(step.indices)}, value.name).set("axis", step.axis + 1);
    value.row[step.axis] = step.count;
    return;
  case GRADC_DATA_WEIGH:
    return weigh(step, value);
  case GRADC_DATA_ROUND:
    return round(value);
  case GRADC_DATA_RANDOM:
  case GRADC_DATA_OTHER:
    break; // a field's steps contain neither
  }
}

/// The graph input for the unprocessed field, with the batch dim of the input that it replaces.
onnx::ValueInfoProto Prelude::newInput(const FedInput &fed, const onnx::ValueInfoProto &old) {
  const FieldType &type = fed.steps->input;
  onnx::ValueInfoProto input;
  input.set_name(uniqueName(taken.contains(fed.field) ? fed.field + "_raw" : fed.field, taken));
  onnx::TypeProto::Tensor &tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(dtypeOf(type.element));
  onnx::TensorShapeProto &shape = *tensor.mutable_shape();
  auto *batch = shape.add_dim();
  if (const auto &before = old.type().tensor_type().shape(); before.dim_size())
    *batch = before.dim(0);
  for (int64_t dim : type.shape)
    shape.add_dim()->set_dim_value(dim);
  result.fields[input.name()] = fed.field;
  return input;
}

void Prelude::add(const FedInput &fed) {
  if (!fed.steps || fed.steps->steps.empty())
    return;
  auto *list = graph.mutable_input();
  auto old = llvm::find_if(*list, [&](auto &input) { return input.name() == fed.input; });
  int index = int(old - list->begin());
  std::string &input = inputs[fed.field];
  if (input.empty()) {
    *list->Mutable(index) = newInput(fed, list->Get(index));
    input = list->Get(index).name();
  } else {
    list->DeleteSubrange(index, 1);
  }
  place = "data/" + fed.field + "/";
  const FieldType &type = fed.steps->input;
  Batched value{input, dtypeOf(type.element), {type.shape.begin(), type.shape.end()}};
  for (const FieldStep &step : fed.steps->steps)
    apply(step, value);
  if (value.name == input) // the steps change nothing
    node("Identity", {input}, value.name);
  graph.mutable_node()->rbegin()->set_output(0, fed.input);
}

Preprocessing Prelude::finish() {
  builder.moveToFront(ownNodes);
  return std::move(result);
}

Preprocessing gradc::addPreprocessing(onnx::ModelProto &model, ArrayRef<FedInput> inputs) {
  Prelude prelude(model);
  for (const FedInput &fed : inputs)
    prelude.add(fed);
  return prelude.finish();
}

static void setMetadata(onnx::ModelProto &model, const std::string &key, const std::string &text) {
  for (onnx::StringStringEntryProto &entry : *model.mutable_metadata_props())
    if (entry.key() == key)
      return entry.set_value(text);
  onnx::StringStringEntryProto &entry = *model.add_metadata_props();
  entry.set_key(key);
  entry.set_value(text);
}

void gradc::describeCategories(onnx::ModelProto &model, const spec::Training &training) {
  for (const spec::CsvField &field : training.data().source().csv().field()) {
    if (!field.has_categories())
      continue;
    llvm::json::Array values(field.categories().value());
    const std::string &name = field.has_name() ? field.name() : field.column(0);
    setMetadata(model, "gradc.categories." + name,
                llvm::formatv("{0}", llvm::json::Value(std::move(values))));
  }
}

std::string gradc::describeInputs(onnx::ModelProto &model, ArrayRef<FedInput> inputs,
                                  const Preprocessing *preprocessing) {
  // An earlier export may have described its own inputs.
  auto *entries = model.mutable_metadata_props();
  for (int i = entries->size() - 1; i >= 0; --i)
    if (StringRef(entries->Get(i).key()).starts_with("gradc.input."))
      entries->DeleteSubrange(i, 1);
  std::string all;
  for (const FedInput &fed : inputs) {
    if (!fed.steps)
      continue;
    std::string name = fed.input;
    if (preprocessing)
      for (const auto &[input, field] : preprocessing->fields)
        if (field == fed.field)
          name = input;
    std::vector<std::string> after = fed.steps->before;
    if (!preprocessing)
      llvm::append_range(after, fed.steps->maps);
    std::string text = "field '" + fed.field + "'";
    if (after.empty())
      text += " as the data have it";
    else
      text += " after " + llvm::join(after, ", ");
    if (!fed.steps->random.empty())
      text += ", without " + llvm::join(fed.steps->random, ", ");
    setMetadata(model, "gradc.input." + name, text);
    all += (all.empty() ? "" : "; ") + name + " takes " + text;
  }
  return all;
}
