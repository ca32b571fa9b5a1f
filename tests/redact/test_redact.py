"""What must not appear on a public ticket, and what must."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpudoctor
from gpudoctor.redact import MAX_TEXT, Redactor, ReportOwner
from gpudoctor.redact.pseudonyms import REMOVED_MARK
from gpudoctor.snapshot import Missing, OpenEnum, Python, Snapshot
from tests.machines.diagnoses import diagnosis
from tests.machines.store import NAMES, recorded
from tests.seams.every import every

ALICE = Redactor(ReportOwner(homes=("/home/alice",), user="alice", users=("alice",), hosts=("node17.example.org", "node17")))
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
    "https://bob:pw@index.example/simple": f"https://{REMOVED_MARK}@<host>/simple",
    f"hf_{TOKEN}": REMOVED_MARK,
    f"use ghp_{TOKEN} now": f"use {REMOVED_MARK} now",
    "AKIAABCDEFGHIJKLMNOP": REMOVED_MARK,
    "password=hunter2": f"password={REMOVED_MARK}",
    "{'api_key': 'abc'}": f"{{'api_key': '{REMOVED_MARK}'}}",
    "Authorization: Bearer abc.def": f"Authorization: {REMOVED_MARK}",
    "/opt/alice/lib": "/opt/~/lib",
    "Permission denied for alice.": "Permission denied for <user>.",
    "alice@example.org": "<e-mail>",
    "on Node17: out of memory": "on <host>: out of memory",
    "node17.example.org": "<host>",
    "https://index.corp.example/simple": "https://<host>/simple",
    "pip install --index-url https://a:b@mirror.lan/x": f"pip install --index-url https://{REMOVED_MARK}@<host>/x",
    "10.0.0.7": "10.0.0.7",
    "address 10.0.0.7 refused": "address <address> refused",
    "bind to 8.8.8.8:53": "bind to <address>:53",
    "rank4-n12:29500": "<host>:29500",
    "::ffff:0:0 and 2001:db8::17": "::ffff:0:0 and <address>",
    "nfs1:/export/data": "<host>:/export/data",
    "\\\\fileserver\\share": "\\\\<host>\\share",
    "mallory@rack4-n12:~/train$ python x.py": "<user>@<host>:~/train$ python x.py",
    "[mallory@rack4 ~]$ nvidia-smi": "[<user>@<host> ~]$ nvidia-smi",
    "root@pod-zb5fm:/# nvidia-smi": "root@<host>:/# nvidia-smi",
    "p9r3n15:119869:119869 [0] INFO NET": "<host>:119869:119869 [0] INFO NET",
    "torchrun --master_addr p9r1n16 --master_port 16817": "torchrun --master_addr <host> --master_port 16817",
    "Using [0]veth75:fe80::14ad:64ff%veth75<0>": "Using [0]veth75:<address>%veth75<0>",
    "Nodelist:=  rack4-[10-11]": "Nodelist:=  <host>",
    "eyJhbGciOi1.eyJzdWIiOi1.c2ln": REMOVED_MARK,
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEYa": REMOVED_MARK,
}
KEPT = (
    "/usr/local/cuda-12.4/lib64",
    "/home",
    "alices",
    "node170",
    "nvidia-cudnn-cu12==9.3.0.75",
    "cuDNN 9.3.0.75 is older than 9.8.0.87",
    "nvidia-curand-cu12 10.3.9.90",
    "tensorrt 10.10.0.31 needs compute capability 7.0 or newer",
    "NVRM: Xid (PCI:2f3a:00:00): 79",
    "GD212:0000:07:00.0",
    "127.0.0.1:8080",
    "10:11:12",
    "https://docs.nvidia.com/deploy/cuda-compatibility/",
    "user@1000.service",
    "torch@file:///tmp/torch.whl",
    "numpy @ https://github.com/numpy",
    "libcudnn.so.9.3.0",
    "torch.cuda.is_available",
    "c10::cuda",
    "memcpy@GLIBC_2.14",
    "git+https://github.com/NVIDIA/cocoapi.git@v0.7.3#subdirectory=PythonAPI",
    "TensorFlow2/LanguageModeling/BERT/Dockerfile",
    "2.12.0.dev20260101+cu128",
    "/usr/lib/python3.11/site-packages/nvidia/cublas/lib/libcublasLt.so.12",
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
def test_what_is_removed(text: str, expected: str) -> None:
    assert ALICE.text(text) == expected


@pytest.mark.parametrize("text", [text for text in KEPT if text != "/home/alicent"])
def test_what_is_kept(text: str) -> None:
    assert ALICE.text(text) == text


def test_another_users_longer_name_is_not_ours() -> None:
    assert ALICE.text("/home/alicent/x") == "/home/~/x"


@pytest.mark.parametrize("home", ["", "/", "/home", "/usr", "relative"])
def test_an_invalid_home_is_ignored(home: str) -> None:
    assert Redactor(ReportOwner(homes=(home,))).text("/usr/lib/python3:/home:relative/x") == "/usr/lib/python3:/home:relative/x"


def test_root_at_home() -> None:
    assert Redactor(ReportOwner(homes=("/root",), user="root", users=("root",))).text("/root/.venv:/mnt/root/x") == "~/.venv:/mnt/root/x"


@pytest.mark.parametrize("name", ["python", "cuda", "test", "ubuntu", "vm"])
def test_a_generic_name_is_kept(name: str) -> None:
    redactor = Redactor(ReportOwner(user=name, users=(name,), hosts=(name,)))
    assert redactor.text(f"/usr/lib/{name}/x and {name}") == f"/usr/lib/{name}/x and {name}"


def test_without_an_owner_only_secrets_are_removed() -> None:
    assert Redactor().text(f"/home/alice/x on node17, 10.0.0.7:80, hf_{TOKEN}") == f"/home/alice/x on node17, 10.0.0.7:80, {REMOVED_MARK}"


def test_a_folder_has_one_name_throughout_a_snapshot() -> None:
    python = Python(executable="/home/alice/v/bin/python", why="", prefix="/home/alice/v", path=("/home/alice/v/lib",))
    redacted = ALICE.struct(Snapshot(created="", python=python, remarks=("in /home/alice/v",)))
    assert not isinstance(redacted.python, Missing)
    assert (redacted.python.executable, redacted.python.prefix, redacted.python.path) == ("~/v/bin/python", "~/v", ("~/v/lib",))
    assert redacted.remarks == ("in ~/v",)


def test_an_unknown_enumeration_member_is_redacted_too() -> None:
    class Word(OpenEnum):
        OURS = "alice"

    class Holder(msgspec.Struct):
        words: tuple[Word, ...]

    assert [str(word) for word in ALICE.struct(Holder((Word("alice"), Word(f"hf_{TOKEN}")))).words] == ["alice", REMOVED_MARK]


def test_an_endless_text_is_cut_without_half_a_word() -> None:
    secret = f"ghp_{TOKEN}{TOKEN}"
    for shift in range(0, 60, 7):
        text = ALICE.text("x" * (MAX_TEXT - shift - 1) + f" {secret} " + "y" * 200_000)
        assert "ghp" not in text
        assert text.endswith("characters more)")
        assert text.count("x") + int(re.search(r"\((\d+) characters more\)$", text)[1]) >= MAX_TEXT - shift + 200_000  # type: ignore[index]
        assert len(text) < MAX_TEXT + 50


@given(st.text(max_size=200))
def test_redaction_is_idempotent(text: str) -> None:
    once = ALICE.text(text)
    assert Redactor(ALICE.owner).text(once) == once


@every("name", NAMES)
def test_nothing_in_a_recorded_machine_looks_like_a_name(name: str) -> None:
    assert ALICE.struct(recorded(name)) == recorded(name)
    assert ALICE.struct(diagnosis(name)) == diagnosis(name)


@pytest.mark.parametrize("package", ["diagnose", "signatures", "frameworks", "manual"])
def test_addresses_in_our_own_fixes_and_pages_are_kept(package: str) -> None:
    files = [path for path in (Path(gpudoctor.__file__).parent / package).rglob("*") if path.suffix in {".py", ".md"}]
    addresses = sorted({found for file in files for found in re.findall(r"https?://[A-Za-z0-9.-]+[A-Za-z]", file.read_text())})
    assert addresses
    assert [address for address in addresses if ALICE.text(f"{address}/page") != f"{address}/page"] == []
