// Map stages given as ONNX models; each becomes an entry of the job's module.
#ifndef COMPILER_IMPORT_DATA_MAPMODELS_H
#define COMPILER_IMPORT_DATA_MAPMODELS_H

#include "compiler/import/data/TrainingData.h"
#include "compiler/import/onnx/ImportGraph.h"

namespace gradc {

/// Entries are named map.0, map.1, and so on, with `.tail` for a smaller last batch. Equal entries
/// of training and evaluation are shared.
class MapModels {
public:
  MapModels(const SpecFile &spec, mlir::SymbolTable &symbols) : spec(spec), symbols(symbols) {}

  /// Imports the model of a map block, given the set's fields before it. `batch`: the size of the
  /// batches that the model takes; 0 if it takes rows. Returns the fields that the model produces,
  /// or null after reporting all problems.
  const std::map<std::string, FieldType> *add(const DataSet &set, const spec::Data &data,
                                              const spec::MapModel &block,
                                              llvm::ArrayRef<SpecFile::Step> place, int64_t batch);
  /// The entries of the added blocks, in order.
  const std::vector<std::string> &entryNames() const { return names; }
  /// Must be called after all entries of the job: models are constants, and their entries come
  /// last.
  mlir::LogicalResult finish();

private:
  /// A file, shared by all stages that name it.
  struct Model {
    std::unique_ptr<OnnxModel> file;
    std::unique_ptr<States> states;
  };
  /// A graph input and the type of its field.
  struct Binding {
    const onnx::ValueInfoProto *input;
    std::string field;
    const FieldType *row; ///< null: the data are not there yet
  };
  struct Output {
    std::string name, field;
  };
  /// A stage being imported.
  struct Stage {
    Model &model;
    const DataSet &set;
    llvm::SmallVector<SpecFile::Step> place;
    std::vector<Binding> bindings = {};
    std::vector<Output> outputs = {};

    mlir::InFlightDiagnostic error(const SpecFile &spec) const {
      return mlir::emitError(spec.at(place));
    }
  };
  struct Entry {
    std::string name;
    std::map<std::string, FieldType> fields; ///< of its outputs; empty: it failed
  };

  mlir::LogicalResult checkBlock(const spec::MapModel &block, llvm::ArrayRef<SpecFile::Step> place);
  Model *open(const std::string &name, llvm::ArrayRef<SpecFile::Step> place);
  mlir::LogicalResult bindInputs(Stage &stage, const spec::MapModel &block);
  mlir::LogicalResult bindOutputs(Stage &stage, const spec::MapModel &block);
  bool hasLeadingDim(const Stage &stage) const;
  mlir::LogicalResult checkTypes(const Stage &stage, int64_t batch, bool isBatched);
  mlir::LogicalResult importEntries(const Stage &stage, Entry &entry, int64_t batch, int64_t rest,
                                    bool isBatched);
  mlir::LogicalResult importEntry(const Stage &stage, Entry &entry, llvm::StringRef name,
                                  int64_t batch, bool isBatched);

  const SpecFile &spec;
  mlir::SymbolTable &symbols;
  std::map<std::string, Model> models;  ///< by path
  std::map<std::string, Entry> entries; ///< by all that they are made of
  std::vector<mlir::func::FuncOp> functions;
  std::vector<std::string> names;
};

} // namespace gradc

#endif
