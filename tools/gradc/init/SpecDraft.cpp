// Chooses loss, split, batch, and optimizer, and writes the spec's text.
#include "tools/gradc/init/SpecDraft.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "tools/gradc/init/DraftFields.h"
#include "tools/gradc/init/OutputShape.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

namespace gradc {
using namespace runtime;

namespace {

DraftPort readPort(const onnx::ValueInfoProto &value) {
  const auto &type = value.type().tensor_type();
  DraftPort port = {value.name(), gradc_dtype(type.elem_type())};
  for (const auto &dim : type.shape().dim()) {
    port.shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    port.symbols.push_back(dim.dim_param());
  }
  port.isLoss = type.has_shape() && port.shape.empty();
  if (!port.shape.empty()) {
    port.batch = port.shape.front();
    port.shape.erase(port.shape.begin());
    port.symbols.erase(port.symbols.begin());
  }
  return port;
}

bool isOpen(const DraftPort &port) {
  return std::ranges::any_of(port.shape, [](int64_t dim) { return dim < 0; });
}

/// The model with the output's dims that the data determine: because an input has them, too, or
/// because they follow from the inputs.
DraftModel withExtents(mlir::MLIRContext &context, DraftModel model, const DraftParts &parts) {
  DraftPort &output = model.output;
  for (size_t dim = 0; dim < output.shape.size(); ++dim)
    if (auto known = parts.extents.find(output.symbols[dim]);
        output.shape[dim] < 0 && known != parts.extents.end())
      output.shape[dim] = known->second;
  if (isOpen(output))
    if (auto inferred = inferOutput(context, model, parts.rowShapes))
      output.shape = std::move(*inferred);
  return model;
}

/// A loss, a metric, and the reason for them.
struct Objective {
  std::string loss, metric, why;
  std::string map = {};   ///< of the target, before it is learned
  bool isClasses = false; ///< of one label a row
};

class Draft {
public:
  Draft(const DraftModel &model, const LookedData &data, DraftParts parts)
      : model(model), data(data), parts(std::move(parts)) {}

  /// `results`: what the names of the run's files begin with.
  Result<std::string> text(const std::string &modelPath, const std::string &results);

private:
  Result<Objective> findObjective() const;
  Result<Objective> ofClasses(int64_t classes) const;
  Result<Objective> ofOneNumber() const;
  Objective regression(std::string_view why) const;
  Status noLoss(std::string_view why) const;
  std::string dataBlock(const Objective &objective, bool isHeldOut,
                        const std::string &indent) const;

  int64_t trainedRows() const {
    return parts.rows - std::llround(heldShare() * double(parts.rows));
  }
  /// Whether the model takes only batches of one size.
  bool isFixed() const {
    return std::ranges::any_of(model.inputs, [](const DraftPort &port) { return port.batch > 0; });
  }
  /// The trained rows that have a label, in proportion: the others are skipped.
  int64_t learnedRows() const {
    double labeled = double(parts.rows - parts.target.missing) / double(parts.rows);
    return int64_t(labeled * double(trainedRows()));
  }
  double heldShare() const;
  int64_t batch() const;

  const DraftModel &model;
  const LookedData &data;
  DraftParts parts;
};

Status Draft::noLoss(std::string_view why) const {
  return Status::invalid(runtime::text("no loss fits output ", model.output.describe(),
                                       " and field ", parts.target.describe(), " of '", data.path,
                                       "': ", why));
}

Objective Draft::regression(std::string_view why) const {
  std::string names = runtime::text("predictions: ", inQuotes(model.output.name),
                                    "  targets: ", inQuotes(parts.target.name));
  return {runtime::text("mean_squared_error { ", names, " }"),
          runtime::text("mean_absolute_error { ", names, " }"), std::string(why)};
}

/// For an output with a score per class.
Result<Objective> Draft::ofClasses(int64_t classes) const {
  const LookedField &target = parts.target;
  constexpr double ignored = -100; // the default of PyTorch's cross-entropy
  bool isPadded =
      !target.isText && target.isWhole && target.least == ignored && target.hasOneNegative;
  std::string names =
      runtime::text("logits: ", inQuotes(model.output.name), "  labels: ", inQuotes(target.name),
                    isPadded ? runtime::text("  ignore_index: ", ignored) : "");
  Objective objective = {runtime::text("softmax_cross_entropy { ", names, " }"),
                         runtime::text("accuracy { ", names, " }"), "", "", target.isScalar()};
  auto most = int64_t(target.most);
  if (target.isText) {
    if (int64_t(target.texts.size()) > classes)
      return noLoss(runtime::text("there are ", target.texts.size(), " different texts and ",
                                  classes, " scores"));
    objective.why =
        runtime::text(target.texts.size(), " different texts, ", classes, " scores a row");
    return objective;
  }
  if (!target.isWhole)
    return noLoss(runtime::text("labels of ", classes, " classes are integers"));
  double least = isPadded ? 0 : target.least;
  objective.why =
      runtime::text("labels from ", int64_t(least), " to ", most, ", ",
                    isPadded ? "-100 where there is none, " : "", classes, " scores a row");
  bool isFromOne = target.least == 1 && most == classes;
  if (!isFromOne && (least < 0 || most >= classes))
    return noLoss(runtime::text("labels run from ", target.least, " to ", target.most,
                                ", expected 0 to ", classes - 1));
  bool isFloat = findDataType(target.dtype)->floating;
  if (isFromOne)
    objective.map = runtime::text("map { field: ", inQuotes(target.name),
                                  "  cast: I64  offset: -1 } }  # classes count from 0");
  else if (isFloat)
    objective.map = runtime::text("map { field: ", inQuotes(target.name), "  cast: I64 } }");
  objective.isClasses &= !isFloat;
  return objective;
}

/// For an output with one number per row: a yes/no score, or a value.
Result<Objective> Draft::ofOneNumber() const {
  const LookedField &target = parts.target;
  bool isBinary = target.isText ? target.texts.size() == 2
                                : target.isWhole && target.least >= 0 && target.most <= 1;
  if (target.isText && !isBinary)
    return noLoss(
        runtime::text("one number a row tells 2 texts apart, and there are ", target.texts.size()));
  if (!isBinary)
    return regression(runtime::text("numbers from ", target.least, " to ", target.most));
  std::string output = inQuotes(model.output.name), field = inQuotes(target.name);
  Objective objective = {
      runtime::text("binary_cross_entropy { logits: ", output, "  targets: ", field, " }"),
      runtime::text("accuracy { logits: ", output, "  labels: ", field, " }"),
      target.isText ? "2 different texts, one score a row; for numbers, mean_squared_error"
                    : "0 and 1, one score a row; if these are amounts, mean_squared_error"};
  objective.isClasses = target.isText || !findDataType(target.dtype)->floating;
  return objective;
}

Result<Objective> Draft::findObjective() const {
  const DraftPort &output = model.output;
  const LookedField &target = parts.target;
  if (output.isLoss)
    return Objective{runtime::text("scalar: ", inQuotes(output.name)), "", "the model computes it"};
  if (target.name.empty())
    return Status::invalid(runtime::text("no field of '", data.path,
                                         "' is left to be learned by output ", output.describe()));
  std::vector<int64_t> shape = output.shape;
  if (isOpen(output))
    return noLoss("the model does not say the output's size; onnx.shape_inference may find it");
  auto count = [](const std::vector<int64_t> &dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies());
  };
  if (target.isScalar() && count(shape) == 1)
    return ofOneNumber();
  std::vector<int64_t> places(shape.begin(), shape.end() - !shape.empty());
  if (!shape.empty() && shape.back() > 1 &&
      (places == target.shape || (places.empty() && target.isScalar())))
    return ofClasses(shape.back());
  if (count(shape) == count(target.shape))
    return regression("as many numbers a row as the output has");
  return noLoss("they differ in the numbers of a row");
}

/// The share of the rows that is for evaluation: a fifth, or as much as makes one batch if the
/// model takes no smaller one.
double Draft::heldShare() const {
  if (!isFixed())
    return 0.2;
  // Rows without a label are skipped: all of them, or a second batch, make up for those held out.
  int64_t oneBatch = batch() + std::min(parts.target.missing, batch());
  return std::max(0.2, std::ceil(100 * double(oneBatch) / double(parts.rows)) / 100);
}

int64_t Draft::batch() const {
  for (const DraftPort &port : model.inputs)
    if (port.batch > 0)
      return port.batch;
  int64_t size = 8;
  while (size < 64 && size * 80 <= trainedRows())
    size *= 2;
  return std::min(size, trainedRows());
}

std::string Draft::dataBlock(const Objective &objective, bool isHeldOut,
                             const std::string &indent) const {
  std::string in = "\n" + indent + "  ";
  std::string source = parts.source;
  for (size_t at = 0; (at = source.find("\n  ", at)) != source.npos; at += indent.size() + 1)
    source.insert(at + 1, indent);
  std::string skips;
  if (parts.target.missing > 0)
    skips = in + "on_error: SKIP" +
            (isHeldOut ? ""
                       : runtime::text("  # ", runtime::RowCount{parts.target.missing},
                                       " without a value in ", inQuotes(parts.target.name)));
  bool byLabel = objective.isClasses && int64_t(parts.target.texts.size()) * 4 <= parts.rows;
  std::string block = "data {" + skips + in + "source {" + in + "  " + source + in +
                      "  split { fraction: " + runtime::text(heldShare()) + "  seed: 1" +
                      (byLabel ? "  stratify: " + inQuotes(parts.target.name) : "") +
                      (isHeldOut ? "  held_out: true" : "") + " }" +
                      (isHeldOut            ? ""
                       : heldShare() == 0.2 ? "  # a fifth of the rows is for evaluation"
                                            : "  # a batch of the rows is for evaluation") +
                      in + "}";
  std::vector<std::string> maps = parts.maps;
  if (!objective.map.empty())
    maps.push_back(objective.map);
  for (const std::string &map : maps)
    block += in + "stage { " + map.substr(0, isHeldOut ? map.find("  #") : map.npos);
  if (!isHeldOut)
    block += in + "stage { shuffle {} }";
  block += in + "stage { batch { size: " + std::to_string(batch()) +
           (isFixed() ? "  drop_remainder: true" : "") + " } }" +
           (isFixed() && !isHeldOut ? "  # the model takes no other batch" : "") + in +
           "stage { prefetch {} }";
  return block + "\n" + indent + "}";
}

Result<std::string> Draft::text(const std::string &modelPath, const std::string &results) {
  auto objective = findObjective();
  if (!objective)
    return objective.status();
  if (parts.rows < 5 || (isFixed() ? learnedRows() : trainedRows()) < batch())
    return Status::invalid(runtime::text("'", data.path, "' has ", runtime::RowCount{parts.rows},
                                         ", expected enough for a batch of ",
                                         std::max<int64_t>(batch(), 4), " and ",
                                         isFixed() ? "one" : "a fifth", " for evaluation"));
  std::string out = "# A first draft, by gradc init. Guesses say so; `gradc check` describes "
                    "the job.\n";
  for (const std::string &note : parts.notes)
    out += "# " + note + "\n";
  out += "model: " + inQuotes(modelPath) + "\n";
  for (const auto &[input, field] : parts.feeds)
    if (input != field)
      out += "feed { input: " + inQuotes(input) + "  field: " + inQuotes(field) + " }\n";
  std::string about = parts.target.name.empty() ? "" : inQuotes(parts.target.name) + ": ";
  out += "# " + about + objective->why + ".\nloss { " + objective->loss + " }\n";
  if (!objective->metric.empty())
    out += "metric { " + objective->metric + " }\n";
  int64_t steps = std::max<int64_t>(trainedRows() / batch(), 1),
          epochs = std::clamp<int64_t>(1000 / steps, 5, 50);
  out += "optimizer { adam { learning_rate: 1e-3 } }  # --find-learning-rate of the trainer looks "
         "for another\n";
  out += dataBlock(*objective, false, "") + "\nevaluation {\n  " +
         dataBlock(*objective, true, "  ") + "\n}\n";
  out += runtime::text("epochs: ", epochs,
                       "\nseed: 1\ncheckpoint { directory: ", inQuotes(results + "run"), " }\n");
  std::string name = results + "trained.onnx";
  if (std::filesystem::path(modelPath).filename() == name)
    name = results + "retrained.onnx";
  out += "export { onnx: " + inQuotes(name) +
         (parts.standardizes ? "  preprocessing: true }  # takes numbers as the data have them\n"
                             : " }\n");
  return out;
}

} // namespace

std::string DraftPort::describe() const {
  const runtime::DataType *type = findDataType(dtype);
  std::string dims = batch > 0 ? std::to_string(batch) : "N";
  for (int64_t dim : shape)
    dims += dim < 0 ? ", ?" : ", " + std::to_string(dim);
  return inQuotes(name) + " " + (type ? type->name : "?") + (isLoss ? " []" : " [" + dims + "]");
}

Result<DraftModel> readDraftModel(const OnnxModel &model, std::string path) {
  DraftModel draft = {std::move(path), {}, {}};
  for (const std::string &name : model.inputNames())
    for (const onnx::ValueInfoProto &input : model.graph().input())
      if (input.name() == name)
        draft.inputs.push_back(readPort(input));
  if (draft.inputs.empty() || model.graph().output().empty())
    return Status::invalid(
        text("expected a model with inputs and outputs, '", draft.path, "' has none"));
  draft.output = readPort(model.graph().output(0));
  for (const DraftPort &port : draft.inputs)
    if (!findDataType(port.dtype))
      return Status::invalid(
          text("graph input '", port.name, "' of '", draft.path, "' is of no type that data have"));
  return draft;
}

Result<std::string> draftSpec(mlir::MLIRContext &context, const DraftModel &model,
                              const LookedData &data, const std::string &path) {
  std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::string spec = std::filesystem::path(path).stem().string();
  auto from = [&](const std::string &path) {
    return std::filesystem::proximate(std::filesystem::absolute(path), folder).string();
  };
  auto find = data.kind == LookedData::Kind::csv      ? findTableParts
              : data.kind == LookedData::Kind::folder ? findPictureParts
                                                      : findArrayParts;
  auto parts = find(model, data, from(data.path));
  if (!parts)
    return parts.status();
  DraftModel known = withExtents(context, model, *parts);
  return Draft(known, data, std::move(*parts))
      .text(from(model.path), spec == "train" ? "" : spec + "-");
}

} // namespace gradc
