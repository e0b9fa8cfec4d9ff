"""Makes the digits example with a confusion matrix, in a separate folder.

    make_report_job.py ROOT FOLDER
"""
import os
import shutil
import sys

root, folder = sys.argv[1:]
job = os.path.join(folder, "digits")
shutil.copytree(os.path.join(root, "examples/digits"), job)
with open(os.path.join(job, "train.textproto"), "a") as file:
    file.write('metric { confusion_matrix { logits: "logits"  labels: "labels" } }\n')
