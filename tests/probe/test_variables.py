"""Which environment variables are kept, and how much of their values."""

from __future__ import annotations

import os

import pytest

from gpudoctor.probe.variables import SET_MARK, relevant_variables
from gpudoctor.snapshot.variable_names import ONLY_SET, WHOLE
from tests.machines.store import NAMES, load


def test_variables_are_taken_by_name() -> None:
    environ = {
        "CUDA_VISIBLE_DEVICES": "",
        "CUDA_SECRET_PLAN": "x",
        "LD_LIBRARY_PATH": "/home/alice/cuda/lib64:",
        "TF_VAR_db": "x",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
        "NCCL_IB_PKEY": "0x7fff",
        "NCCL_OF_A_PLUGIN": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PATH": "/bin",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_USER": "alice",
    }
    assert relevant_variables(environ) == {
        "CUDA_VISIBLE_DEVICES": "",
        "LD_LIBRARY_PATH": "/home/alice/cuda/lib64:",
        "NCCL_IB_PKEY": "0x7fff",
        "SLURM_JOB_ID": "7",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
    }


@pytest.mark.parametrize("name", ["TF_CONFIG", "JAX_COORDINATOR_ADDRESS", "NCCL_COMM_ID", "NVIDIA_API_KEY", "KUBERNETES_SERVICE_HOST"])
def test_only_the_presence_of_private_variables_is_kept(name: str) -> None:
    assert relevant_variables({name: "node17:29500"}) == {name: SET_MARK}
    assert relevant_variables({name: ""}) == {name: ""}


def test_each_name_is_valid_and_listed_once() -> None:
    assert not WHOLE & ONLY_SET
    assert all(name.isidentifier() and name.isupper() for name in WHOLE | ONLY_SET)


def test_every_variable_of_a_recorded_machine_is_on_a_list() -> None:
    seen = {name for machine in NAMES for name in load(machine)["snapshot"]["variables"].get("values", {})}
    assert seen <= WHOLE | ONLY_SET


def test_undecodable_values_are_spelt_out() -> None:
    assert relevant_variables({"CUDA_PATH": os.fsdecode(b"/\xff")}) == {"CUDA_PATH": "/\\xff"}
