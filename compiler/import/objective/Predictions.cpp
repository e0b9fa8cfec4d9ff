// Reads losses, and checks whether the model ends in their activation.
#include "dialects/Pch.h"

#include "compiler/import/objective/Predictions.h"

namespace gradc {

/// The op that computes the value, looking through ops that only pass it on.
static std::string producer(const onnx::GraphProto &graph, std::string value) {
  for (int i = graph.node_size(); i-- > 0;) {
    const onnx::NodeProto &node = graph.node(i);
    if (node.output_size() == 0 || node.output(0) != value)
      continue;
    if (node.op_type() != "Identity")
      return node.op_type();
    value = node.input(0);
  }
  return "";
}

static Prediction predictionOf(const spec::Loss &loss) {
  switch (loss.kind_case()) {
  case spec::Loss::kSoftmaxCrossEntropy:
    return {loss.softmax_cross_entropy().logits(), loss.softmax_cross_entropy().labels(),
            "SOFTMAX"};
  case spec::Loss::kBinaryCrossEntropy:
    return {loss.binary_cross_entropy().logits(), loss.binary_cross_entropy().targets(), "SIGMOID"};
  case spec::Loss::kFocal:
    return loss.focal().has_labels()
               ? Prediction{loss.focal().logits(), loss.focal().labels(), "SOFTMAX"}
               : Prediction{loss.focal().logits(), loss.focal().targets(), "SIGMOID"};
  default:
    return {};
  }
}

std::vector<Prediction> describePredictions(const spec::Training &training,
                                            const onnx::GraphProto &graph) {
  std::vector<Prediction> found, predictions;
  for (const spec::Loss &loss : training.loss())
    found.push_back(predictionOf(loss));
  for (const spec::Teacher &teacher : training.teacher()) // whose classes have no labels
    found.push_back({teacher.has_logits() ? teacher.logits() : teacher.output(), "", "SOFTMAX"});
  for (Prediction &prediction : found) {
    bool isOutput = llvm::any_of(graph.output(), [&](const onnx::ValueInfoProto &output) {
      return output.name() == prediction.output;
    });
    bool isKnown = llvm::any_of(
        predictions, [&](const Prediction &other) { return other.output == prediction.output; });
    if (!isOutput || isKnown)
      continue;
    std::string op = producer(graph, prediction.output);
    if (prediction.form == "SOFTMAX" && op == "Softmax")
      prediction.form = "PROBABILITIES";
    if (prediction.form == "SIGMOID" && op == "Sigmoid")
      prediction.form = "PROBABILITY";
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

} // namespace gradc
