// The arguments of an entry: types of graph inputs, which of them have the rows of the batch, and
// the scalars that a step takes.
#include "dialects/Pch.h"

#include "compiler/import/onnx/ImportGraph.h"
#include "compiler/import/onnx/model/Narrow.h"
#include "dialects/grad/EntryAttributes.h"

using namespace mlir;
using namespace mlir::grad;
using namespace gradc;

namespace {
/// A graph input's complete shape from the command line, and the option that gave it.
struct GivenShape {
  ArrayRef<int64_t> dims;
  std::string option;
  StringRef separator = " "; ///< between the option and the input's name
};
} // namespace

static std::optional<GivenShape> givenShape(const ImportOptions &options, const std::string &name,
                                            bool isText) {
  if (auto found = options.shapes.find(name); found != options.shapes.end()) {
    auto entry = options.entryShapes.find(options.entry);
    if (entry != options.entryShapes.end() && entry->second.count(name))
      return GivenShape{found->second, "--entry-shape " + options.entry, ":"};
    return GivenShape{found->second, "--shape"};
  }
  if (auto found = options.inputs.find(name); found != options.inputs.end()) {
    ArrayRef<int64_t> shape = found->second.getShape();
    return GivenShape{isText && !shape.empty() ? shape.drop_back() : shape, "--input"};
  }
  return std::nullopt;
}

void EntryImport::reportOpenDim(const onnx::ValueInfoProto &input, int64_t d) {
  const onnx::TensorShapeProto &shape = input.type().tensor_type().shape();
  const std::string &name = shape.dim(int(d)).dim_param();
  bool isShared = options.sharesDims && !name.empty();
  if (isShared && !openDims.insert(name).second)
    return;
  std::string example;
  for (int i = 0; i < shape.dim_size(); ++i)
    example += (i ? "x" : "") +
               std::to_string(shape.dim(i).has_dim_value() ? shape.dim(i).dim_value() : 1);
  auto error = emitError(model.nameLoc(input.name()));
  error << "dim " << d << " of graph input \"" << input.name() << "\" "
        << (name.empty() ? "has no size" : "is the symbol \"" + name + "\"")
        << (d == 0 ? ": bind it with batch.size of the training spec or with --shape "
                   : ": bind it with --shape ")
        << input.name() << "=" << example;
  auto hasSymbol = [&](const onnx::ValueInfoProto &other) {
    return other.name() != input.name() &&
           llvm::any_of(other.type().tensor_type().shape().dim(),
                        [&](const auto &dim) { return dim.dim_param() == name; });
  };
  if (isShared && llvm::any_of(model.graph().input(), hasSymbol))
    error << ", which binds it in all inputs";
}

FailureOr<RankedTensorType> EntryImport::inputType(const onnx::ValueInfoProto &input,
                                                   bool takesBytes) {
  Location where = model.nameLoc(input.name());
  if (!input.type().has_tensor_type())
    return emitError(where)
           << "graph input \"" << input.name()
           << "\" is not of tensors; maps, sparse tensors and sequences of sequences are not "
              "supported";
  const onnx::TypeProto::Tensor &tensor = input.type().tensor_type();
  bool isText = takesBytes && isString(tensor.elem_type());
  Type element = isText || (takesBytes && gradc::findNarrow(tensor.elem_type()))
                     ? builder.getIntegerType(8, /*isSigned=*/false)
                     : elementType(*where.getContext(), tensor.elem_type());
  if (!element)
    return emitError(where) << "graph input \"" << input.name() << "\" has element type "
                            << dataTypeName(tensor.elem_type()) << ", which is not supported";
  std::optional<GivenShape> given = givenShape(options, input.name(), isText);
  auto typeOf = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> shape(dims);
    if (isText)
      shape.push_back(stringBytes());
    return RankedTensorType::get(shape, element);
  };
  if (!tensor.has_shape()) {
    if (given && fits(given->dims))
      return typeOf(given->dims);
    return emitError(where) << "graph input \"" << input.name()
                            << "\" has no shape; give it one with --shape " << input.name()
                            << "=32x64";
  }
  int64_t rank = tensor.shape().dim_size();
  if (given && int64_t(given->dims.size()) != rank)
    return emitError(where) << "expected " << rank << " dims in " << given->option
                            << given->separator << input.name() << ", found " << given->dims.size();

  SmallVector<int64_t> shape;
  bool ok = true;
  for (int64_t d = 0; d < rank; ++d) {
    const onnx::TensorShapeProto::Dimension &dim = tensor.shape().dim(d);
    std::optional<int64_t> bound;
    if (given)
      bound = given->dims[d];
    else if (auto named = options.dims.find(dim.dim_param());
             !dim.dim_param().empty() && named != options.dims.end())
      bound = named->second;
    else if (d == 0 && batch && !dim.has_dim_value())
      bound = batch;
    else if (!dim.dim_param().empty() && batch && dim.dim_param() == model.batchSymbol())
      bound = batch;

    if (dim.has_dim_value()) {
      if (dim.dim_value() < 0 || (bound && *bound != dim.dim_value())) {
        auto error = emitError(where) << "dim " << d << " of graph input \"" << input.name()
                                      << "\" is " << dim.dim_value();
        if (bound)
          error << " in the model and " << *bound << " in "
                << (given ? given->option : "the training spec");
        else
          error << "; expected a size";
        ok = false;
      }
      shape.push_back(dim.dim_value());
    } else if (bound && *bound >= 0) {
      shape.push_back(*bound);
    } else {
      reportOpenDim(input, d);
      ok = false;
    }
  }
  if (ok && !fits(shape)) {
    auto error = emitError(where) << "graph input \"" << input.name() << "\" is absurdly large: [";
    llvm::interleaveComma(shape, error);
    return error << "]";
  }
  if (!ok)
    return failure();
  return typeOf(shape);
}

/// The rows of an input are its first dim, unless the file fixes that dim or the same symbol names
/// another dim too.
void EntryImport::markBatch(const onnx::ValueInfoProto &input, Value argument) {
  auto type = cast<RankedTensorType>(argument.getType());
  const onnx::TensorShapeProto &shape = input.type().tensor_type().shape();
  if (shape.dim_size() == 0 || type.getDimSize(0) < 2)
    return;
  StringRef symbol = shape.dim(0).dim_param();
  if (batch == 0) {
    // Without a training spec, the first symbol of all inputs is the batch.
    int64_t known = function->getAttrOfType<IntegerAttr>(batchName).getInt();
    if (shape.dim(0).has_dim_value() || symbol != model.batchSymbol() ||
        (known && known != type.getDimSize(0)))
      return;
    function->setAttr(batchName, builder.getI64IntegerAttr(type.getDimSize(0)));
  } else if (type.getDimSize(0) != batch) {
    return;
  }
  std::string why;
  if (shape.dim(0).has_dim_value())
    why = "graph input \"" + input.name() + "\" has a fixed first dim";
  for (int d = 1; d < shape.dim_size(); ++d)
    if (!symbol.empty() && shape.dim(d).dim_param() == symbol)
      why = "graph input \"" + input.name() + "\" has the batch in dims 0 and " + std::to_string(d);
  if (!why.empty())
    function->setAttr("grad.exact", builder.getStringAttr(why));
  markBatch(argument);
}

void EntryImport::markBatch(Value argument) {
  argumentAttributes[cast<BlockArgument>(argument).getArgNumber()].set(batchedName,
                                                                       builder.getUnitAttr());
}

bool EntryImport::isBatched(BlockArgument argument) const {
  return bool(argumentAttributes[argument.getArgNumber()].get(batchedName));
}

Value EntryImport::addArgument(RankedTensorType type, StringRef name, gradc_role role,
                               ArrayRef<NamedAttribute> more) {
  NamedAttrList &attributes = argumentAttributes.emplace_back();
  attributes.set(portName, builder.getStringAttr(name));
  attributes.set(roleName, builder.getStringAttr(gradc_role_name(role)));
  for (NamedAttribute a : more)
    attributes.set(a.getName(), a.getValue());
  return function.getBody().addArgument(type, model.nameLoc(name));
}

/// The element type of the scalar with this role.
static Type scalarType(Builder &b, gradc_role role) {
#define TYPE_OF_ROLE(enumerator, name, type) type,
  static constexpr uint32_t types[] = {GRADC_PORT_ROLES(TYPE_OF_ROLE)};
#undef TYPE_OF_ROLE
  assert((types[role] == GRADC_F32 || types[role] == GRADC_I32) && "a scalar that a step takes");
  return types[role] == GRADC_F32 ? Type(b.getF32Type()) : Type(b.getI32Type());
}

Value EntryImport::scalarArgument(gradc_role role) {
  Value &argument = scalars[role];
  if (!argument)
    argument = addArgument(RankedTensorType::get({}, scalarType(builder, role)),
                           gradc_role_name(role), role);
  return visible(*scope, argument);
}

void EntryImport::setClasses(Value argument, int64_t classes) {
  argumentAttributes[cast<BlockArgument>(argument).getArgNumber()].set(
      "grad.classes", builder.getI64IntegerAttr(classes));
}
