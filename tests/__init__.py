"""The tests. Linear algebra runs on one thread, as in the program: workers run beside each other on few cores."""

import os

# Before NumPy is imported, by whoever is first: on a busy machine more threads wait for each other for ever.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
