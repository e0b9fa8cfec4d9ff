// Asks the runtime to describe a data block: the runtime reads the rows, so it knows their fields
// and number.
#include "dialects/Pch.h"

#include "compiler/import/data/MapModels.h"
#include "compiler/import/spec/SpecFields.h"
#include <google/protobuf/descriptor.h>

using namespace mlir;
using namespace gradc;
using google::protobuf::Message;

FailureOr<const FieldType *> DataSet::find(StringRef field, Location where) const {
  if (!known)
    return static_cast<const FieldType *>(nullptr);
  auto found = fields.find(field.str());
  if (found != fields.end())
    return &found->second;
  std::vector<std::string> names;
  for (auto &entry : fields)
    names.push_back(entry.first);
  // Maps may have added the field to the training data.
  bool isEvaluation = place.size() > 1;
  return emitError(where) << "no field \"" << field << "\" in \"" << file << "\""
                          << (isEvaluation ? ", the data of the evaluation" : "") << "; it has "
                          << llvm::join(names, ", ");
}

DataSet DataSet::ofLength(const gradc_data_bucket &bucket) const {
  DataSet set = *this;
  for (auto &[name, field] : set.fields)
    if (field.isByLength)
      field.shape.front() = bucket.length;
  return set;
}

RankedTensorType MadeType::of(RankedTensorType implied) const {
  SmallVector<int64_t> shape(implied.getShape());
  if (classes > 0 && isa<IntegerType>(implied.getElementType()))
    shape.push_back(classes);
  return RankedTensorType::get(shape, element);
}

std::string gradc::ofLastBatch(int64_t rows, int64_t batch) {
  return "for the last batch, which has " + std::to_string(rows) + " of " + std::to_string(batch) +
         " rows; batch { drop_remainder: true } leaves it out";
}

gradc_dtype gradc::dtypeOf(Type element) {
  int number = GRADC_F32;
  while (number < GRADC_BF16 && elementType(*element.getContext(), number) != element)
    ++number;
  return gradc_dtype(number);
}

/// Adds all strings in a message of the spec.
static void addStrings(const Message &message, llvm::StringSet<> &names) {
  forEachField(message, [&](const SpecField &field) {
    if (field.isText())
      names.insert(field.text());
    else if (field.isBlock())
      addStrings(field.inner(), names);
  });
}

/// The element type of a field after a map, `before` before it; null where the data decide it.
static Type elementAfter(Builder &b, const spec::Map &map, Type before) {
  switch (map.kind_case()) {
  case spec::Map::KIND_NOT_SET:
    if (!map.has_cast())
      return before;
    switch (map.cast()) {
    case spec::F32:
      return b.getF32Type();
    case spec::F64:
      return b.getF64Type();
    case spec::I32:
      return b.getI32Type();
    case spec::I64:
      return b.getI64Type();
    }
    return {};
  case spec::Map::kOneHot:
    return map.one_hot().classes() > 0 ? b.getF32Type() : Type();
  case spec::Map::kNormalize:
  case spec::Map::kStandardize:
    return b.getF32Type();
  case spec::Map::kTranspose:
  case spec::Map::kPad:
  case spec::Map::kCrop:
  case spec::Map::kRandomCrop:
  case spec::Map::kFlip:
    return before;
  default:
    return {};
  }
}

/// The fields whose types the maps decide, in data that are not there yet.
static std::map<std::string, MadeType> madeTypes(MLIRContext &context, const spec::Data &data) {
  Builder b(&context);
  std::map<std::string, MadeType> made;
  for (const spec::Stage &stage : data.stage()) {
    const spec::Map &map = stage.map();
    if (map.has_model())
      made.clear(); // it may replace any field
    for (const std::string &name : map.field()) {
      MadeType &type = made[name];
      type.element = elementAfter(b, map, type.element);
      if (map.has_one_hot())
        type.classes = map.one_hot().classes();
    }
    for (const spec::Ahead &ahead : stage.window().ahead())
      if (auto found = made.find(ahead.field()); found != made.end()) {
        MadeType type = found->second;
        made[ahead.name()] = type;
      }
  }
  std::erase_if(made, [](const auto &field) { return !field.second.element; });
  return made;
}

namespace {
/// Describes one block: turns the runtime's answer into diagnostics and a data set.
class Description {
public:
  Description(MLIRContext &context, const SpecFile &spec, const spec::Data &data,
              ArrayRef<SpecFile::Step> place, MapModels *models, const OnnxModel *model)
      : context(context), spec(spec), data(data), tree(data, "data", spec.placesIn(place)),
        models(models), knowsUses(model) {
    set.place = SmallVector<SpecFile::Step>(place);
    if (!model)
      return;
    // An input takes the field of its own name, or one that the spec names, like all other users.
    addStrings(spec.get(), uses);
    for (const std::string &input : model->inputNames())
      uses.insert(input);
  }

  FailureOr<DataSet> ask() {
    gradc_data_listener listener = {};
    listener.self = this;
    listener.problem = [](void *self, uint32_t value, const char *message) {
      auto *here = static_cast<Description *>(self);
      emitError(here->locationOf(value)) << message;
    };
    if (models)
      listener.model = [](void *self, uint32_t map, const gradc_data_shape *before,
                          gradc_data_made *made) {
        return int(static_cast<Description *>(self)->addModel(map, *before, *made));
      };
    listener.step = [](void *self, uint32_t map, const gradc_data_field *before,
                       const gradc_data_step *step) {
      static_cast<Description *>(self)->addStep(map, *before, *step);
    };
    listener.described = [](void *self, const gradc_data_shape *shape) {
      static_cast<Description *>(self)->take(*shape);
    };
    if (knowsUses)
      listener.uses = [](void *self, const char *name) {
        return int(static_cast<Description *>(self)->uses.contains(name));
      };
    uint32_t problems = gradc_data_describe(tree.values.data(), tree.strings.data(),
                                            spec.resolve("").c_str(), &listener);
    if (problems || !ok)
      return failure();
    if (!set.known)
      set.made = madeTypes(context, data);
    return set;
  }

private:
  Location locationOf(uint32_t value) const {
    auto [line, column] = tree.places[value];
    return line < 0 ? spec.at(set.place) : spec.at(line, column);
  }

  void take(const gradc_data_shape &shape) {
    set.file = shape.origin;
    set.known = shape.knows_fields;
    set.rows = shape.rows;
    set.whyUnknown = shape.why_unknown;
    set.buckets.assign(shape.buckets, shape.buckets + shape.bucket_count);
    set.fields.clear();
    for (const gradc_data_field &field : ArrayRef(shape.fields, shape.field_count))
      set.fields[field.name] = typeOf(field);
  }

  FieldType typeOf(const gradc_data_field &field) const {
    FieldType type{elementType(context, field.dtype), {}, field.classes, field.by_length != 0};
    for (int64_t dim : ArrayRef(field.shape, field.rank))
      type.shape.push_back(dim < 0 ? ShapedType::kDynamic : dim);
    return type;
  }

  /// A map as written in the spec, without its field: "resize { height: 32 width: 32 }"; or a
  /// window.
  std::string textOf(uint32_t stage) const {
    const google::protobuf::Message &written = *tree.messages[stage];
    std::unique_ptr<google::protobuf::Message> copy(written.New());
    copy->CopyFrom(written);
    bool isMap = written.GetDescriptor() == spec::Map::descriptor();
    if (isMap)
      static_cast<spec::Map &>(*copy).clear_field();
    google::protobuf::TextFormat::Printer printer;
    printer.SetSingleLineMode(true);
    std::string text;
    printer.PrintToString(*copy, &text);
    text = StringRef(text).rtrim().str();
    return isMap ? text : "window { " + text + " }";
  }

  void addStep(uint32_t map, const gradc_data_field &before, const gradc_data_step &step) {
    FieldSteps &field = set.steps[before.name];
    bool isNew = field.map != map;
    field.map = map;
    if (step.op == GRADC_DATA_RANDOM)
      return field.random.push_back(textOf(map));
    if (isNew && field.steps.empty())
      field.input = typeOf(before);
    if (isNew)
      field.maps.push_back(textOf(map));
    if (step.op == GRADC_DATA_OTHER)
      return beginBehind(field);
    auto list = [&](const auto *values, int64_t count) {
      return std::vector(values, values + (values ? count : 0));
    };
    int64_t from = step.weights ? before.shape[step.axis] : 0;
    field.steps.push_back({step.op, step.dtype, step.axis, step.count,
                           list(step.factors, step.count), list(step.offsets, step.count),
                           list(step.indices, step.count), list(step.weights, step.count * from),
                           step.key ? step.key : "", step.epsilon});
  }

  /// Restarts the list of steps: a model cannot apply the maps so far.
  static void beginBehind(FieldSteps &field) {
    llvm::append_range(field.before, field.maps);
    field.maps.clear();
    field.steps.clear();
  }

  bool addModel(uint32_t map, const gradc_data_shape &before, gradc_data_made &made) {
    take(before);
    auto stage = llvm::find_if(data.stage(), [&](const spec::Stage &one) {
      return one.has_map() && &one.map() == tree.messages[map];
    });
    SmallVector<SpecFile::Step> place(set.place);
    place.append({{"stage", int(stage - data.stage().begin())}, "map", "model"});
    const std::map<std::string, FieldType> *fields =
        models->add(set, data, stage->map().model(), place, before.batch);
    ok &= fields != nullptr;
    if (!fields)
      return false;
    madeFields.clear();
    for (const auto &[name, field] : *fields) {
      FieldSteps &steps = set.steps[name];
      steps.maps.push_back("model { file: \"" + stage->map().model().file() + "\" }");
      beginBehind(steps);
      madeFields.push_back({name.c_str(), dtypeOf(field.element), uint32_t(field.shape.size()),
                            field.shape.data(), 0, 0});
    }
    made = {madeFields.data(), uint32_t(madeFields.size())};
    return true;
  }

  MLIRContext &context;
  const SpecFile &spec;
  const spec::Data &data;
  SpecTree tree;
  MapModels *models;
  bool knowsUses;
  llvm::StringSet<> uses; ///< names that fields in use may have
  DataSet set;
  std::vector<gradc_data_field> madeFields; ///< by the last model
  bool ok = true;
};
} // namespace

FailureOr<DataSet> gradc::describeData(MLIRContext &context, const SpecFile &spec,
                                       const spec::Data &data, ArrayRef<SpecFile::Step> place,
                                       MapModels *models, const OnnxModel *model) {
  return Description(context, spec, data, place, models, model).ask();
}

FailureOr<std::vector<DataSet>> gradc::describeTrainingData(MLIRContext &context,
                                                            const SpecFile &spec, MapModels *models,
                                                            const OnnxModel *model) {
  std::vector<FailureOr<DataSet>> found;
  for (const DataBlock &block : dataBlocks(spec.get()))
    found.push_back(describeData(context, spec, *block.data, block.place, models, model));
  std::vector<DataSet> sets;
  for (FailureOr<DataSet> &set : found)
    if (succeeded(set))
      sets.push_back(std::move(*set));
  if (sets.size() != found.size())
    return failure();
  return sets;
}
