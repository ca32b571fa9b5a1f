"""`nvidia-smi -L`, `nvlink -s` and `topo -m`."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gpudoctor.matrix import Matrix
from gpudoctor.read.lines import lines_of
from gpudoctor.read.readers import nvidia_smi_links
from gpudoctor.snapshot import GpuPair, Missing, Nvml
from tests.read.seeing import found, gpus, read

LIST = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77)
  MIG 3g.40gb     Device  0: (UUID: MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f)
  MIG 2g.20gb     Device  1: (UUID: MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-1d00f0d2-1111-2222-3333-c36ce8a7b3ab)
"""
OLD_INSTANCE = "  MIG 1g.5gb Device 0: (UUID: MIG-GPU-e91edf3b-b297-37c1-a2a7-7601c3238fa2/7/0)\n"
LINKS = """\
GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000001)
\t Link 0: 14.062 GB/s
\t Link 1: 14.062 GB/s
GPU 1: NVIDIA GeForce RTX 3090 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000002)
\t Link 0: 14.062 GB/s
\t Link 1: <inactive>
"""
TOPOLOGY = """\
	GPU0	GPU1	GPU2	NIC0	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	NV12	SYS	PIX	0-31	0		N/A
GPU1	NV12	 X 	PHB	SYS	0-31	0		N/A
GPU2	SYS	PHB	 X 	SYS	32-63	1		N/A
NIC0	PIX	SYS	SYS	 X

Legend:
  X    = Self
"""


def stated(text: str) -> dict[str, str]:
    assert nvidia_smi_links.READER.blocks is not None
    return {block.what: block.value for block in nvidia_smi_links.READER.blocks(lines_of(text.encode(), "a text"))}


def test_gpus_and_their_mig_instances_are_listed(matrix: Matrix) -> None:
    divided, whole = gpus(LIST, matrix)
    assert (divided.uuid, divided.mig_enabled) == ("GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77", True)
    assert isinstance(divided.mig_instances, tuple)
    assert [(instance.name, instance.uuid) for instance in divided.mig_instances] == [
        ("3g.40gb", "MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f"),
        ("2g.20gb", "MIG-cba663e8-9bed-5b25-b243-5985ef7c9beb"),
    ]
    assert isinstance(whole.mig_instances, Missing)


def test_an_instance_of_older_drivers_is_listed() -> None:
    assert stated(LIST.splitlines()[0] + "\n" + OLD_INSTANCE)["mig uuid:0/0"] == "1g.5gb MIG-GPU-e91edf3b-b297-37c1-a2a7-7601c3238fa2/7/0"


def test_an_inactive_nvlink_is_found(matrix: Matrix) -> None:
    first, second = gpus(LINKS, matrix)
    assert isinstance(first.nvlinks, tuple)
    assert [(link.active, link.speed) for link in first.nvlinks] == [(True, 14062), (True, 14062)]
    assert isinstance(second.nvlinks, tuple)
    assert second.nvlinks[1].active is False
    assert found(LINKS, matrix) == ["nvlink-inactive"]
    assert found(LINKS.replace("<inactive>", "14.062 GB/s"), matrix) == []


def test_paths_between_gpus_are_read(matrix: Matrix) -> None:
    nvml = read(LIST + TOPOLOGY, matrix).nvml
    assert isinstance(nvml, Nvml)
    assert isinstance(nvml.pairs, tuple)
    assert [(pair.one, pair.other) for pair in nvml.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert nvml.pairs[2] == GpuPair(one=1, other=2, ancestor="host-bridge")
    assert isinstance(nvml.pairs[0].ancestor, Missing)


def test_a_cut_off_list_states_the_same_of_what_is_left() -> None:
    for text in (LIST, LINKS, TOPOLOGY):
        lines = text.splitlines()
        for end in range(len(lines)):
            assert stated("\n".join(lines[:end])).items() <= stated(text).items()


def test_other_lists_state_nothing() -> None:
    assert stated("Link 0: 14 GB/s\nGPU0 X SYS\nGPU 0: training on it\nMIG 3g.40gb Device 0: (UUID: MIG-c6d4f1ef-42e4)\n") == {}


@settings(deadline=None)
@given(st.sampled_from([LIST, LINKS, TOPOLOGY]), st.integers(0, 500), st.integers(0, 200), st.text(max_size=60))
def test_any_cut_and_any_insertion_are_read_without_an_error(matrix: Matrix, text: str, at: int, length: int, insertion: str) -> None:
    gpus(text[:at] + insertion + text[at + length :], matrix)
