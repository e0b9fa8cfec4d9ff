// Binds ports by role once, so that a step only sets pointers and scalars.
#include "runtime/train/entry/EntryCall.h"

#include "runtime/base/Text.h"
#include "runtime/core/artifact/IndexCheck.h"
#include "runtime/train/spec/Turns.h"

namespace gradc::runtime {

static std::span<const gradc_artifact_port> portsOf(const Artifact &artifact, gradc_range range) {
  return artifact.elements<gradc_artifact_port>(range);
}

std::vector<Demand> demandsOf(const Artifact &artifact, const gradc_artifact_entry &entry) {
  std::vector<Demand> demands;
  for (const gradc_artifact_port &port : portsOf(artifact, entry.inputs)) {
    if (port.role != GRADC_ROLE_DATA)
      continue;
    auto shape = artifact.elements<int64_t>(port.tensor.shape);
    Demand demand{std::string(artifact.string(port.field)),
                  std::string(artifact.string(port.tensor.name)),
                  gradc_dtype(port.tensor.dtype),
                  {},
                  port.classes};
    if (!shape.empty())
      demand.shape.assign(shape.begin() + 1, shape.end());
    demands.push_back(std::move(demand));
  }
  return demands;
}

const void *scalarInput(const Artifact &artifact, const gradc_artifact_entry &entry,
                        const gradc_artifact_port &port, StepPorts &ports) {
  std::string_view group = artifact.string(port.field);
  if (port.role != GRADC_ROLE_LEARNING_RATE || group.empty())
    return ports.input(port.role);
  Config job = Config::job(artifact);
  return ports.groupRate(group, shareOfGroup(job, blockOf(artifact.string(entry.name)), group));
}

Result<std::unique_ptr<EntryCall>> EntryCall::bind(Session &session,
                                                   const gradc_artifact_entry &entry,
                                                   std::span<const Demand> demands) {
  const Artifact &artifact = session.artifact();
  std::unique_ptr<EntryCall> call(new EntryCall(session, entry));

  auto inputs = portsOf(artifact, entry.inputs);
  call->inputs.resize(inputs.size());
  call->nextInputs.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    call->inputs[i] = scalarInput(artifact, entry, inputs[i], call->ports);
    if (inputs[i].role != GRADC_ROLE_DATA)
      continue;
    size_t field = 0;
    while (field < demands.size() && demands[field].field != artifact.string(inputs[i].field))
      ++field;
    if (field == demands.size())
      return Status::invalid(text("entry '", artifact.string(entry.name), "' takes field '",
                                  artifact.string(inputs[i].field),
                                  "', which its batches do not have"));
    call->dataInputs.push_back({i, field});
  }

  auto outputs = portsOf(artifact, entry.outputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!isGiven(outputs[i]))
      continue;
    void *&place = call->outputs.emplace_back(call->ports.output(outputs[i].role));
    if (outputs[i].role == GRADC_ROLE_GRADIENT)
      place = call->theGradients
                  .emplace_back(artifact.string(outputs[i].tensor.name),
                                std::vector<float>(outputs[i].tensor.bytes / sizeof(float)))
                  .values.data();
    else if (!place)
      place = call->results.place(i);
  }
  return call;
}

Status EntryCall::start(const Batch &batch, const StepScalars &values,
                        PrefetchedInputs prefetched) {
  for (const DataInput &input : dataInputs)
    inputs[input.port] = batch.field(input.field);
  ports.set(values);
  rows = batch.rows;
  return session.start(entry, inputs, outputs, rows, prefetched);
}

Result<PrefetchedInputs> EntryCall::prefetch(const Batch &next) {
  for (const DataInput &input : dataInputs)
    nextInputs[input.port] = next.field(input.field);
  return session.prefetch(entry, nextInputs, next.rows);
}

Status EntryCall::finish() {
  Status status = session.finish();
  if (status.ok())
    results.read(rows);
  return status;
}

} // namespace gradc::runtime
