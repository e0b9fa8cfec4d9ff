// Copies the spec's tree into the artifact, sharing its strings.
#include "compiler/artifact/Job.h"

#include "compiler/import/spec/SpecTree.h"

using namespace gradc;

gradc_range gradc::appendJob(Blob &blob, const Imported &imported, llvm::StringRef directory) {
  SpecTree tree(*imported.spec, "training", /*text=*/nullptr, imported.mapEntries);
  tree.addString("directory", directory);
  if (!imported.specFile.empty())
    tree.addString("spec", imported.specFile);
  if (!imported.exportedInputs.empty())
    tree.addString("exported_inputs", imported.exportedInputs);
  if (imported.graphBytes) {
    uint32_t group = tree.addGroup("exported_files");
    tree.addInteger("graph_bytes", int64_t(imported.graphBytes), group);
    for (uint64_t location : imported.locations)
      tree.addInteger("location", int64_t(location), group);
  }
  for (const std::string &file : imported.externalFiles)
    tree.addString("external_data", file);
  for (const auto &[counter, step] : imported.pruningEnds) {
    uint32_t group = tree.addGroup("pruning");
    if (!counter.empty())
      tree.addString("counter", counter, group);
    tree.addInteger("end_step", step, group);
  }
  for (const Prediction &prediction : imported.predictions) {
    uint32_t group = tree.addGroup("prediction");
    tree.addString("output", prediction.output, group);
    tree.addString("labels", prediction.labels, group);
    tree.addString("form", prediction.form, group);
  }
  for (const FittedNumbers &fitted : imported.fitted) {
    uint32_t group = tree.addGroup("fitted");
    tree.addString("key", fitted.key, group);
    tree.addString("means", fitted.means, group);
    tree.addString("scales", fitted.scales, group);
    tree.addReal("epsilon", fitted.epsilon, group);
  }
  for (gradc_artifact_value &value : tree.values) {
    value.name = blob.intern(tree.strings.data() + value.name);
    if (value.kind == GRADC_VALUE_STRING)
      value.as.string = blob.intern(tree.strings.data() + value.as.string);
  }
  return blob.append(llvm::ArrayRef(tree.values));
}
