"""Changes that give a recorded machine another CUDA on disk and the matching X-ray."""

from __future__ import annotations

import msgspec

from gpudoctor.snapshot import (
    Asking,
    Cause,
    Fact,
    FrameworkLibraries,
    Libraries,
    LibraryFile,
    LibraryUse,
    Missing,
    Snapshot,
    Toolkit,
    Variables,
)

TF = "/recorded/environment/lib/python3.11/site-packages/tensorflow/libtensorflow_framework.so.2"
NOWHERE = Missing(Cause.ABSENT, "no folder that the loader looks into holds it")


def toolkit(release: str) -> Toolkit:
    short = release.rpartition(".")[0]
    return Toolkit(path=f"/usr/local/cuda-{short}", toolkit_cuda=Fact(release, f"/usr/local/cuda-{short}/version.json"))


def opened(component: str, wanted: str, file: LibraryFile | Missing) -> LibraryUse:
    return LibraryUse(component=component, wanted=wanted, asked_by=TF, asking=Asking.OPENED, vital=True, file=file)


def with_libraries(snapshot: Snapshot, *uses: LibraryUse, toolkits: tuple[Toolkit, ...] = ()) -> Snapshot:
    seen = Libraries(frameworks=(FrameworkLibraries(framework="tensorflow", uses=uses),))
    return msgspec.structs.replace(snapshot, libraries=seen, toolkits=toolkits)


def file(path: str, version: str, *owners: str) -> LibraryFile:
    several = owners if len(owners) > 1 else ()
    return LibraryFile(path=path, version=Fact(version, "file name"), owner=" or ".join(owners), owners=several)


def on_cuda_11(snapshot: Snapshot) -> Snapshot:
    """TensorFlow for CUDA 12 without NVIDIA's packages, and only the toolkit 11.8."""
    wanted = (opened("cudart", "libcudart.so.12", NOWHERE), opened("cublas", "libcublas.so.12", NOWHERE))
    return with_libraries(snapshot, *wanted, toolkits=(toolkit("11.8.0"),))


def on_its_own_cuda(snapshot: Snapshot) -> Snapshot:
    """The same with all libraries found: the toolkit 11.8 is for something else."""
    found = file("/opt/cuda/lib64/libcudart.so.12", "12.5.82", "system")
    return with_libraries(snapshot, opened("cudart", "libcudart.so.12", found), toolkits=(toolkit("11.8.0"),))


def two_on_the_path(snapshot: Snapshot) -> Snapshot:
    """LD_LIBRARY_PATH has two toolkits, the older one first."""
    path = "/usr/local/cuda-11.8/lib64:/usr/local/cuda-12.5/lib64"
    assert isinstance(snapshot.variables, Variables)
    variables = Variables({**snapshot.variables.values, "LD_LIBRARY_PATH": path})
    both = msgspec.structs.replace(snapshot, variables=variables)
    found = file("/usr/local/cuda-12.5/lib64/libcudart.so.12", "12.5.82", "toolkit")
    return with_libraries(both, opened("cudart", "libcudart.so.12", found), toolkits=(toolkit("11.8.0"), toolkit("12.5.1")))


def cudnn_for_cuda_13(snapshot: Snapshot) -> Snapshot:
    """TensorFlow for CUDA 12, and the package of cuDNN for CUDA 13 in their shared folder."""
    path = TF.replace("tensorflow/libtensorflow_framework.so.2", "nvidia/cudnn/lib/libcudnn.so.9")
    return with_libraries(snapshot, opened("cudnn", "libcudnn.so.9", file(path, "9.13.0.50", "nvidia-cudnn-cu13")))
