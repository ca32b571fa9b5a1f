"""Whatever NVML says is wrong with a GPU of a recorded machine is reported."""

from __future__ import annotations

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import Heat, HeldBack, Nvml, NvmlGpu, SpareRows
from tests.machines.store import NAMES, recorded
from tests.seams.every import every


def alarming(gpu: NvmlGpu) -> set[str]:
    """The findings that what NVML says of this GPU asks for, by its own fields alone."""
    rows, heat, later = gpu.spare_rows, gpu.heat, gpu.held_back_later
    hot = isinstance(gpu.temperature, int) and isinstance(gpu.temperature_slowdown, int) and 0 < gpu.temperature_slowdown <= gpu.temperature
    warm = (
        isinstance(heat, Heat) and isinstance(heat.memory, int) and isinstance(heat.memory_limit, int) and heat.memory >= heat.memory_limit
    )
    grows = isinstance(gpu.held_back, HeldBack) and isinstance(later, HeldBack) and gpu.held_back.thermal != later.thermal
    told = {
        "thermal-throttled": hot or warm or grows,
        "spare-rows-exhausted": isinstance(rows, SpareRows) and rows.none + rows.low > 0,
        "ecc-disabled": gpu.ecc_enabled is False and gpu.ecc_pending is False,
        "ecc-change-pending": isinstance(gpu.ecc_pending, bool)
        and isinstance(gpu.ecc_enabled, bool)
        and gpu.ecc_pending != gpu.ecc_enabled,
        "mig-change-pending": isinstance(gpu.mig_pending, bool)
        and isinstance(gpu.mig_enabled, bool)
        and gpu.mig_pending != gpu.mig_enabled,
    }
    return {name for name, wanted in told.items() if wanted}


@every("name", NAMES)
def test_what_nvml_says_of_a_gpu_is_never_left_unsaid(name: str, matrix: Matrix) -> None:
    snapshot = recorded(name)
    gpus = snapshot.nvml.gpus if isinstance(snapshot.nvml, Nvml) and isinstance(snapshot.nvml.gpus, tuple) else ()
    wanted = {(name, gpu.address) for gpu in gpus if isinstance(gpu.address, str) for name in alarming(gpu)}
    said = {(finding.name, finding.subject.key) for finding in diagnose(snapshot, matrix, Policy(level=None)).findings} if wanted else set()
    assert wanted <= said
