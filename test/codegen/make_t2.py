"""Makes T2's job, an MLP 784-512-512-10 with batches of 128: make_t2.py FOLDER"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import write_mlp_job

write_mlp_job(sys.argv[1], (784, 512, 512, 10), 128, 1)
