"""What can be wrong with where something is written: over what is read, or nowhere."""
from case import ERROR, case


@case(ERROR, "would be written over", "x.npy', which the run reads")
def export_over_the_data(job):
    return job.train("--export", "x.npy")


@case(ERROR, "would be written over", "labels.npy', which the run reads")
def log_over_the_data(job):
    return job.train("--log", "labels.npy")


@case(ERROR, "would be written over", "mlp.onnx', which the run reads")
def export_over_the_model(job):
    job.edit("model:", 'export { onnx: "mlp.onnx" }\nmodel:')
    return job.train()


@case(ERROR, "would be written over this program")
def export_over_the_trainer(job):
    command = job.train()
    return [*command, "--export", command[0]]
