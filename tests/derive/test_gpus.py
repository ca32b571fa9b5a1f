from __future__ import annotations

import msgspec
import pytest

from gpudoctor.derive import MachineView
from gpudoctor.findings import Policy, Rung, RungState
from gpudoctor.snapshot import (
    Cause,
    CudaDevice,
    Host,
    LeftAlone,
    Libcuda,
    Missing,
    Nvml,
    NvmlGpu,
    Platform,
    Snapshot,
    Variables,
)
from tests.builders import ABSENT, SUCCESS, TIMED_OUT, address, card, in_docker, libcuda, machine, smoke
from tests.shipped import shared_matrix


def facts(snapshot: Snapshot) -> MachineView:
    return MachineView(snapshot, shared_matrix(), Policy())


def keys(snapshot: Snapshot) -> list[str]:
    return [gpu.key for gpu in facts(snapshot).hardware]


def without_nvml(snapshot: Snapshot, *lost: int) -> Snapshot:
    """A machine on which NVML counts all GPUs but cannot open some."""
    assert isinstance(snapshot.nvml, Nvml)
    assert not isinstance(snapshot.nvml.gpus, Missing)
    gone = Missing(Cause.LOST, "GPU is lost")
    gpus = tuple(NvmlGpu(gpu.index, address=gone) if gpu.index in lost else gpu for gpu in snapshot.nvml.gpus)
    return msgspec.structs.replace(snapshot, nvml=msgspec.structs.replace(snapshot.nvml, gpus=gpus))


def test_layers_are_joined_by_address() -> None:
    (gpu,) = facts(machine()).hardware
    assert gpu.key == address(0)
    assert not any(isinstance(layer, Missing) for layer in (gpu.pci, gpu.proc, gpu.node, gpu.nvml, gpu.cuda))
    assert gpu.cuda == gpu.cuda_unmasked
    assert gpu.label == "GPU 0 (0000:01:00.0)"


def test_cuda_and_nvml_may_number_differently() -> None:
    devices = (CudaDevice(0, address=address(1)), CudaDevice(1, address=address(0)))
    first, second = facts(machine(2, libcuda=Libcuda(init=SUCCESS, devices=devices))).hardware
    assert isinstance(first.cuda, CudaDevice)
    assert isinstance(second.cuda, CudaDevice)
    assert (first.cuda.ordinal, second.cuda.ordinal) == (1, 0)


@pytest.mark.parametrize("lost", [(3,), (0, 7), tuple(range(8))])
def test_lost_gpus_take_the_unclaimed_addresses(lost: tuple[int, ...]) -> None:
    hardware = facts(without_nvml(machine(8), *lost)).hardware
    assert [gpu.key for gpu in hardware] == [address(number) for number in range(8)]
    placed = [gpu.nvml.index for gpu in hardware if isinstance(gpu.nvml, NvmlGpu)]
    assert placed == list(range(8))


def test_lost_gpus_without_an_address_keep_their_own_key() -> None:
    assert keys(without_nvml(machine(2, pci=TIMED_OUT, kernel_driver=TIMED_OUT, libcuda=libcuda(1)), 1)) == [address(0), "nvml:1"]


@pytest.mark.parametrize(("on_pci", "listed", "lost"), [(4, 3, (2,)), (4, 2, (0, 1)), (2, 3, (1, 2)), (2, 4, (0, 1, 3))])
def test_lost_gpus_of_another_number_than_the_unclaimed_addresses_take_none(on_pci: int, listed: int, lost: tuple[int, ...]) -> None:
    """Which of them is which nobody can tell."""
    known = machine(on_pci)
    found = keys(without_nvml(machine(listed, pci=known.pci, kernel_driver=known.kernel_driver, libcuda=ABSENT), *lost))
    addresses = {address(number) for number in {*range(on_pci), *range(listed)} - (set(lost) - set(range(on_pci)))}
    assert found == sorted({*addresses, *(f"nvml:{number}" for number in lost)})


def test_a_container_only_counts_its_own_gpus() -> None:
    host = machine(8, container=in_docker(), nvml=ABSENT, libcuda=ABSENT)
    assert not isinstance(host.device_nodes, Missing)
    given = msgspec.structs.replace(host.device_nodes, nodes=host.device_nodes.nodes[:3])
    assert keys(msgspec.structs.replace(host, device_nodes=given)) == [address(0), address(1)]
    assert keys(msgspec.structs.replace(host, device_nodes=ABSENT)) == []


def test_mig_instances_belong_to_one_gpu() -> None:
    devices = tuple(CudaDevice(number, address=address(0)) for number in range(2))
    assert keys(machine(libcuda=Libcuda(init=SUCCESS, devices=devices))) == [address(0)]


def test_other_vendors_are_not_counted() -> None:
    pci = machine(1).pci
    assert not isinstance(pci, Missing)
    assert keys(machine(1, pci=msgspec.structs.replace(pci, devices=(*pci.devices, card(7, vendor="1002"))))) == [address(0)]


def states(snapshot: Snapshot, number: int = 0) -> list[RungState]:
    return [step.state for step in facts(snapshot).ladder.rows[number].steps]


P, F, N, A = RungState.PROVEN, RungState.FAILED, RungState.NOT_SHOWN, RungState.NOT_ASKED
X, M = RungState.NOT_APPLICABLE, RungState.MASKED


@pytest.mark.parametrize(
    ("snapshot", "expected"),
    [
        pytest.param(machine(smoke=(smoke(),)), [P, P, P, P, P, P, P, P], id="trained"),
        pytest.param(machine(), [P, P, P, P, P, A, A, A], id="looked at"),
        pytest.param(machine(libcuda=TIMED_OUT), [P, P, P, P, N, A, A, A], id="CUDA timed out"),
        pytest.param(machine(libcuda=ABSENT), [P, P, P, P, F, A, A, A], id="no libcuda"),
        pytest.param(machine(device_nodes=ABSENT), [P, P, P, P, P, A, A, A], id="NVML opened it, whatever /dev looks like"),
        pytest.param(machine(smoke=(smoke(trainings=()),)), [P, P, P, P, P, P, P, N], id="not trained"),
        pytest.param(
            machine(smoke=(smoke(kernels=(), trainings=(), left_alone=(LeftAlone(address(0), "busy"),)),)),
            [P, P, P, P, P, N, P, N],
            id="left alone",
        ),
        pytest.param(without_nvml(machine(), 0), [P, P, P, F, N, A, A, A], id="lost to NVML, so CUDA's list no longer holds"),
    ],
)
def test_the_ladder_shows_the_failed_stage(snapshot: Snapshot, expected: list[RungState]) -> None:
    assert states(snapshot) == expected


def test_a_gpu_bound_by_another_driver() -> None:
    nobody = machine(0, pci=msgspec.structs.replace(machine(1).pci, devices=(card(0, driver="nouveau"),)))
    assert states(nobody)[:2] == [P, F]
    aside = machine(0, pci=msgspec.structs.replace(machine(1).pci, devices=(card(0, driver="vfio-pci"),)))
    assert states(aside)[:2] == [P, X]


def test_under_wsl_the_lower_rungs_do_not_apply() -> None:
    wsl = machine(host=Host(platform=Platform.WSL2), pci=ABSENT, kernel_driver=ABSENT)
    assert states(wsl)[:5] == [X, X, X, P, P]


def test_a_hidden_gpu_has_not_failed() -> None:
    masked = machine(
        2,
        variables=Variables({"CUDA_VISIBLE_DEVICES": "1"}),
        libcuda=Libcuda(init=SUCCESS, devices=(CudaDevice(0, address=address(1)),)),
        libcuda_unmasked=machine(2).libcuda,
    )
    assert states(masked, 0)[4] is M
    assert states(masked, 1)[4] is P


def test_training_proves_the_lower_rungs() -> None:
    ladder = facts(machine(nvml=TIMED_OUT, smoke=(smoke(),))).ladder
    assert ladder.state(address(0), Rung.NVML) is N
    assert ladder.proven(address(0), Rung.NVML)
