"""Environment variables that a framework's import refuses, by what the installed files accept."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudoctor.children.own.xray.disk import Disk
from gpudoctor.children.own.xray.refused_variables import refused_variables
from gpudoctor.elf.system import FileTree
from gpudoctor.frameworks import spec_of

FILES = {
    # as in the wheels of torch 2.13.0, jax 0.6.2, keras 3.10.0 and tensorflow 2.18.0, shortened
    "torch/_logging/_registrations.py": 'register_log("dynamo", ["torch._dynamo", *DYNAMIC])\nregister_artifact(\n    "guards",\n    "This prints",\n)\n',
    "torch/jit/_state.py": '        raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")\n',
    "torch/nn/__init__.py": "",
    "torch/__init__.py": "",
    "jax/_src/config.py": "enable_x64 = bool_state(\n    name='jax_enable_x64',\n    default=False)\n"
    "default_matmul_precision = optional_enum_state(\n    name='jax_default_matmul_precision',\n    enum_values=[\n        # Legacy\n"
    "        'default', 'high', 'highest',\n        'tensorfloat32'],\n    default=None)\n",
    "keras/src/backend/__init__.py": 'if backend() == "tensorflow":\n    pass\nelif backend() == "jax":\n    pass\nelse:\n    raise ValueError(f"Unable to import backend : {backend()}")\n',
    "tensorflow/python/util/all_util.py": "    for m in _reference_pattern.finditer(doc_module.__doc__)\n",
}


def planted(site: Path, *without: str) -> Disk:
    for path, text in FILES.items():
        if path not in without:
            (site / path).parent.mkdir(parents=True, exist_ok=True)
            (site / path).write_text(text)
    return Disk(FileTree("/", []), (str(site),), ())


@pytest.mark.parametrize(
    ("framework", "variable", "value", "refused"),
    [
        ("torch", "TORCH_LOGS", "graphs", True),
        ("torch", "TORCH_LOGS", "help", True),
        ("torch", "TORCH_LOGS", "dynamo,,guards", True),
        ("torch", "TORCH_LOGS", "+dynamo, -guards", False),
        ("torch", "TORCH_LOGS", "all,torch.nn", False),
        ("torch", "TORCH_LOGS", "", False),
        ("torch", "PYTORCH_JIT", "maybe", True),
        ("torch", "PYTORCH_JIT", "0", False),
        ("torch", "JAX_ENABLE_X64", "maybe", False),
        ("jax", "JAX_ENABLE_X64", "maybe", True),
        ("jax", "JAX_ENABLE_X64", "True", False),
        ("jax", "JAX_DEFAULT_MATMUL_PRECISION", "bad", True),
        ("jax", "JAX_DEFAULT_MATMUL_PRECISION", "highest", False),
        ("jax", "JAX_OF_ANOTHER_RELEASE", "x", False),
        ("tensorflow", "KERAS_BACKEND", "theano", True),
        ("tensorflow", "KERAS_BACKEND", "jax", False),
        ("tensorflow", "PYTHONOPTIMIZE", "2", True),
        ("tensorflow", "PYTHONOPTIMIZE", "1", False),
        ("tensorflow", "PYTHONOPTIMIZE", "x", False),
        ("torch", "PYTHONOPTIMIZE", "2", False),
    ],
)
def test_a_variable_is_refused_by_what_the_release_accepts(
    tmp_path: Path, framework: str, variable: str, value: str, refused: bool
) -> None:
    found = list(refused_variables(planted(tmp_path), str(tmp_path), spec_of(framework).accepted_values, {variable: value, "HOME": "/"}))
    assert [(name, said) for name, said, _ in found] == ([(variable, value)] if refused else [])


@pytest.mark.parametrize(("variable", "file"), [("TORCH_LOGS", "torch/_logging/_registrations.py"), ("PYTORCH_JIT", "torch/jit/_state.py")])
def test_of_a_release_without_the_file_nothing_is_known(tmp_path: Path, variable: str, file: str) -> None:
    disk = planted(tmp_path, file)
    assert not list(refused_variables(disk, str(tmp_path), spec_of("torch").accepted_values, {variable: "graphs"}))
