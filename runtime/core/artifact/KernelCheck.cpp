// Checks what the runtime computes with before it runs a kernel: no number of units overflows, and
// a library call has one of the forms that the libraries know.
#include "runtime/core/artifact/KernelCheck.h"

using namespace gradc::runtime;

/// Whether the library call has a known form.
static bool checkCallForm(BlobView &view, const char *symbol, const gradc_artifact_call &call) {
  bool convolves = call.role != GRADC_LIBRARY_MATMUL;
  if (call.role > GRADC_LIBRARY_FILTER_GRADIENT)
    return view.fail("kernel ", symbol, ": unknown library call ", call.role);
  bool hasGelu = call.epilogue == GRADC_EPILOGUE_GELU || call.epilogue == GRADC_EPILOGUE_BIAS_GELU;
  bool hasGeluGrad = call.epilogue == GRADC_EPILOGUE_GELU_GRAD;
  if (call.epilogue > GRADC_EPILOGUE_BIAS_RELU && (convolves || !(hasGelu || hasGeluGrad)))
    return view.fail("kernel ", symbol, ": unknown epilogue ", call.epilogue, " of library call ",
                     call.role);
  for (const gradc_summed_rows &summed : call.summed)
    if (summed.row < 0 || (summed.row > 0 && summed.pieces < 1))
      return view.fail("kernel ", symbol, ": a library call with impossible rows ", summed.row,
                       " in ", summed.pieces, " pieces");
  bool hasBias = call.epilogue & GRADC_EPILOGUE_BIAS;
  if (hasBias != (call.bias != GRADC_NONE))
    return view.fail("kernel ", symbol, ": a library call of epilogue ", call.epilogue,
                     hasBias ? " without" : " with", " a bias");
  bool keeps = call.kept != GRADC_NONE;
  if (keeps ? !hasGelu && !hasGeluGrad : hasGeluGrad)
    return view.fail("kernel ", symbol, ": a library call of epilogue ", call.epilogue,
                     keeps ? " with" : " without", " a matrix beside its result");
  for (int d = 0; d < 2; ++d)
    if (convolves &&
        (call.low[d] < 0 || call.high[d] < 0 || call.stride[d] < 1 || call.dilation[d] < 1))
      return view.fail("kernel ", symbol, ": a library call with an impossible window");
  return true;
}

bool gradc::runtime::checkKernel(BlobView &view, const gradc_artifact_kernel &kernel) {
  std::span<const gradc_string> nodes;
  if (!view.checkString(kernel.symbol, "kernel symbol") ||
      !view.checkString(kernel.title, "kernel title") ||
      !view.view(kernel.nodes, "source nodes", nodes))
    return false;
  for (gradc_string node : nodes)
    if (!view.checkString(node, "source node"))
      return false;
  constexpr int64_t maxUnits = int64_t(1) << 48; // times a thread's number, does not overflow
  if (kernel.units < 0 || kernel.units > maxUnits || kernel.grain < 0)
    return view.fail("kernel ", view.string(kernel.symbol), ": impossible units ", kernel.units,
                     " or grain ", kernel.grain);
  if (kernel.rows < 0 || kernel.rows > maxRows || (kernel.rows > 0 && kernel.tile < 1))
    return view.fail("kernel ", view.string(kernel.symbol), ": impossible rows ", kernel.rows,
                     " or tile ", kernel.tile);
  if (kernel.rows > 0 &&
      (kernel.times < 1 || kernel.times > maxRows / kernel.rows || kernel.per < 1))
    return view.fail("kernel ", view.string(kernel.symbol),
                     ": impossible units of rows: ", kernel.times, " times, ", kernel.per,
                     " together");
  std::span<const gradc_artifact_call> calls;
  if (!view.view(kernel.call, "library calls", calls))
    return false;
  if (calls.size() > 1)
    return view.failCount("library calls of a kernel at most", 1, calls.size());
  return calls.empty() || checkCallForm(view, view.string(kernel.symbol), calls.front());
}
