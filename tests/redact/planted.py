"""Secrets and names, and examinations with one of them in every field that can hold a text."""

from __future__ import annotations

import enum
import functools
from typing import Any

import msgspec
from msgspec import inspect

from gpudoctor.diagnose.rules.hardware.no_gpu import no_gpu as NO_GPU  # noqa: N812 -- a rule
from gpudoctor.examination import Examination
from gpudoctor.findings import Finding
from gpudoctor.snapshot import Missing, OpenEnum

LETTERS = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1BcD4FgH7jKl0N"
HOME, USER, HOST = "/somewhere/alice", "alice", "node17"
PASSWD = f"root:x:0:0::/root:/bin/sh\ncarol:x:1007:1007::/somewhere/carol:/bin/sh\n{USER}:x:{{uid}}:100::{HOME}:/bin/sh\n"

# split, or scanners would report this file as a leak
SECRETS = {
    "GitHub": "ghp_" + LETTERS[:36],
    "GitHub, fine-grained": "github_pat_" + LETTERS[:22] + "_" + LETTERS,
    "GitLab": "glpat-" + LETTERS[:20],
    "Hugging Face": "hf_" + LETTERS[:34],
    "OpenAI": "sk-" + "proj-" + LETTERS,
    "Stripe": "rk_live_" + LETTERS[:24],
    "NGC": "nvapi-" + LETTERS + LETTERS[:24],
    "Google": "AIza" + LETTERS[:35],
    "Google OAuth": "ya29." + LETTERS,
    "Docker": "dckr_pat_" + LETTERS[:27],
    "Grafana": "glsa_" + LETTERS[:32] + "_0a1b2c3d",
    "npm": "npm_" + LETTERS[:36],
    "PyPI": "pypi-" + "AgEIcHlwaS5vcmc" + LETTERS,
    "SendGrid": "SG." + LETTERS[:22] + "." + LETTERS + "xyz",
    "Slack": "xoxb-" + "123456789012-" + LETTERS[:24],
    "Azure": "sv=2022-11-02&sig=" + LETTERS + "%2Bw%3D",
    "Azure key": "AccountKey=" + LETTERS + LETTERS + "abcdef==",
    "bearer": "Bearer " + LETTERS,
    "AWS id": "AKIA" + "IOSFODNN7EXAMPL0",
    "AWS secret": "wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY",
    "JWT": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0." + LETTERS,
    "URL": "https://robot:" + LETTERS[:12] + "@index.example/simple",
    "named": "WANDB_API_KEY=" + LETTERS,
    "in JSON": '{"password": "' + LETTERS[:10] + ' with words"}',
    "option": "--token " + LETTERS[:12],
    "private key": "-----BEGIN RSA PRIVATE KEY-----\n" + LETTERS + "\n" + LETTERS + "\n-----END RSA PRIVATE KEY-----",
}
LEFT = LETTERS[2:10], "EXAMPL0", "K7MDENG", "zdWIi"
"""Parts of the secrets; none may remain."""

NAMES = {
    "home": f"{HOME}/venv/lib",
    "home of another": "/somewhere/carol/cuda",
    "home of a stranger": "/home/mallory/cuda",
    "user in a path": f"/scratch/{USER}/data",
    "user in a log": f"permission denied for {USER}",
    "host": f"timeout on {HOST}",
    "host in NCCL's log": f"{HOST}:4711:4711 [0] NCCL INFO Bootstrap",
    "another host in NCCL's log": "rack4-n12:4711:4712 [0] NCCL WARN Call to connect failed",
    "domain": f"resolved {HOST}.cluster.example.org",
    "another's domain": "cannot reach db7.internal.example.com",
    "kernel's log": "Nov 22 10:11:12 rack4-n12 kernel: NVRM: loading",
    "rendezvous": "connect to [rack4-n12]:29500 failed",
    "index": "Looking in indexes: https://index.corp.example/simple",
    "address": "connected to 10.20.30.40:29500",
    "bare address": "192.168.17.4",
    "interface": "NET/Socket : Using [0]eth0:172.16.5.9<0>",
    "address of version 6": "listening on fe80::1ff:fe23:4567:890a",
    "long address": "2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "hardware address": "eth0 52:54:00:ab:cd:ef",
    "prompt": "mallory@rack4-n12:~/train$ nvidia-smi",
    "e-mail": f"{USER}.liddell@example.org",
}
NAMED = (
    HOME,
    USER,
    "carol",
    "mallory",
    HOST,
    "rack4",
    "example",
    "10.20.30.40",
    "192.168",
    "172.16",
    "fe23:",
    ":8a2e",
    "52:54:00:",
    "liddell",
)


DEVICES = {
    "serial number of nvidia-smi -q": "    Serial Number                         : 1324021057683",
    "serial number in a log": "NVRM: GPU at PCI:0000:07:00: serial number 1324021057683",
    "asset tag": "Asset Tag: RACK-77Z1",
    "GPU": "GPU-8f6f2c4e-1b2a-4c3d-9e8f-0a1b2c3d4e5f",
    "GPU in a path": "/var/run/cdi/GPU-8f6f2c4e-1b2a-4c3d-9e8f-0a1b2c3d4e5f/x",
    "GPU, upper case": "GPU-8F6F2C4E-1B2A-4C3D-9E8F-0A1B2C3D4E5F",
    "shortened": "CUDA_VISIBLE_DEVICES=GPU-8f6f2c4e",
    "MIG": "MIG-8f6f2c4e-1b2a-4c3d-9e8f-0a1b2c3d4e5f",
    "MIG of old drivers": "MIG-GPU-8f6f2c4e-1b2a-4c3d-9e8f-0a1b2c3d4e5f/1/0",
    "any": "pod 8f6f2c4e-1b2a-4c3d-9e8f-0a1b2c3d4e5f evicted",
}
IDENTIFIED = ("1324021057683", "77Z1", "8f6f2c4e", "8F6F2C4E", "0a1b2c3d4e5f")


@functools.cache
def examination(text: str, *, gaps: bool) -> Examination:
    """One with `text` in every field that can hold it; with `gaps`, in the reason of every value that can be missing."""
    made: Examination = _value(_described(), text, gaps=gaps)
    return made


@functools.cache
def _described() -> inspect.Type:
    return inspect.type_info(Examination)


def _value(kind: Any, text: str, *, gaps: bool) -> Any:
    match kind:
        case inspect.UnionType(types=types):
            missing = [struct_type for struct_type in types if isinstance(struct_type, inspect.StructType) and struct_type.cls is Missing]
            rest = [one for one in types if one not in missing and not isinstance(one, inspect.NoneType)]
            texts = [str_type for str_type in rest if isinstance(str_type, inspect.StrType)]
            return _value((missing if gaps and missing else texts or rest)[0], text, gaps=gaps)
        case inspect.StructType(cls=cls, fields=fields):
            values = {field.name: _value(field.type, text, gaps=gaps) for field in fields}
            return cls(**(values | {"code": NO_GPU.code, "name": NO_GPU.name} if cls is Finding else values))  # only a rule has a page
        case inspect.EnumType(cls=cls):
            return _word(cls, text)
        case inspect.VarTupleType(item_type=item):
            return (_value(item, text, gaps=gaps),)
        case inspect.DictType():
            return {text: text}
        case inspect.Metadata(type=described):
            return _value(described, text, gaps=gaps)
        case inspect.LiteralType(values=words):
            return words[0]
    plain: dict[Any, Any] = {inspect.StrType: text, inspect.IntType: 0, inspect.FloatType: 0.5, inspect.BoolType: False}
    return plain[type(kind)]


def _word(cls: type[enum.Enum], text: str) -> enum.Enum:
    """A word of a newer version, if the enumeration is open."""
    return cls(text) if issubclass(cls, OpenEnum) else next(iter(cls))


def count(value: Any, text: str) -> int:
    """How many times `text` occurs in a structure."""
    return repr(msgspec.to_builtins(value)).count(repr(text)[1:-1])
