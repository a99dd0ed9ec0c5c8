"""The same bits on every x86-64 CPU: what must be set before torch is imported, and what after.

Measured with torch 2.13.0: a whole training gives equal bits natively (AVX2, AVX-512) and on emulated Haswell and
EPYC when all of these hold, and float32 sqrt is written `rsqrt().reciprocal()` (torch's sqrt goes to a vector-math
library whose last bit depends on the CPU).
"""

import os
import sys

PORTABLE = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "COMPATIBLE"}


def before_torch(determinism):
    """Set (`portable`) or clear (`native`) what torch reads once, when it is first imported."""
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

    if determinism == "portable" and not torch.cpu._is_avx2_supported():  # its kernels would die of their first line
        mend = "use native, or a machine that has it"
        raise SystemExit(f"compute.determinism: portable: this CPU has no AVX2, in which these bits are made; {mend}.")
    portable = torch.backends.cpu.get_cpu_capability() == "AVX2" and os.environ.get("MKL_CBWR") == "COMPATIBLE"
    if portable != (determinism == "portable"):
        mend = "import initscope before torch, in a process of its own"
        raise SystemExit(f"compute.determinism: {determinism}: torch was imported in the other mode; {mend}.")
    torch.backends.mkldnn.enabled = determinism == "native"
    torch.set_num_threads(1)
    if device != "cpu":
        settle_on_gpu(device)


def settle_on_gpu(device):
    """The same bits from run to run on the GPU that the config names. SystemExit where it is not here."""
    import torch

    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # cuBLAS reads it when its first product is computed
    here = f"cuda {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "no GPU that torch can use"
    if here != device:
        raise SystemExit(f"compute.device: {device}: this machine has {here}; name what it has, or run where that is.")
    torch.use_deterministic_algorithms(True)
