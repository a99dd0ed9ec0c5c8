"""The same bits on every x86-64 CPU: what must be set before torch and NumPy are imported, and what after.

Measured with torch 2.13.0 and NumPy 2.4.6: a whole training gives equal bits natively (AVX2, AVX-512) and on emulated
Haswell and EPYC when all of these hold, matrix products are NumPy's (`models.products`), and float32 sqrt is written
`rsqrt().reciprocal()` (torch's sqrt goes to a vector-math library whose last bit depends on the CPU).
"""

import os
import sys
from pathlib import Path

PORTABLE = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE", "OPENBLAS_CORETYPE": "Haswell"}


def before_torch(determinism):
    """Set (`portable`) or clear (`native`) what torch and NumPy read once, when they are first imported.

    A CPU without AVX2 is left as it is and refused later: NumPy, told to use it there, could not even be imported.
    """
    if "torch" in sys.modules:
        return
    portable = determinism == "portable" and has_avx2()
    for name, value in PORTABLE.items():
        if portable:
            os.environ[name] = value
        else:
            os.environ.pop(name, None)


def has_avx2(cpuinfo="/proc/cpuinfo"):
    """Whether Linux lists it among this CPU's flags; True on other systems, where only torch can tell."""
    if not Path(cpuinfo).exists():
        return True
    with open(cpuinfo) as lines:
        return "avx2" in next((line for line in lines if line.startswith("flags")), "").split()


def settle(determinism, device="cpu"):
    """Bring the imported torch into the asked mode. SystemExit where it was imported in the other one, or cannot be."""
    import torch
    from threadpoolctl import threadpool_limits

    if reason := hindrance(determinism):
        raise SystemExit(f"compute.determinism: {determinism}: {reason}.")
    torch.backends.mkldnn.enabled = determinism == "native"
    torch.set_num_threads(1)
    threadpool_limits(1, user_api="blas")
    if device != "cpu":
        settle_on_gpu(device)


def hindrance(determinism):
    """Why this process cannot compute in the asked mode, and the mend; None where it can."""
    import torch

    from initscope.arithmetic import portable

    asked = determinism == "portable"
    if asked and not torch.cpu._is_avx2_supported():  # its kernels would die of their first line
        return "this CPU has no AVX2, in which these bits are made; use native, or a machine that has it"
    if portable() != asked:
        return "torch was imported in the other mode; import initscope before torch, in a process of its own"
    if asked and cores_of_openblas() != {"Haswell"}:
        found = " and ".join(f"OpenBLAS for {core}" for core in cores_of_openblas()) or "another library"
        mend = "import initscope before NumPy, and use a NumPy that has OpenBLAS, as from PyPI"
        return f"NumPy multiplies by {found}, not by OpenBLAS for Haswell; {mend}"
    return None


def cores_of_openblas():
    """The CPUs for which the OpenBLAS libraries of this process compute: what they read when they were loaded."""
    from threadpoolctl import threadpool_info

    return {library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"}


def settle_on_gpu(device):
    """The same bits from run to run on the GPU that the config names. SystemExit where it is not here."""
    import torch

    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # cuBLAS reads it when its first product is computed
    here = f"cuda {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "no GPU that torch can use"
    if here != device:
        raise SystemExit(f"compute.device: {device}: this machine has {here}; name what it has, or run where that is.")
    torch.use_deterministic_algorithms(True)
