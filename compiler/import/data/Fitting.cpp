// Completes the csv fields of a spec with values found in their rows.
#include "dialects/Pch.h"

#include "compiler/import/data/TrainingData.h"

using namespace mlir;
using namespace gradc;

static StringRef nameOf(const spec::CsvField &field) {
  return field.has_name() || field.column().empty() ? field.name() : field.column(0);
}

static bool asks(const spec::CsvField &field) {
  return field.has_fill() || (field.has_categories() && !field.categories().value_size());
}

namespace {
/// The training data's fields, while the runtime reads them.
struct Fitting {
  const SpecTree &tree;
  spec::Csv &csv;

  void take(uint32_t place, ArrayRef<const char *> texts, ArrayRef<double> numbers) {
    for (spec::CsvField &field : *csv.mutable_field()) {
      if (&field != tree.messages[place])
        continue;
      for (const char *text : texts)
        field.mutable_categories()->add_value(text);
      for (double number : numbers)
        field.add_missing(number);
    }
  }
  /// The message of an error, and the value that it is about; 0: the source.
  std::string problem = {};
  uint32_t place = 0;
};
} // namespace

/// Copies the values found in the training data to those at `place`.
static LogicalResult copyFitted(const SpecFile &spec, const spec::Csv &from, spec::Csv &to,
                                ArrayRef<SpecFile::Step> place) {
  bool ok = true;
  for (auto [i, field] : llvm::enumerate(*to.mutable_field())) {
    if (!asks(field))
      continue;
    auto fitted = llvm::find_if(
        from.field(), [&](const spec::CsvField &one) { return nameOf(one) == nameOf(field); });
    if (fitted == from.field().end() || fitted->has_categories() != field.has_categories() ||
        (field.has_fill() && !fitted->has_fill() && fitted->missing().empty())) {
      SmallVector<SpecFile::Step> at(place);
      at.append({"source", "csv", {"field", int(i)}});
      emitError(spec.at(at))
          << "field \"" << nameOf(field)
          << "\" takes values found in the data to train on, which have no such field";
      ok = false;
      continue;
    }
    if (field.has_categories() && !field.categories().value_size())
      *field.mutable_categories()->mutable_value() = fitted->categories().value();
    if (field.has_fill())
      *field.mutable_missing() = fitted->missing();
    field.clear_fill();
  }
  return success(ok);
}

/// Reads the training rows.
static LogicalResult fitTrained(const SpecFile &spec, const spec::Data &data, spec::Csv &csv) {
  auto asking = llvm::find_if(csv.field(), asks);
  if (asking == csv.field().end())
    return success();
  Location where = spec.at({"data", "source", "csv", {"field", int(asking - csv.field().begin())}});
  SpecTree tree(data, "data", spec.placesIn({"data"}));
  Fitting fitting{tree, csv};
  int code = gradc_data_fit(
      tree.values.data(), tree.strings.data(), spec.resolve("").c_str(), &fitting,
      [](void *self, uint32_t field, uint32_t count, const char *const *texts,
         const double *numbers) {
        static_cast<Fitting *>(self)->take(field, ArrayRef(texts, texts ? count : 0),
                                           ArrayRef(numbers, numbers ? count : 0));
      },
      [](void *self, uint32_t value, const char *message) {
        static_cast<Fitting *>(self)->problem = message;
        static_cast<Fitting *>(self)->place = value;
      });
  if (!code)
    return success();
  // Rows and split choose the rows; neither categories nor fill are to blame.
  bool isField = llvm::any_of(csv.field(), [&](const spec::CsvField &field) {
    return &field == tree.messages[fitting.place];
  });
  if (auto [line, column] = tree.places[fitting.place]; fitting.place && line >= 0)
    where = spec.at(line, column);
  InFlightDiagnostic error = emitError(where) << fitting.problem;
  constexpr int wrongBlock = 3;
  if (code != wrongBlock && (!fitting.place || isField))
    error.attachNote() << "categories and fill values are found in the data to train on when "
                          "the job is compiled; without these data list categories { value } and "
                          "missing";
  return failure();
}

LogicalResult gradc::fitColumns(SpecFile &spec) {
  spec::Training &training = spec.edit();
  spec::Csv none, *trained = &none;
  if (training.data().source().has_csv())
    trained = training.mutable_data()->mutable_source()->mutable_csv();
  if (llvm::any_of(trained->field(), asks) && failed(fitTrained(spec, training.data(), *trained)))
    return failure();
  bool ok = true;
  for (auto [block, data] : llvm::zip(dataBlocks(training), editDataBlocks(training)))
    if (data != &training.data() && data->source().has_csv())
      ok &= succeeded(
          copyFitted(spec, *trained, *data->mutable_source()->mutable_csv(), block.place));
  for (spec::CsvField &field : *trained->mutable_field())
    field.clear_fill();
  return success(ok);
}
