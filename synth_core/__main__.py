"""`python -m synth_core`."""

import os

# Before NumPy is imported: chains and replicates are what runs in parallel. Linear algebra on several threads
# gains nothing at this size and waits for ever on a busy machine.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from synth_core.cli import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main(own_files=True))
