// Converts the numbers of each output to cells.
#include "runtime/train/predict/PredictionTable.h"

#include "runtime/base/DataType.h"
#include "runtime/base/Text.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/artifact/Config.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/data/ClassNames.h"
#include "runtime/data/source/CsvText.h"
#include "runtime/data/stage/Stages.h"
#include "runtime/data/transform/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gradc::runtime {

/// Appends a cell to a line.
static void addCell(std::string &line, std::string_view cell) {
  if (!line.empty() && line.back() != '\n')
    line += ',';
  appendCell(line, cell, ',');
}

template <typename Integer> static std::string integer(const std::byte *element) {
  Integer value;
  std::memcpy(&value, element, sizeof value);
  return text(value);
}

/// An output's element as text. Integers of 64 bits have all their digits: a double holds only
/// those below 2^53.
static std::string number(gradc_dtype dtype, const std::byte *element) {
  if (dtype == GRADC_I64)
    return integer<int64_t>(element);
  if (dtype == GRADC_U64)
    return integer<uint64_t>(element);
  double value = elementAsDouble(dtype, element);
  if (!findDataType(dtype)->floating && std::isfinite(value))
    return text(int64_t(value));
  return dtype == GRADC_F64 ? text(value) : text(float(value));
}

/// The sum of the offsets that the data's maps add to a field of labels, such as -1 for labels that
/// count from 1. 0 if a map also scales the field.
static int64_t labelOffset(Config job, std::string_view field) {
  double offset = 0;
  for (Config map : job.child("data").children("map"))
    if (std::ranges::count(mappedFields(map), field)) {
      if (map.real("scale", 1) != 1)
        return 0;
      offset += map.real("offset", 0);
    }
  return std::abs(offset) < 0x1p53 ? int64_t(offset) : 0;
}

/// The classes of labels by number: their names, or the labels themselves where classes are
/// numbered otherwise; empty: their numbers.
static std::vector<std::string> namesOfClasses(Config job, const DataState &state,
                                               std::string_view labels, size_t count) {
  std::vector<std::string> names = classNames(state, labels);
  int64_t offset = labelOffset(job, labels);
  if (offset == 0)
    return names;
  std::vector<std::string> moved(count);
  for (size_t i = 0; i < count; ++i) {
    int64_t label = int64_t(i) - offset;
    moved[i] = uint64_t(label) < names.size() ? names[size_t(label)] : text(label);
  }
  return moved;
}

PredictionTable::PredictionTable(const Artifact &artifact, const gradc_artifact_entry &entry,
                                 const DataState &state, std::string_view rowTitle) {
  addCell(titles, rowTitle);
  Config job = Config::job(artifact);
  std::vector<Config> predictions = job.children("prediction");
  std::vector<gradc_artifact_port> ports;
  for (const auto &port : artifact.elements<gradc_artifact_port>(entry.outputs))
    if (isGiven(port))
      ports.push_back(port);
  for (const gradc_artifact_port &port : ports) {
    std::string name(artifact.string(port.tensor.name));
    Output &output = outputs.emplace_back();
    output.dtype = gradc_dtype(port.tensor.dtype);
    output.bytes.resize(port.tensor.bytes);
    output.elements = port.tensor.bytes / findDataType(port.tensor.dtype)->bytes;
    auto shape = artifact.elements<int64_t>(port.tensor.shape);
    // If the number of rows is fixed, no port is marked.
    output.isBatched =
        port.batched || (!entry.any_rows && !shape.empty() && shape.front() == entry.batch);
    if (output.isBatched)
      output.elements /= size_t(entry.batch);
    for (Config prediction : predictions)
      if (std::string_view form = prediction.string("form");
          prediction.string("output") == name && shape.size() <= 2 && output.isBatched) {
        output.form = form == "SOFTMAX"         ? Form::softmax
                      : form == "PROBABILITIES" ? Form::probabilities
                      : form == "SIGMOID"       ? Form::sigmoid
                                                : Form::binary;
        output.classes = namesOfClasses(job, state, prediction.string("labels"),
                                        std::max<size_t>(output.elements, 2));
      }
    addTitles(output, ports.size() > 1 ? name : "");
  }
  titles += '\n';
}

/// If there are several outputs, their columns include the output's name.
void PredictionTable::addTitles(const Output &output, const std::string &prefix) {
  auto title = [&](std::string_view name) {
    addCell(titles, prefix.empty() ? std::string(name) : text(prefix, '_', name));
  };
  what += what.empty() ? "" : ", ";
  bool hasClasses = output.form == Form::softmax || output.form == Form::probabilities;
  if (output.form != Form::values && (hasClasses || output.elements == 1)) {
    title("class");
    title("score");
    what +=
        hasClasses ? text("the class and ", output.elements, " scores") : "the class and its score";
  } else {
    what += output.elements == 1 ? std::string("a value") : text(output.elements, " values");
    if (output.elements == 1)
      addCell(titles, prefix.empty() ? "value" : prefix);
  }
  if (output.elements == 1 && !hasClasses)
    return;
  for (size_t i = 0; i < output.elements; ++i)
    title(text(output.form == Form::values ? "value_" : "score_",
               i < output.classes.size() && hasClasses ? output.classes[i] : text(i)));
}

std::vector<void *> PredictionTable::places() {
  std::vector<void *> places;
  for (Output &output : outputs)
    places.push_back(output.bytes.data());
  return places;
}

bool PredictionTable::isFinite(int64_t rows) const {
  return std::ranges::none_of(outputs, [&](const Output &output) {
    std::span<const std::byte> bytes = output.bytes;
    if (output.isBatched)
      bytes = bytes.first(size_t(rows) * output.elements * findDataType(output.dtype)->bytes);
    return firstNonFinite(bytes, output.dtype).has_value();
  });
}

void PredictionTable::addLine(std::string &out, std::string_view rowName, int64_t row) {
  std::string line;
  addCell(line, rowName);
  for (const Output &output : outputs)
    addValues(line, output, row);
  out += line;
  out += '\n';
}

void PredictionTable::addValues(std::string &out, const Output &output, int64_t row) {
  size_t first = output.isBatched ? size_t(row) * output.elements : 0;
  size_t width = findDataType(output.dtype)->bytes;
  auto element = [&](size_t i) { return output.bytes.data() + (first + i) * width; };
  if (output.form == Form::values) {
    for (size_t i = 0; i < output.elements; ++i)
      addCell(out, number(output.dtype, element(i)));
    return;
  }
  numbers.resize(output.elements);
  for (size_t i = 0; i < output.elements; ++i)
    numbers[i] = elementAsDouble(output.dtype, element(i));

  if (output.form == Form::softmax) {
    double most = *std::ranges::max_element(numbers), sum = 0;
    for (double &value : numbers)
      sum += value = std::exp(value - most);
    for (double &value : numbers)
      value /= sum;
  } else if (output.form == Form::sigmoid) {
    for (double &value : numbers)
      value = 1 / (1 + std::exp(-value));
  }

  auto score = [&](double value) { addCell(out, text(float(value))); };
  bool hasClasses = output.form == Form::softmax || output.form == Form::probabilities;
  if (hasClasses) {
    auto best = size_t(std::ranges::max_element(numbers) - numbers.begin());
    addCell(out, best < output.classes.size() ? output.classes[best] : text(best));
    score(numbers[best]);
  } else if (output.elements == 1) {
    size_t best = numbers[0] > 0.5;
    addCell(out, best < output.classes.size() ? output.classes[best] : text(best));
    return score(numbers[0]);
  }
  for (double value : numbers)
    score(value);
}

} // namespace gradc::runtime
