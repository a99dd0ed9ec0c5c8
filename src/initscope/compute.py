"""The same bits on every x86-64 CPU: what must be set before torch and NumPy are imported, and what after.

Measured with torch 2.13.0 and NumPy 2.4.6: a whole training gives equal bits natively (AVX2, AVX-512) and on emulated
Haswell and EPYC when all of these hold, matrix products are NumPy's (`models.products`), and float32 sqrt is written
`rsqrt().reciprocal()` (torch's sqrt goes to a vector-math library whose last bit depends on the CPU).
"""

import os
import sys
from contextlib import contextmanager

PORTABLE = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Haswell"}


def before_torch(determinism):
    """Set (`portable`) or clear (`native`) what torch and NumPy read once, when they are first imported."""
    if "torch" in sys.modules:
        return
    for name, value in PORTABLE.items():
        if determinism == "portable":
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


def settle(determinism, device="cpu"):
    """Bring the imported torch into the asked mode. SystemExit where it was imported in the other one, or cannot be."""
    import torch
    from threadpoolctl import threadpool_limits

    if determinism == "portable" and not torch.cpu._is_avx2_supported():  # its kernels would die of their first line
        mend = "use native, or a machine that has it"
        raise SystemExit(f"compute.determinism: portable: this CPU has no AVX2, in which these bits are made; {mend}.")
    if portable() != (determinism == "portable"):
        mend = "import initscope before torch, in a process of its own"
        raise SystemExit(f"compute.determinism: {determinism}: torch was imported in the other mode; {mend}.")
    if portable() and cores_of_openblas() != {"Haswell"}:
        said = " and ".join(cores_of_openblas()) or "another library"
        mend = "import initscope before NumPy, and use a NumPy that has OpenBLAS, as from PyPI"
        raise SystemExit(f"compute.determinism: portable: NumPy multiplies by OpenBLAS for {said}, not Haswell; {mend}.")
    torch.backends.mkldnn.enabled = determinism == "native"
    torch.set_num_threads(1)
    threadpool_limits(1, user_api="blas")
    if device != "cpu":
        settle_on_gpu(device)


def portable():
    """Is this process in the portable mode?"""
    import torch

    return torch.backends.cpu.get_cpu_capability() == "AVX2" and os.environ.get("MKL_CBWR") == "COMPATIBLE"


def cores_of_openblas():
    """The CPUs for which the OpenBLAS libraries of this process compute: what they read when they were loaded."""
    from threadpoolctl import threadpool_info

    return {library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"}


@contextmanager
def without_subnormals():
    """On the CPU, in this thread: what is nearer to 0 than 1.2e-38 is 0.

    A CPU takes a hundred times as long for a number in that range. At large stds a hundredth of the attention weights
    and of the activations' slopes lie there, and training would take a quarter longer for them.
    """
    import torch

    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def settle_on_gpu(device):
    """The same bits from run to run on the GPU that the config names. SystemExit where it is not here."""
    import torch

    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # cuBLAS reads it when its first product is computed
    here = f"cuda {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "no GPU that torch can use"
    if here != device:
        raise SystemExit(f"compute.device: {device}: this machine has {here}; name what it has, or run where that is.")
    torch.use_deterministic_algorithms(True)
