// Writes the data pipeline's maps of a model's fields into the model: as nodes, or as text in its
// metadata.
#ifndef COMPILER_IMPORT_DATA_PREPROCESSING_H
#define COMPILER_IMPORT_DATA_PREPROCESSING_H

#include "compiler/import/data/TrainingData.h"
#include "compiler/import/onnx/model/ImportTypes.h"
#include "compiler/import/onnx/model/onnx.pb.h"

namespace gradc {

/// A graph input, and the field that feeds it.
struct FedInput {
  std::string input, field;
  const FieldSteps *steps; ///< null: no map changes the field
};

struct Preprocessing {
  std::map<std::string, std::string> fields; ///< by new graph input
  std::vector<FittedNumbers> fitted;
};

/// Makes the graph take fields as they are before their maps. New nodes compute each such input
/// from a new input named like the field, or FIELD_raw if the graph has that name. All nodes exist
/// in every operator set that the importer reads.
Preprocessing addPreprocessing(onnx::ModelProto &model, llvm::ArrayRef<FedInput> inputs);

/// Describes in the model's metadata how its inputs are made: "gradc.input.x" is "field 'images'
/// after cast: F32 scale: 0.0625". Returns a readable version: "x takes field 'images' after ...".
std::string describeInputs(onnx::ModelProto &model, llvm::ArrayRef<FedInput> inputs,
                           const Preprocessing *preprocessing);

/// Writes the categories of the training data into the model's metadata, as JSON arrays.
void describeCategories(onnx::ModelProto &model, const spec::Training &training);

} // namespace gradc

#endif
