// Runs compiled entries on host tensors, through the runtime's C interface.
#ifndef COMPILER_SESSION_H
#define COMPILER_SESSION_H

#include "dialects/grad/HostTensor.h"
#include "runtime/include/gradc/gradc.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace gradc {

/// A C status with its message, as an llvm::Error that preserves the code.
class RuntimeError : public llvm::ErrorInfo<RuntimeError> {
public:
  static char ID;
  RuntimeError(gradc_status code, std::string message) : code(code), message(std::move(message)) {}
  void log(llvm::raw_ostream &out) const override { out << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  gradc_status code;
  std::string message;
};

/// The tensor type for the runtime's dtype and shape.
mlir::RankedTensorType tensorType(mlir::MLIRContext &context, gradc_dtype dtype,
                                  llvm::ArrayRef<int64_t> shape);

/// The address of a tensor's elements for the runtime, which wants one even if there are none.
const void *addressOf(llvm::ArrayRef<char> bytes);

/// A tensor that an entry takes or returns.
struct Port {
  std::string name;
  mlir::RankedTensorType type;
  gradc_role role;
  int64_t classes;
  bool batched = false;   ///< a run of n rows has the first n of its rows
  std::string field = {}; ///< an extent's output
  bool isText = false;    ///< strings: the last dim is the bytes of each
};

/// The ports of a run of `rows` rows, for an entry of `batch` rows.
std::vector<Port> portsOfRows(std::vector<Port> ports, int64_t batch, int64_t rows);

/// Cuts an entry's results to the extents that the run has computed, and removes the extents.
void cutToExtents(std::vector<Port> &outputs, std::vector<mlir::grad::HostTensor> &results);

/// Values for an entry's inputs: numbers in [0, 1), labels among their classes.
std::vector<mlir::grad::HostTensor> randomTensors(llvm::ArrayRef<Port> inputs, uint32_t seed);

/// An artifact (in memory or a file) with a session on it.
class CompiledSession {
public:
  /// `level`: empty selects the highest level that this machine executes.
  static llvm::Expected<std::unique_ptr<CompiledSession>> open(std::string artifact,
                                                               const std::string &level = "");
  static llvm::Expected<std::unique_ptr<CompiledSession>> openFile(const std::string &path);
  ~CompiledSession();

  /// The selected level.
  llvm::StringRef level() const { return gradc_session_level(session); }
  llvm::Expected<uint32_t> find(llvm::StringRef entry);
  /// The number of rows of the largest batch.
  int64_t batch(uint32_t entry) const;
  /// The node that couples the rows of a call; empty if more rows than the batch may be run in
  /// several calls.
  llvm::StringRef couplingNode(uint32_t entry) const;
  /// The number of bytes planned for the entry and all states.
  int64_t plannedBytes(uint32_t entry) const;
  /// Without the number of rows, which the runtime sets.
  std::vector<Port> inputs(mlir::MLIRContext &context, uint32_t entry);
  std::vector<Port> outputs(mlir::MLIRContext &context, uint32_t entry);

  llvm::Expected<std::vector<mlir::grad::HostTensor>>
  run(mlir::MLIRContext &context, uint32_t entry, llvm::ArrayRef<mlir::grad::HostTensor> inputs);
  /// Runs `rows` rows: batched inputs and results have that many.
  llvm::Expected<std::vector<mlir::grad::HostTensor>>
  run(mlir::MLIRContext &context, uint32_t entry, llvm::ArrayRef<mlir::grad::HostTensor> inputs,
      int64_t rows);

  /// Runs on the caller's memory: one address per element of `inputs` and `outputs`.
  llvm::Error run(uint32_t entry, int64_t rows, llvm::ArrayRef<const void *> inputs,
                  llvm::ArrayRef<void *> outputs);

  /// Begins a run that is executed launch by launch.
  llvm::Error begin(uint32_t entry, llvm::ArrayRef<mlir::grad::HostTensor> inputs);
  /// The number of the next node to launch; GRADC_NONE at the end.
  llvm::Expected<uint32_t> next();
  llvm::Error launch(uint32_t launch);
  llvm::Expected<std::vector<char>> readSlice(uint32_t entry, uint32_t launch, uint32_t slice);

  llvm::Expected<std::vector<char>> getState(llvm::StringRef name);
  llvm::Error setState(llvm::StringRef name, llvm::ArrayRef<char> value);

private:
  CompiledSession() = default;
  llvm::Error start(const std::string &level = "");
  llvm::SmallVector<const void *> withRows(uint32_t entry,
                                           llvm::ArrayRef<const void *> inputs) const;

  std::string artifact;
  gradc_model *model = nullptr;
  gradc_session *session = nullptr;
};

} // namespace gradc

#endif
