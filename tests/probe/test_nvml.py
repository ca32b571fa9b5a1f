"""NVML queries beyond the basics: health, limits, links, MIG instances, topology; old drivers lose a field for each missing call."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable

import pynvml
import pytest

from gpudoctor.probe.inventory import ProbeScope
from gpudoctor.snapshot import Cause, Fabric, Libcuda, LinkCount, Missing, Nvml, NvmlGpu, RetiredPages, Sram
from tests.probe.places import look
from tests.seams import LACKED, READ_TWICE, Cuda, Mig
from tests.seams import Nvml as Library
from tests.seams import NvmlGpu as Card

COUNTED = "NVML_FI_DEV_NVLINK_COUNT_"
COUNTERS_5 = {
    name.removeprefix(COUNTED).lower(): number
    for name, number in sorted(vars(pynvml).items(), key=lambda item: str(item[1]))
    if name.startswith(COUNTED) and 206 <= number <= 222 and "RAW_BER" not in name
}
"""As NVIDIA's binding numbers them; the raw rates are no longer queried."""
Shims = Callable[..., dict[str, str]]
NAMED = ("nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkErrorCounter", "nvmlDeviceGetFieldValues")


@pytest.fixture
def ask(shim_environment: Shims) -> Callable[..., Nvml]:
    def asked(library: Library) -> Nvml:
        nvml = look(ProbeScope(python=sys.executable), shim_environment(library))[0].nvml
        assert isinstance(nvml, Nvml), nvml
        return nvml

    return asked


@pytest.fixture
def card(ask: Callable[..., Nvml]) -> Callable[..., NvmlGpu]:
    def asked(gpu: Card, **changes: object) -> NvmlGpu:
        nvml = ask(Library(gpus=[gpu], **changes))  # type: ignore[arg-type]
        assert isinstance(nvml.gpus, tuple)
        return nvml.gpus[0]

    return asked


Ask = Callable[..., Nvml]
AskCard = Callable[..., NvmlGpu]


def test_health_counters(card: AskCard) -> None:
    gpu = card(
        Card(ecc_corrected=7, ecc_uncorrected=2, ecc=(1, 0), retired_pages=(3, 1, 1), sram=(5, 1), pcie_replays="9+", recovery_action=4)
    )
    assert (gpu.ecc_corrected, gpu.ecc_uncorrected, gpu.ecc_corrected_total, gpu.ecc_uncorrected_total) == (7, 2, 7, 2)
    assert (gpu.ecc_enabled, gpu.ecc_pending) == (True, False)
    assert gpu.retired_pages == RetiredPages(single_bit=3, double_bit=1, pending=True)
    assert gpu.sram == Sram(uncorrected_total=5, threshold_exceeded=True)
    assert (gpu.pcie_replays, gpu.pcie_replays_later) == (9, 10)
    assert (gpu.recovery_action, gpu.alarms) == ("drain-and-reset", ())


def test_limits_and_clocks(card: AskCard) -> None:
    gpu = card(Card(power_limit=300_000, utilization=(93, 40), pstate=2))
    assert (gpu.power_limit, gpu.power_limit_default, gpu.power_limit_min, gpu.power_limit_max) == (300_000, 400_000, 100_000, 400_000)
    assert (gpu.temperature, gpu.temperature_slowdown, gpu.temperature_shutdown) == (33, 89, 92)
    assert (gpu.clock_sm, gpu.clock_sm_max, gpu.clock_memory, gpu.clock_memory_max) == (210, 1410, 1593, 1593)
    assert (gpu.utilization, gpu.performance_state) == (93, 2)


@pytest.mark.parametrize(
    ("code", "call"), [(8, "nvmlDeviceGetPowerUsage"), (14, "nvmlDeviceGetInforomConfigurationChecksum"), (16, "nvmlDeviceGetName")]
)
def test_an_error_about_the_gpu_is_kept_by_its_number(ask: Ask, code: int, call: str) -> None:
    nvml = ask(Library(gpus=2, calls={f"{call}.1": f"return {code}"}))
    assert isinstance(nvml.gpus, tuple)
    healthy, ill = (gpu.alarms for gpu in nvml.gpus)
    assert healthy == ()
    assert isinstance(ill, tuple)
    assert [(alarm.code, alarm.text.partition(":")[0]) for alarm in ill] == [(code, call)]


def test_a_gpu_that_cannot_be_opened_says_why(card: AskCard) -> None:
    gpu = card(Card(), calls={"nvmlDeviceGetHandleByIndex": "return 8"})
    assert isinstance(gpu.address, Missing)
    assert isinstance(gpu.nvlinks, Missing)
    assert gpu.nvlinks == gpu.address
    assert isinstance(gpu.alarms, tuple)
    assert [(alarm.code, alarm.name) for alarm in gpu.alarms] == [(8, "NVML_ERROR_INSUFFICIENT_POWER")]


@pytest.mark.parametrize("old", [False, True])
def test_links_and_their_errors(card: AskCard, old: bool) -> None:
    facts = {"nvlink.2.crc_errors": 40, "nvlink.2.replays": 3} | ({"nvlink_old": 1} if old else {})
    links = card(Card(nvlinks="1011", facts=facts)).nvlinks
    assert isinstance(links, tuple)
    assert [link.active for link in links] == [True, False, True, True]
    assert (links[2].crc_errors, links[2].replays, links[2].recoveries, links[0].crc_errors) == (40, 3, 0, 0)
    assert isinstance(links[1].replays, Missing)


def test_link_errors_unavailable_either_way(card: AskCard) -> None:
    links = card(Card(nvlinks="11", facts={"nvlink_old": 1}), calls={"nvmlDeviceGetNvLinkErrorCounter": "return 3"}).nvlinks
    assert isinstance(links, tuple)
    assert {missing.cause for link in links for missing in (link.replays, link.crc_errors) if isinstance(missing, Missing)} == {
        Cause.UNSUPPORTED
    }
    assert [link.active for link in links] == [True, True]


def test_a_gpu_without_links(card: AskCard) -> None:
    links = card(Card(nvlinks=None)).nvlinks
    assert isinstance(links, Missing)
    assert links.cause is Cause.UNSUPPORTED


def test_the_link_count_comes_from_its_field_and_survives_a_failing_link(card: AskCard) -> None:
    links = card(Card(nvlinks="1101"), calls={"nvmlDeviceGetNvLinkState": "after 1 return 999"}).nvlinks
    assert isinstance(links, tuple)
    assert [isinstance(link.active, Missing) for link in links] == [False, True, True, True]
    assert isinstance(card(Card(nvlinks="0" * 18)).nvlinks, tuple)
    assert len(card(Card(nvlinks="0" * 18)).nvlinks) == 18  # type: ignore[arg-type]


def test_link_errors_are_read_twice(card: AskCard) -> None:
    links = card(Card(nvlinks="111", facts={"nvlink.1.crc_errors": "40+", "nvlink.2.crc_errors": 40})).nvlinks
    assert isinstance(links, tuple)
    assert [link.crc_errors for link in links] == [0, 40, 40]
    assert [link.grown for link in links] == [(), (LinkCount("crc_errors", 1),), ()]


def test_link_errors_of_old_drivers_are_read_twice(card: AskCard) -> None:
    links = card(Card(nvlinks="11", facts={"nvlink_old": 1, "nvlink.1.replays": "7+"})).nvlinks
    assert isinstance(links, tuple)
    assert [link.grown for link in links] == [(), (LinkCount("replays", 1),)]


def test_nvlink_5_has_its_own_counters(card: AskCard) -> None:
    facts: dict[str, int | str] = {f"nvlink.0.{name}": number for name, number in COUNTERS_5.items()}
    gpu = card(Card(nvlinks="11", facts={"nvlink_version": 7, **facts, "nvlink.1.rcv_errors": "3+"}))
    assert gpu.nvlink_version == "5.0"
    assert isinstance(gpu.nvlinks, tuple)
    first, second = gpu.nvlinks
    assert first.errors == tuple(LinkCount(name, number) for name, number in COUNTERS_5.items())
    assert (first.grown, isinstance(first.replays, Missing)) == ((), True)
    assert (second.errors, second.grown) == ((LinkCount("rcv_errors", 3),), (LinkCount("rcv_errors", 1),))


@pytest.mark.parametrize("old", [False, True])
def test_the_fabrics_health_in_both_versions(card: AskCard, old: bool) -> None:
    facts = {"fabric_health": 9, "fabric_summary": 3, "fabric_cluster": 0xAB} | ({"fabric_v2": 1} if old else {})
    found = card(Card(fabric=(3, 0), facts=facts)).fabric
    assert isinstance(found, Fabric)
    assert (found.health, found.cluster) == (9, "ab" * 16)
    assert isinstance(found.summary, Missing) if old else found.summary == "limited-capacity"


@pytest.mark.parametrize("lacking", [(), ("nvmlDeviceGetGpuFabricInfoV",)])
def test_fabric(card: AskCard, lacking: tuple[str, ...]) -> None:
    found = card(Card(fabric=(3, 0), facts={"fabric_clique": 7, "fabric_health": 2}), without=lacking).fabric
    assert isinstance(found, Fabric)
    assert (found.state, found.status, found.clique) == ("completed", 0, 7)
    assert isinstance(found.health, Missing) if lacking else found.health == 2


def test_mig_instances_belong_to_their_gpu(card: AskCard) -> None:
    instances = [Mig(uuid="MIG-a"), Mig(uuid="MIG-b", gpu_instance=9, memory_total=5 << 30)]
    found = card(Card(mig=(1, 1), mig_instances=instances)).mig_instances
    assert isinstance(found, tuple)
    assert [(mig_instance.place, mig_instance.uuid, mig_instance.gpu_instance) for mig_instance in found] == [
        (0, "MIG-a", 7),
        (1, "MIG-b", 9),
    ]
    assert found[1].memory_total == 5 << 30
    assert card(Card(mig=(1, 1))).mig_instances == ()
    assert card(Card()).mig_instances == ()


def test_mig_instances_without_permission(card: AskCard) -> None:
    found = card(
        Card(mig=(1, 1), mig_instances=[Mig(uuid="MIG-a")]), calls={"nvmlDeviceGetMigDeviceHandleByIndex": "return 4"}
    ).mig_instances
    assert isinstance(found, Missing)
    assert found.cause is Cause.DENIED


def test_licences_of_a_virtual_gpu(card: AskCard) -> None:
    product: dict[str, int | str] = {"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 0}
    gpu = card(Card(virtualization=2, facts=product))
    assert gpu.virtualization == "vgpu"
    assert isinstance(gpu.licences, tuple)
    (held,) = gpu.licences
    assert (held.product, held.enabled, held.licensed) == ("NVIDIA Virtual Compute Server", True, False)
    assert isinstance(held.expires, Missing)
    assert held.expires.cause is Cause.UNSUPPORTED
    assert card(Card(facts=product)).licences == ()


@pytest.mark.parametrize("seconds", [-600, 1800, 80_000])
def test_a_licences_expiry_is_a_time_and_the_seconds_left(card: AskCard, seconds: int) -> None:
    facts: dict[str, int | str] = {"licence_product": "NVIDIA Virtual Compute Server", "licence_state": 1, "licence_seconds": seconds}
    licences = card(Card(virtualization=2, facts=facts)).licences
    assert isinstance(licences, tuple)
    assert isinstance(licences[0].seconds_left, int)
    assert abs(licences[0].seconds_left - seconds) < 60
    end = dt.datetime.fromisoformat(str(licences[0].expires).removesuffix("Z")).replace(tzinfo=dt.timezone.utc)
    assert abs((end - dt.datetime.now(dt.timezone.utc)).total_seconds() - seconds) < 60


def test_confidential_computing(ask: Ask) -> None:
    on = ask(Library(facts={"confidential": 1}))
    assert (on.confidential, on.confidential_ready) == (True, False)
    lacking = ask(Library(without=("nvmlSystemGetConfComputeState",)))
    assert isinstance(lacking.confidential, Missing)
    assert lacking.confidential.cause is Cause.UNSUPPORTED


def test_pairs_of_gpus(ask: Ask) -> None:
    pairs = ask(Library(gpus=3, facts={"ancestor": 10, "p2p": 1}, calls={"nvmlDeviceGetTopologyCommonAncestor.1": "return 3"})).pairs
    assert isinstance(pairs, tuple)
    assert [(pair.one, pair.other, pair.p2p) for pair in pairs] == [(a, b, "chipset-not-supported") for a, b in ((0, 1), (0, 2), (1, 2))]
    assert [pair.ancestor if isinstance(pair.ancestor, str) else pair.ancestor.cause for pair in pairs] == [
        "single-switch",
        "single-switch",
        Cause.UNSUPPORTED,
    ]


def test_a_process_is_named_without_its_folder(ask: Ask) -> None:
    nvml = ask(
        Library(gpus=[Card(compute_processes=((41, 1), (42, 1)))], processes={41: "/home/ada/venv/bin/python train.py --key /data/secret"})
    )
    assert isinstance(nvml.gpus, tuple)
    (gpu,) = nvml.gpus
    assert isinstance(gpu.compute_processes, tuple)
    assert gpu.compute_processes[0].name == "python"
    assert isinstance(gpu.compute_processes[1].name, Missing)


def test_an_old_driver_only_loses_its_missing_fields(card: AskCard) -> None:
    gpu = card(Card(), without=NAMED)
    lost = {name for name in gpu.__struct_fields__ if isinstance(getattr(gpu, name), Missing)}
    counted = {"ecc_corrected", "ecc_uncorrected", "ecc_corrected_total", "ecc_uncorrected_total", "pcie_replays", "held_back"}
    assert lost == {*counted, *READ_TWICE, *LACKED, "recovery_action", "nvlinks"}
    assert {getattr(gpu, name).cause for name in lost} == {Cause.UNSUPPORTED}


def test_one_failing_field_only_loses_itself(card: AskCard) -> None:
    gpu = card(Card(facts={"field_fails": "5:999"}))
    assert isinstance(gpu.ecc_corrected_total, Missing)
    assert "answered 999" in gpu.ecc_corrected_total.reason
    assert (gpu.ecc_corrected, gpu.ecc_uncorrected_total) == (0, 0)


def test_a_word_newer_than_this_program(card: AskCard) -> None:
    assert card(Card(recovery_action=42)).recovery_action == "code 42"


@pytest.mark.parametrize(
    ("function", "field"),
    [
        ("nvmlDeviceGetComputeMode", "compute_mode"),
        ("nvmlDeviceGetMigMode", "mig_enabled"),
        ("nvmlDeviceGetMemoryInfo", "memory_free"),
        ("nvmlDeviceGetTemperature", "temperature"),
        ("nvmlDeviceGetCudaComputeCapability", "compute_capability"),
    ],
)
def test_a_number_that_no_gpu_has_is_missing(card: AskCard, function: str, field: str) -> None:
    gpu = card(Card(), calls={function: "spoil garbage"})
    found = getattr(gpu, field)
    assert isinstance(found, Missing)
    assert (found.cause, found.reason.partition(":")[0]) == (Cause.FAILED, function)
    assert gpu.persistence is True


@pytest.mark.parametrize("library", [Library(calls={"nvmlDeviceGetCount": "spoil huge"}), Cuda(calls={"cuDeviceGetCount": "spoil huge"})])
def test_a_number_of_gpus_that_no_machine_has_is_not_walked(library: Library | Cuda, shim_environment: Shims) -> None:
    began = time.monotonic()
    seen = look(ProbeScope(python=sys.executable), shim_environment(library))[0]
    assert time.monotonic() - began < 20
    section = seen.nvml if isinstance(library, Library) else seen.libcuda
    assert isinstance(section, Nvml | Libcuda)
    counted = section.gpus if isinstance(section, Nvml) else section.devices
    assert isinstance(counted, Missing)
    assert ", which no " in counted.reason
