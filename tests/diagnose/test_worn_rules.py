"""Where the rules about heat, time held back, links, clocks, spare rows, BARs and NVSwitches draw their lines."""

from __future__ import annotations

from typing import Any

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Confidence, Finding, Outcome, OutcomeKind, Policy, Severity
from gpudoctor.matrix import Matrix
from gpudoctor.snapshot import (
    AllReduce,
    ApplicationClocks,
    Bar1,
    Cause,
    EccPlace,
    Heat,
    HeldBack,
    KernelLog,
    Missing,
    Nvml,
    NvmlGpu,
    Pci,
    PciBar,
    Snapshot,
    SpareRows,
    Stage,
    StageKind,
    StageState,
    Sum,
    XidEvent,
)
from tests.builders import SUCCESS, address, card, machine, smoke
from tests.machines.store import NAMES, recorded

GIB = 1 << 30
SECOND = 1_000_000_000
UNSUPPORTED = Missing(Cause.UNSUPPORTED, "answered 3 (Not Supported)")
SWITCH = "0000:90:00.0"


def nvml(*cards: dict[str, Any]) -> Nvml:
    """A100s that differ in these fields."""
    usual: dict[str, Any] = {"name": "NVIDIA A100-SXM4-80GB", "virtualization": "none", "clocks_event_reasons": 1}
    return Nvml(
        init=SUCCESS, gpus=tuple(NvmlGpu(number, address=address(number), **{**usual, **fields}) for number, fields in enumerate(cards))
    )


def found(name: str, snapshot: Snapshot, matrix: Matrix) -> list[Finding]:
    return [one for one in diagnose(snapshot, matrix, Policy(level=None)).findings if one.name == name]


def outcome(name: str, snapshot: Snapshot, matrix: Matrix) -> Outcome:
    return next(one for one in diagnose(snapshot, matrix, Policy(level=None)).outcomes if one.name == name)


def one(**fields: Any) -> Snapshot:
    return machine(1, nvml=nvml(fields))


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


@pytest.mark.parametrize("name", NAMES)
def test_what_nvml_says_of_a_gpu_is_never_left_unsaid(name: str, matrix: Matrix) -> None:
    snapshot = recorded(name)
    gpus = snapshot.nvml.gpus if isinstance(snapshot.nvml, Nvml) and isinstance(snapshot.nvml.gpus, tuple) else ()
    wanted = {(name, gpu.address) for gpu in gpus if isinstance(gpu.address, str) for name in alarming(gpu)}
    said = {(finding.name, finding.subject.key) for finding in diagnose(snapshot, matrix, Policy(level=None)).findings} if wanted else set()
    assert wanted <= said


class TestHeat:
    @pytest.mark.parametrize(("degrees", "severity"), [(88, None), (89, Severity.WARNING), (91, Severity.WARNING), (92, Severity.ERROR)])
    def test_a_temperature_at_its_limit(self, matrix: Matrix, degrees: int, severity: Severity | None) -> None:
        hot = one(temperature=degrees, temperature_slowdown=89, temperature_shutdown=92)
        assert [finding.severity for finding in found("thermal-throttled", hot, matrix)] == ([severity] if severity else [])

    @pytest.mark.parametrize(("margin", "severity"), [(-1, None), (-2, Severity.WARNING), (-8, Severity.ERROR)])
    def test_a_margin_that_is_used_up(self, matrix: Matrix, margin: int, severity: Severity | None) -> None:
        hot = one(heat=Heat(margin=margin, slowdown_tlimit=-2, shutdown_tlimit=-8))
        assert [finding.severity for finding in found("thermal-throttled", hot, matrix)] == ([severity] if severity else [])

    def test_memory_has_a_limit_of_its_own(self, matrix: Matrix) -> None:
        assert not found("thermal-throttled", one(temperature=40, heat=Heat(memory=94, memory_limit=95)), matrix)
        (finding,) = found("thermal-throttled", one(temperature=40, heat=Heat(memory=95, memory_limit=95)), matrix)
        assert "memory at 95 °C" in finding.message

    def test_a_limit_of_zero_is_none(self, matrix: Matrix) -> None:
        cool = one(temperature=33, temperature_slowdown=0, temperature_shutdown=0, heat=Heat(memory=0, memory_limit=0))
        assert outcome("thermal-throttled", cool, matrix).kind is OutcomeKind.PASSED

    def test_too_hot_is_found_where_the_driver_gives_no_reasons(self, matrix: Matrix) -> None:
        mute = {"clocks_event_reasons": UNSUPPORTED}
        assert found("thermal-throttled", one(temperature=95, temperature_slowdown=89, **mute), matrix)
        assert outcome("thermal-throttled", one(temperature=40, **mute), matrix).kind is OutcomeKind.NOT_APPLICABLE

    def test_a_slowdown_is_said_once(self, matrix: Matrix) -> None:
        (finding,) = found("thermal-throttled", one(temperature=90, temperature_slowdown=89, clocks_event_reasons=0x48), matrix)
        assert "slows its clocks" not in finding.message


class TestTimeHeldBack:
    @pytest.mark.parametrize(("first", "later", "severity"), [
        (0, 0, None), (SECOND - 1, SECOND - 1, None), (SECOND, SECOND, Severity.NOTE), (0, 1000, Severity.WARNING), (5 * SECOND, 0, Severity.NOTE),
    ])  # fmt: skip
    def test_heat_that_is_past_is_a_note(self, matrix: Matrix, first: int, later: int, severity: Severity | None) -> None:
        held = one(held_back=HeldBack(thermal=first), held_back_later=HeldBack(thermal=later))
        assert [finding.severity for finding in found("thermal-throttled", held, matrix)] == ([severity] if severity else [])

    def test_the_counters_of_newer_drivers_are_read_too(self, matrix: Matrix) -> None:
        held = one(held_back=HeldBack(thermal=UNSUPPORTED, thermal_by_hardware=7300 * SECOND))
        (finding,) = found("thermal-throttled", held, matrix)
        assert "for 2.0 h" in finding.message

    def test_full_load_at_the_power_limit_is_normal(self, matrix: Matrix) -> None:
        worked = one(
            held_back=HeldBack(power=10**15, low_utilization=10**15, reliability=10**15), held_back_later=HeldBack(power=2 * 10**15)
        )
        assert not diagnose(worked, matrix, Policy(level=None)).findings

    def test_a_brake_that_is_on_is_said_once(self, matrix: Matrix) -> None:
        braked = one(clocks_event_reasons=0x88, held_back=HeldBack(power_brake=SECOND), held_back_later=HeldBack(power_brake=2 * SECOND))
        assert len(found("power-throttled", braked, matrix)) == 1


class TestLink:
    @pytest.mark.parametrize(("lanes", "generation", "severity"), [
        (16, 4, None), (8, 4, Severity.NOTE), (16, 3, Severity.NOTE), (8, 3, Severity.WARNING), (4, 4, Severity.WARNING), (1, 1, Severity.WARNING),
    ])  # fmt: skip
    def test_what_the_slot_gives_of_what_the_card_could(
        self, matrix: Matrix, lanes: int, generation: int, severity: Severity | None
    ) -> None:
        link = {
            "link_width": lanes,
            "link_width_max": lanes,
            "link_generation": 1,
            "link_generation_max": generation,
            "link_generation_own": 4,
        }
        snapshot = machine(1, nvml=nvml(link), pci=Pci((card(0, link_width_max=16),)))
        assert [finding.severity for finding in found("pcie-link-degraded", snapshot, matrix)] == ([severity] if severity else [])

    def test_another_model_is_no_sibling(self, matrix: Matrix) -> None:
        wide, narrow = {"link_width": 16, "link_width_max": 16}, {"link_width": 8, "link_width_max": 8}
        assert not found("pcie-link-degraded", machine(2, nvml=nvml(wide, {**narrow, "name": "NVIDIA L4"})), matrix)
        (finding,) = found("pcie-link-degraded", machine(2, nvml=nvml(wide, narrow)), matrix)
        assert (finding.subject.key, finding.severity) == (address(1), Severity.WARNING)


class TestSettings:
    def test_ecc_that_a_gpu_does_not_have_is_not_off(self, matrix: Matrix) -> None:
        kind = outcome("ecc-disabled", one(ecc_enabled=UNSUPPORTED, ecc_pending=UNSUPPORTED), matrix).kind
        assert kind is OutcomeKind.NOT_APPLICABLE

    def test_ecc_that_will_be_on_is_a_pending_change(self, matrix: Matrix) -> None:
        names = [finding.name for finding in diagnose(one(ecc_enabled=False, ecc_pending=True), matrix, Policy(level=None)).findings]
        assert names == ["ecc-change-pending"]

    @pytest.mark.parametrize(("mhz", "is_found"), [(1410, False), (1270, False), (1268, True), (705, True)])
    def test_application_clocks_against_their_default(self, matrix: Matrix, mhz: int, is_found: bool) -> None:
        clocks = ApplicationClocks(sm=mhz, sm_default=1410, memory=1593, memory_default=1593)
        assert bool(found("application-clocks-lowered", one(application_clocks=clocks), matrix)) is is_found

    def test_a_low_default_is_no_fault(self, matrix: Matrix) -> None:
        t4 = one(application_clocks=ApplicationClocks(sm=585, sm_default=585, memory=5001, memory_default=5001), clock_sm_max=1590)
        assert outcome("application-clocks-lowered", t4, matrix).kind is OutcomeKind.PASSED

    @pytest.mark.parametrize(("window", "total", "is_found"), [(256 << 20, 24, True), (256 << 20, 4, False), (32 * GIB, 24, False)])
    def test_a_window_that_is_small_for_its_memory(self, matrix: Matrix, window: int, total: int, is_found: bool) -> None:
        assert bool(found("resizable-bar-off", one(bar1=Bar1(window, 0), memory_total=total * GIB), matrix)) is is_found


class TestMemory:
    @pytest.mark.parametrize(("low", "none", "severity"), [(0, 0, None), (3, 0, Severity.NOTE), (3, 1, Severity.WARNING)])
    def test_banks_without_spare_rows(self, matrix: Matrix, low: int, none: int, severity: Severity | None) -> None:
        rows = SpareRows(max=600, high=1, partial=1, low=low, none=none)
        assert [finding.severity for finding in found("spare-rows-exhausted", one(spare_rows=rows), matrix)] == (
            [severity] if severity else []
        )

    def test_where_uncorrected_errors_were(self, matrix: Matrix) -> None:
        places = (EccPlace("memory", uncorrected=0), EccPlace("l2", uncorrected=2), EccPlace("quantum", uncorrected=1))
        (finding,) = found("ecc-hardware-error", one(ecc_enabled=True, ecc_uncorrected=3, ecc_places=places), matrix)
        assert [row.value for row in finding.evidence if row.what == "where"] == ["2 in the L2 cache, 1 in quantum"]


class TestBars:
    NOT_LISTED = Nvml(init=SUCCESS, gpus=())

    def lost(self, *lines: str, bars: tuple[PciBar, ...] | Missing = (), **changes: Any) -> Snapshot:
        log = KernelLog("/dev/kmsg", lines=lines)
        return machine(1, **{"nvml": self.NOT_LISTED, "pci": Pci((card(0, bars=bars, driver=UNSUPPORTED),)), "kernel_log": log, **changes})

    def test_a_bar_that_the_kernel_lists_without_place(self, matrix: Matrix) -> None:
        (finding,) = found("pci-bar-not-assigned", self.lost(bars=(PciBar(1, 32 * GIB, assigned=False),)), matrix)
        assert "BAR1" in finding.message

    @pytest.mark.parametrize("line", [
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)",
        "pci 0000:01:00.0: BAR 1 [mem size 0x800000000 64bit pref]: can't assign; no space",
        "pci 0000:01:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]",
        "pci 0000:01:00.0: BAR 1: failed to assign [mem size 0x800000000 64bit pref]",
    ])  # fmt: skip
    def test_a_bar_that_only_the_log_knows(self, matrix: Matrix, line: str) -> None:
        (finding,) = found("pci-bar-not-assigned", self.lost(line), matrix)
        assert "BAR1" in finding.message

    @pytest.mark.parametrize("line", [
        "pci 0000:01:00.0: BAR 7: no space for [mem size 0x02000000 64bit pref]",
        "pci 0000:01:00.0: VF BAR 2 [mem size 0x800000000 64bit pref]: can't assign; no space",
        "pci 0000:02:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]",
        "pci 0000:01:00.0: BAR 1 [mem 0x2000000000-0x27ffffffff 64bit pref]: assigned",
        "pcieport 0000:00:01.0: bridge window [mem size 0xc00000000 64bit pref]: can't assign; no space",
    ])  # fmt: skip
    def test_lines_about_something_else(self, matrix: Matrix, line: str) -> None:
        assert not found("pci-bar-not-assigned", self.lost(line), matrix)

    def test_a_bar_that_got_its_place_later(self, matrix: Matrix) -> None:
        tried = "pci 0000:01:00.0: BAR 1: no space for [mem size 0x800000000 64bit pref]"
        assert not found("pci-bar-not-assigned", self.lost(tried, bars=(PciBar(1, 32 * GIB, assigned=True),)), matrix)

    def test_a_gpu_that_is_open_has_what_it_needs(self, matrix: Matrix) -> None:
        opened = machine(1, pci=Pci((card(0, bars=(PciBar(5, 128, assigned=False),)),)))
        assert outcome("pci-bar-not-assigned", opened, matrix).kind is OutcomeKind.PASSED

    def test_bars_that_were_not_seen_are_not_passed(self, matrix: Matrix) -> None:
        unseen = self.lost(bars=Missing(Cause.DENIED, "may not be read"))
        assert outcome("pci-bar-not-assigned", unseen, matrix).kind is OutcomeKind.COULD_NOT_TELL


class TestSwitches:
    def logged(self, code: int, text: str, **changes: Any) -> Snapshot:
        event = XidEvent(code=code, address=SWITCH, text=text, switch=True, age=60.0)
        return machine(2, kernel_log=KernelLog("/dev/kmsg", events=(event,)), **changes)

    @pytest.mark.parametrize(("code", "text", "severity", "confidence"), [
        (22003, "Fatal, Link 30 Minion Halt", Severity.ERROR, Confidence.CERTAIN),
        (20034, "Fatal, Link 30 LTSSM Fault Up", Severity.WARNING, Confidence.CERTAIN),
        (99999, "Fatal, Link 30 something new", Severity.WARNING, Confidence.LIKELY),
    ])  # fmt: skip
    def test_a_fatal_error(self, matrix: Matrix, code: int, text: str, severity: Severity, confidence: Confidence) -> None:
        (finding,) = found("nvswitch-fatal-error", self.logged(code, text), matrix)
        assert (finding.severity, finding.confidence) == (severity, confidence)
        assert SWITCH in finding.message

    @pytest.mark.parametrize(("code", "text"), [(11012, "Non-fatal, Link 04"), (12028, "Non-fatal, Link 32"), (99999, "Non-fatal, Link 1")])
    def test_an_error_that_is_not_fatal(self, matrix: Matrix, code: int, text: str) -> None:
        assert not found("nvswitch-fatal-error", self.logged(code, text), matrix)

    def test_a_sum_over_the_gpus_that_was_right_since_makes_it_a_note(self, matrix: Matrix) -> None:
        run = AllReduce(
            devices=("GPU:0", "GPU:1"),
            p2p=True,
            stages=(Stage(StageKind.ALL_REDUCE, StageState.DONE),),
            sums=(Sum(1024, 5, 1e-4, 1e9, 0.0),),
        )
        (finding,) = found("nvswitch-fatal-error", self.logged(22003, "Fatal", smoke=(smoke(2, all_reduces=(run,)),)), matrix)
        assert finding.severity is Severity.NOTE

    def test_a_log_that_may_not_be_read_is_no_pass(self, matrix: Matrix) -> None:
        closed = machine(1, kernel_log=Missing(Cause.DENIED, "only root may read it"))
        assert outcome("nvswitch-fatal-error", closed, matrix).kind is OutcomeKind.COULD_NOT_TELL
