"""What rules about the machine see of the driver's libraries: NVML's and libcuda's answers."""

from __future__ import annotations

from gpudoctor.derive.rule_endings import CouldNotTell, require_known
from gpudoctor.derive.views.view import Section, View
from gpudoctor.findings import Rung
from gpudoctor.snapshot import Cause, CudaDevice, Libcuda, Missing, Nvml, NvmlGpu, Snapshot, Status


class DriverCallsView(View):
    """The answers of NVML and libcuda on one machine."""

    observed: Snapshot

    libcuda = Section[Libcuda](Rung.LIBCUDA)
    libcuda_unmasked = Section[Libcuda](Rung.LIBCUDA)
    nvml = Section[Nvml](Rung.NVML)

    @property
    def cuda_init(self) -> Status:
        """cuInit's answer to a program in the examined environment; ends the rule if there is none."""
        return require_known(self.libcuda.init, Rung.LIBCUDA)

    @property
    def cuda_init_code(self) -> int | None:
        """cuInit's answer without CUDA_VISIBLE_DEVICES; None if there is none."""
        for section in (self.observed.libcuda_unmasked, self.observed.libcuda):
            if isinstance(section, Libcuda) and isinstance(section.init, Status):
                return section.init.code
        return None

    @property
    def cuda_devices(self) -> tuple[CudaDevice, ...]:
        """The devices that CUDA shows to a program in the examined environment; empty if unknown."""
        libcuda = self.observed.libcuda
        return libcuda.devices if isinstance(libcuda, Libcuda) and isinstance(libcuda.devices, tuple) else ()

    @property
    def all_cuda_devices(self) -> tuple[CudaDevice, ...]:
        """The devices that CUDA lists without CUDA_VISIBLE_DEVICES; ends the rule if cuInit failed."""
        unmasked = self.observed.libcuda_unmasked
        libcuda = self.libcuda if isinstance(unmasked, Missing) and unmasked.cause is Cause.NOT_ASKED else self.libcuda_unmasked
        code = require_known(libcuda.init, Rung.LIBCUDA).code
        if code:
            raise CouldNotTell(Missing(Cause.FAILED, f"cuInit returned error {code}"), Rung.LIBCUDA)
        return require_known(libcuda.devices, Rung.LIBCUDA)

    @property
    def nvml_init_code(self) -> int | None:
        """nvmlInit's answer; None if there is none."""
        nvml = self.observed.nvml
        return nvml.init.code if isinstance(nvml, Nvml) and isinstance(nvml.init, Status) else None

    @property
    def nvml_gpus(self) -> tuple[NvmlGpu, ...]:
        """The GPUs that NVML counts; ends the rule if NVML did not start."""
        init = self.nvml.init
        if isinstance(init, Status) and init.code:
            raise CouldNotTell(Missing(Cause.FAILED, f"NVML did not start: {init.name}"), Rung.NVML)
        return require_known(self.nvml.gpus, Rung.NVML)

    @property
    def nvml_works(self) -> bool:
        """Whether NVML started."""
        return self.nvml_init_code == 0

    @property
    def cuda_works(self) -> bool:
        """Whether cuInit succeeded for a program in the examined environment."""
        libcuda = self.observed.libcuda
        return isinstance(libcuda, Libcuda) and isinstance(libcuda.init, Status) and libcuda.init.code == 0
