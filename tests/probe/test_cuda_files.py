from __future__ import annotations

import os
from pathlib import Path

from gpudoctor.probe.cuda_files import cuda_files
from gpudoctor.snapshot import Cause, CudaFiles, Fact, KernelDriver, Missing
from tests.machines.recipes.cuda import elf
from tests.probe.places import plant

NO_DRIVER = Missing(Cause.ABSENT, "not loaded")
LOADED = KernelDriver(version=Fact("550.163.01", "/proc/driver/nvidia/version"))


def found(root: str, driver: KernelDriver | Missing = NO_DRIVER, **environ: str) -> CudaFiles:
    return cuda_files(root, environ, driver)


def test_an_empty_machine(tmp_path: Path) -> None:
    assert found(str(tmp_path)) == CudaFiles((), (), ())


def test_class_machine_and_the_file_behind_a_link(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01": elf(64, 62),
            "usr/lib/i386-linux-gnu/libcuda.so.1": elf(32, 3),
            "usr/lib64/libcuda.so.1": elf(64, 999),
            "usr/lib/wsl/lib/libcuda.so.1": "",
            "usr/lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.1": elf(64, 62),
        },
    )
    (tmp_path / "usr/lib/x86_64-linux-gnu/libcuda.so.1").symlink_to("libcuda.so.550.163.01")
    files = found(root)
    seen = {file.path: (file.real, file.bits, file.machine) for file in files.libcuda}
    assert seen["/usr/lib/x86_64-linux-gnu/libcuda.so.1"] == ("/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01", 64, "x86_64")
    assert seen["/usr/lib/i386-linux-gnu/libcuda.so.1"][1:] == (32, "i386")
    assert seen["/usr/lib64/libcuda.so.1"][1:] == (64, "machine 999")
    empty = seen["/usr/lib/wsl/lib/libcuda.so.1"][1]
    assert isinstance(empty, Missing)
    assert empty.cause is Cause.ABSENT
    assert [file.path for file in files.ptx_compiler] == ["/usr/lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.1"]


def test_configured_folders_come_first(tmp_path: Path) -> None:
    root = plant(
        tmp_path,
        {
            "etc/ld.so.conf": "include /etc/ld.so.conf.d/*.conf\n",
            "etc/ld.so.conf.d/cuda.conf": "# of an image\n/usr/local/cuda/compat # newer\nrelative\n",
            "etc/ld.so.conf.d/readme": "/nowhere\n",
            "usr/local/cuda/compat/libcuda.so.1": elf(64, 62),
            "opt/first/libcuda.so.1": elf(64, 62),
            "usr/lib64/libcuda.so.1": elf(64, 62),
        },
    )
    files = found(root, LD_LIBRARY_PATH=":relative:/opt/first/:/opt/gone")
    assert files.loader_folders == ("/opt/first", "/opt/gone", "/usr/local/cuda/compat")
    assert [file.path for file in files.libcuda] == [
        "/opt/first/libcuda.so.1",
        "/usr/local/cuda/compat/libcuda.so.1",
        "/usr/lib64/libcuda.so.1",
    ]


def test_a_loaded_drivers_library_without_its_link_is_found(tmp_path: Path) -> None:
    root = plant(tmp_path, {"usr/lib64/libcuda.so.550.163.01": elf(64, 62)})
    assert found(root).libcuda == ()
    assert [file.path for file in found(root, LOADED).libcuda] == ["/usr/lib64/libcuda.so.550.163.01"]


def test_garbage_is_harmless(tmp_path: Path) -> None:
    root = plant(tmp_path, {"usr/lib": b"a file in a folder's place", "usr/lib64/libcuda.so": b"INPUT(-lcuda)"})
    (tmp_path / "usr/lib64/libcuda.so.1").symlink_to("libcuda.so.1")
    os.mkfifo(tmp_path / "usr/lib64/libnvidia-ptxjitcompiler.so.1")
    files = found(root, LD_LIBRARY_PATH="/\udcff:/x\0y")
    loop, pipe = files.libcuda[0], files.ptx_compiler[0]
    assert isinstance(loop.bits, Missing)
    assert loop.bits.cause is Cause.FAILED
    assert isinstance(pipe.bits, Missing)
