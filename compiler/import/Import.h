// The importer: an ONNX model, alone or with its training spec, becomes a module of grad IR.
#ifndef COMPILER_IMPORT_IMPORT_H
#define COMPILER_IMPORT_IMPORT_H

#include "compiler/import/onnx/ImportTypes.h"
#include "compiler/import/spec/training.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gradc {

/// A data block as far as compile time knows it.
struct DataSummary {
  std::string origin;
  int64_t rows; ///< that an epoch visits; -1: unknown
  std::string whyUnknown;
};

/// An output of scores, and the field of their labels.
struct Prediction {
  std::string output, labels;
  std::string form; ///< SOFTMAX or SIGMOID make them probabilities; PROBABILITIES, PROBABILITY are
};

struct Imported {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The ONNX file, external data inlined: what the trained model is exported into. Initializers
  /// that are tied have a range each.
  std::string modelBytes;
  std::vector<InitializerRange> ranges;
  std::optional<spec::Training> spec;
  /// The entries of the spec's map models, in their order.
  std::vector<std::string> mapEntries = {};
  /// One an initializer, in the model's order.
  std::vector<Verdict> verdicts;
  /// The data to train on, then those to evaluate on where the spec has them.
  std::vector<DataSummary> data = {};
  /// Data files of the spec that were not there to be compared with the model.
  std::vector<std::string> missingData = {};
  /// Graph inputs whose given values some node has read at compile time: constants of @forward.
  std::set<std::string> boundInputs = {};
  /// The nodes of @forward whose results were known at compile time.
  std::set<std::string> foldedNodes = {};
  /// Read besides the file itself: by the model's tensors; the model of a spec of gradients.
  std::vector<std::string> externalFiles = {};
  /// The composition of the exported model's inputs, for people; empty: fields as they are.
  std::string exportedInputs = {};
  /// For people: signs that the exporter has left out what training needs.
  std::vector<std::string> notes = {};
  /// Values that the run finds in its data for the exported model; initializers by their states'
  /// symbols.
  std::vector<FittedNumbers> fitted = {};
  std::vector<Prediction> predictions = {};
  /// Where `modelBytes` are a model of two files: how many bytes are the graph, the others being
  /// the weights; and the places in it that name their file. 0: one file.
  uint64_t graphBytes = 0;
  std::vector<uint64_t> locations = {};

  /// Whether entries have gradients: of a training spec, or one that asks for them. Until the
  /// module is moved into a program.
  bool differentiates() const;
  /// Whether the run decodes pictures, for which it needs libraries.
  bool decodesPictures() const;
  /// Whether a map of its data is one of those for pictures.
  bool mapsPictures() const;
  /// Whether its tables are Parquet, for which it needs the plug-in.
  bool readsParquet() const;
};

/// Imports a model for inference: @forward, and for each bucket below its batch @forward.rows.N,
/// which stays where @forward takes any number of rows. All problems are MLIR diagnostics.
mlir::FailureOr<Imported> importModel(mlir::MLIRContext &context, llvm::StringRef onnxPath,
                                      const ImportOptions &options = {});

/// Imports a training job: @train and @evaluate, their `.tail` for a smaller last batch, @forward.
/// Of a spec that asks for gradients: @gradients.
mlir::FailureOr<Imported> importTraining(mlir::MLIRContext &context, llvm::StringRef specPath,
                                         const ImportOptions &options = {});

} // namespace gradc

#endif
