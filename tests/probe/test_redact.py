"""What must not stand on a public ticket, and what must."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.probe.redact import REMOVED, Redactor
from gpudoctor.probe.variables import variables
from gpudoctor.snapshot import Missing, Python, Snapshot

ALICE = Redactor("/home/alice", "alice")
TOKEN = "A1b2C3d4E5f6G7h8I9j0"

GONE = {
    "/home/alice/venv/bin/python": "~/venv/bin/python",
    "/home/alice": "~",
    "/usr/lib:/home/alice/lib:/opt": "/usr/lib:~/lib:/opt",
    "-L/home/alice/lib": "-L~/lib",
    "file:///home/alice/x.whl": "file://~/x.whl",
    "/home/bob/lib": "/home/~/lib",
    "/backup/home/bob/lib": "/backup/home/~/lib",
    "/Users/Bob/lib": "/Users/~/lib",
    "/mnt/c/Users/Bob/cuda": "/mnt/c/Users/~/cuda",
    r"C:\Users\Bob\cuda": r"C:\Users\~\cuda",
    "/scratch/alice/env/lib": "/scratch/~/env/lib",
    "https://bob:pw@index.example/simple": f"https://{REMOVED}@index.example/simple",
    f"hf_{TOKEN}": REMOVED,
    f"use ghp_{TOKEN} now": f"use {REMOVED} now",
    "AKIAABCDEFGHIJKLMNOP": REMOVED,
    "password=hunter2": f"password={REMOVED}",
    "{'api_key': 'abc'}": f"{{'api_key': '{REMOVED}'}}",
    "Authorization: Bearer abc.def": f"Authorization: {REMOVED}",
    "eyJhbGciOi1.eyJzdWIiOi1.c2ln": REMOVED,
}
KEPT = (
    "/usr/local/cuda-12.4/lib64",
    "/opt/alice/lib",
    "/home",
    "/homes/x",
    "/root/x",
    "nvmlDeviceGetName answered 15 (GPU is lost)",
    "max_tokens: 512",
    "GPU-a1000000-1c2d-3e4f-5a6b-700000000000",
    "0000:3b:00.0",
    "sm_60",
    "--xla_gpu_cuda_data_dir=/usr/local/cuda",
    "/home/alicent",
)


@pytest.mark.parametrize(("text", "expected"), GONE.items())
def test_what_goes(text: str, expected: str) -> None:
    assert ALICE.text(text) == expected


@pytest.mark.parametrize("text", [text for text in KEPT if text != "/home/alicent"])
def test_what_stays(text: str) -> None:
    assert ALICE.text(text) == text


def test_another_users_longer_name_is_not_taken_for_ours() -> None:
    assert ALICE.text("/home/alicent/x") == "/home/~/x"


@pytest.mark.parametrize("home", ["", "/", "/home", "/usr", "relative"])
def test_a_home_that_is_no_home_is_left_alone(home: str) -> None:
    assert Redactor(home).text("/usr/lib/python3:/home:relative/x") == "/usr/lib/python3:/home:relative/x"


def test_root_at_home() -> None:
    redactor = Redactor("/root", "root")
    assert redactor.text("/root/.venv:/mnt/root/x") == "~/.venv:/mnt/root/x"


def test_a_linked_home_is_known_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    redactor = Redactor(str(tmp_path / "link"))
    assert redactor.text(f"{tmp_path}/link/a {tmp_path}/real/a") == "~/a ~/a"


def test_identify_keeps_who_and_never_secrets() -> None:
    redactor = Redactor("/home/alice", "alice", identify=True)
    assert redactor.text(f"/home/alice/x hf_{TOKEN}") == f"/home/alice/x {REMOVED}"


def test_a_folder_is_named_alike_throughout_a_snapshot() -> None:
    python = Python(executable="/home/alice/v/bin/python", why="", prefix="/home/alice/v", path=("/home/alice/v/lib",))
    redacted = ALICE.struct(Snapshot(created="", python=python, remarks=("in /home/alice/v",)))
    assert not isinstance(redacted.python, Missing)
    assert (redacted.python.executable, redacted.python.prefix, redacted.python.path) == ("~/v/bin/python", "~/v", ("~/v/lib",))
    assert redacted.remarks == ("in ~/v",)


def test_only_variables_on_the_list_and_none_that_is_a_secret() -> None:
    environ = {
        "CUDA_VISIBLE_DEVICES": "",
        "LD_LIBRARY_PATH": "/home/alice/cuda/lib64:",
        "NVIDIA_API_KEY": "abc",
        "TF_VAR_db": "x",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
        "NCCL_IB_PKEY": "0x7fff",
        "AWS_SECRET_ACCESS_KEY": "x",
        "PATH": "/bin",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_USER": "alice",
    }
    assert variables(environ, ALICE).values == {
        "CUDA_VISIBLE_DEVICES": "",
        "LD_LIBRARY_PATH": "~/cuda/lib64:",
        "NCCL_IB_PKEY": "0x7fff",
        "NVIDIA_API_KEY": REMOVED,
        "SLURM_JOB_ID": "7",
        "TF_XLA_FLAGS": "--tf_xla_auto_jit=2",
    }
