// The importer: turns an ONNX model, alone or with its training spec, into a module of grad IR.
#ifndef COMPILER_IMPORT_IMPORT_H
#define COMPILER_IMPORT_IMPORT_H

#include "compiler/import/onnx/model/ImportTypes.h"
#include "compiler/import/spec/training.pb.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace gradc {

/// The facts about a data block that are known at compile time.
struct DataSummary {
  std::string origin;
  int64_t rows; ///< that an epoch visits; -1: unknown
  std::string whyUnknown;
};

/// An output of class scores, and the field of their labels.
struct Prediction {
  std::string output, labels;
  std::string form; ///< SOFTMAX or SIGMOID make them probabilities; PROBABILITIES, PROBABILITY are
};

struct Imported {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The ONNX file with external data inlined, into which the trained model is exported. Each of
  /// several tied initializers has its own range.
  std::string modelBytes;
  std::vector<InitializerRange> ranges;
  std::optional<spec::Training> spec;
  /// The entries of the spec's map models, in the spec's order.
  std::vector<std::string> mapEntries = {};
  /// One verdict per initializer, in the model's order.
  std::vector<Verdict> verdicts;
  /// The training data, then the data of the evaluation and of its sets if the spec has any.
  std::vector<DataSummary> data = {};
  /// Data files of the spec that did not exist and so could not be compared with the model.
  std::vector<std::string> missingData = {};
  /// Graph inputs whose given values a node has read at compile time: constants of @forward.
  std::set<std::string> boundInputs = {};
  /// Graph inputs that no output of @forward depends on: they are none of its arguments.
  std::set<std::string> unreadInputs = {};
  /// The nodes of @forward whose results were known at compile time.
  std::set<std::string> foldedNodes = {};
  /// Files read besides the model itself: those with its tensors, and the model of a spec of
  /// gradients.
  std::vector<std::string> externalFiles = {};
  /// A readable description of how the exported model's inputs are made; empty if they are plain
  /// fields.
  std::string exportedInputs = {};
  /// Readable notes on signs that the exporter has left out parts that training needs.
  std::vector<std::string> notes = {};
  /// Values that the run finds in its data for the exported model; initializers are named by the
  /// symbols of their states.
  std::vector<FittedNumbers> fitted = {};
  std::vector<Prediction> predictions = {};
  /// The last steps that renew masks of pruned parameters, by the symbol of the state that counts
  /// them; "": steps of the run.
  std::map<std::string, int64_t> pruningEnds = {};
  /// If `modelBytes` is a model in two files: the number of bytes of the graph (the rest are the
  /// weights), and the positions in it that name the weights file. 0 for one file.
  uint64_t graphBytes = 0;
  std::vector<uint64_t> locations = {};
  /// The name of the spec's file, without its folder.
  std::string specFile = {};

  /// Whether entries have gradients, because of a training spec or a spec of gradients. Valid until
  /// the module is moved into a program.
  bool differentiates() const;
  /// Whether the run decodes pictures, which requires libraries.
  bool decodesPictures() const;
  /// Whether the data need what only the full runner has: TFRecords, tokens, maps of pictures,
  /// windows, samplers, mixed batches.
  bool hasRareData() const;
  /// Whether any table is Parquet, which requires the plug-in.
  bool readsParquet() const;
};

/// Imports a model for inference: @forward, and @forward.rows.N for each bucket below its batch.
/// The latter is kept if @forward takes any number of rows. All problems are MLIR diagnostics.
mlir::FailureOr<Imported> importModel(mlir::MLIRContext &context, llvm::StringRef onnxPath,
                                      const ImportOptions &options = {});

/// Imports a training job: @train and @evaluate, their `.tail` for a smaller last batch, and
/// @forward. For a spec that asks for gradients, imports @gradients.
mlir::FailureOr<Imported> importTraining(mlir::MLIRContext &context, llvm::StringRef specPath,
                                         const ImportOptions &options = {});

} // namespace gradc

#endif
