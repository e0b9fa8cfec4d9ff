// The results of a model as lines of a CSV file: classes and scores if the loss defines them,
// otherwise values.
#ifndef RUNTIME_TRAIN_PREDICT_PREDICTIONTABLE_H
#define RUNTIME_TRAIN_PREDICT_PREDICTIONTABLE_H

#include "runtime/core/Session.h"
#include "runtime/data/Pipeline.h"

namespace gradc::runtime {

class PredictionTable {
public:
  /// `state`: provides the names of classes. `rowTitle`: the title of the first column.
  PredictionTable(const Artifact &artifact, const gradc_artifact_entry &entry,
                  const DataState &state, std::string_view rowTitle);

  /// Where the entry writes the results of a batch.
  std::vector<void *> places();
  /// Whether all results of the first `rows` rows of the last batch are finite.
  bool isFinite(int64_t rows) const;
  /// Appends the line for row `row` of the last batch to `out`.
  void addLine(std::string &out, std::string_view rowName, int64_t row);

  const std::string &header() const { return titles; }
  /// For the user, for example "the class and 10 scores".
  const std::string &content() const { return what; }

private:
  enum class Form { values, softmax, probabilities, sigmoid, binary };
  struct Output {
    Form form = Form::values;
    gradc_dtype dtype = GRADC_F32;
    size_t elements = 1; ///< of a row
    bool isBatched = false;
    std::vector<std::string> classes; ///< their names
    std::vector<std::byte> bytes;
  };
  void addTitles(const Output &output, const std::string &prefix);
  void addValues(std::string &out, const Output &output, int64_t row);

  std::vector<Output> outputs;
  std::vector<double> numbers;
  std::string titles, what;
};

} // namespace gradc::runtime

#endif
