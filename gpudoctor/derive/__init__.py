"""Facts that rules need from several places, resolved once with their source. Pure."""

from __future__ import annotations

from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import CudaComponent
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpu_code import EffectiveCode, Fit
from gpudoctor.derive.gpus import Gpu
from gpudoctor.derive.ladder import proven_scope
from gpudoctor.derive.packages import Stack
from gpudoctor.derive.rule_endings import (
    NO_GPU,
    NO_PCI_BUS,
    CouldNotTell,
    NotApplicable,
    known_absence,
    known_or_none,
    not_applicable,
    not_stated,
    require_applicable,
    require_known,
    require_offered,
)
from gpudoctor.derive.site import Site
from gpudoctor.derive.training import Flaw, is_on_device, training_flaw
from gpudoctor.derive.views.environment import EnvironmentView
from gpudoctor.derive.views.framework import FrameworkView
from gpudoctor.derive.views.gpu import GpuView
from gpudoctor.derive.views.machine import MachineView
from gpudoctor.derive.visibility import Visibility
