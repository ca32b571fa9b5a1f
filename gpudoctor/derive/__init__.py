"""Facts that rules need from several places, resolved once with their source. Pure."""

from __future__ import annotations

from gpudoctor.derive.cuda import EffectiveCuda
from gpudoctor.derive.cuda_libraries import Component
from gpudoctor.derive.driver import Driver
from gpudoctor.derive.gpu_code import EffectiveCode, Fit
from gpudoctor.derive.gpus import Gpu
from gpudoctor.derive.ladder import proved_to
from gpudoctor.derive.packages import Stack
from gpudoctor.derive.site import Site
from gpudoctor.derive.training import Flaw, flaw_of, on_device
from gpudoctor.derive.unknown import (
    NO_GPU,
    NO_PCI_BUS,
    CouldNotTell,
    NotApplicable,
    absence,
    applicable,
    known,
    not_applicable,
    not_stated,
    offered,
    or_none,
)
from gpudoctor.derive.views.environment import EnvironmentView
from gpudoctor.derive.views.framework import FrameworkView
from gpudoctor.derive.views.gpu import GpuView
from gpudoctor.derive.views.machine import MachineView
from gpudoctor.derive.visibility import Visibility
