// The data pipeline's maps of the fields of a model, written into the model: as nodes before it,
// or as words in its metadata.
#ifndef COMPILER_IMPORT_PREPROCESSING_H
#define COMPILER_IMPORT_PREPROCESSING_H

#include "compiler/import/data/TrainingData.h"
#include "compiler/import/onnx/ImportTypes.h"
#include "compiler/import/onnx/onnx.pb.h"

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

/// Makes the graph take its fields as they are before their maps: each such input is computed by
/// new nodes from a new one, named as the field or, where the graph has that name, FIELD_raw. All
/// nodes are in every operator set that the importer reads.
Preprocessing addPreprocessing(onnx::ModelProto &model, llvm::ArrayRef<FedInput> inputs);

/// Says in the model's metadata what its inputs are made of: "gradc.input.x" is "field 'images'
/// after cast: F32 scale: 0.0625". Returns the same for people: "x takes field 'images' after ...".
std::string describeInputs(onnx::ModelProto &model, llvm::ArrayRef<FedInput> inputs,
                           const Preprocessing *preprocessing);

/// Writes the categories of the data to train on into the model's metadata, as JSON arrays.
void describeCategories(onnx::ModelProto &model, const spec::Training &training);

} // namespace gradc

#endif
