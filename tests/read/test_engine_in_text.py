"""Fixes are those of the engine or scheduler that a text shows."""

from __future__ import annotations

import pytest

from gpudoctor.diagnose import diagnose
from gpudoctor.findings import Policy
from gpudoctor.matrix import Matrix
from tests.read.reading import read

NO_RUNTIME = 'could not select device driver "" with capabilities: [[gpu]]\n'
NO_GPU = "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
SMALL = "RuntimeError: DataLoader worker (pid 88) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory.\n"
LOST = "Failed to initialize NVML: Unknown Error\n"
TEXTS = (
    (f"docker: Error response from daemon: {NO_RUNTIME}", "--runtime=docker"),
    ('Warning  FailedCreatePodSandBox  1s  kubelet  no runtime for "nvidia" is configured\n', "--runtime=containerd --set-as-default"),
    ("E0311 09:14:02.1 1 factory.go:87] Incompatible strategy detected auto\n", "--runtime=containerd --set-as-default"),
    ('k3s v1.29\nno runtime for "nvidia" is configured\n', "restart k3s"),
    ("nerdctl: fork/exec /usr/bin/nvidia-container-runtime: no such file or directory\n", "--runtime=containerd &&"),
    ("0/4 nodes are available: 4 Insufficient nvidia.com/gpu.\n", "nvidia.com/gpu: 1"),
    ("sbatch: error: Invalid generic resource (gres) specification\n", "srun --gres"),
    (f"$ kubectl logs train-0\n{NO_GPU}", "nvidia.com/gpu: 1"),
    (f"$ apptainer exec train.sif python t.py\n{NO_GPU}", "--nv"),
    (f"$ kubectl exec train-0 -- python train.py\n{SMALL}", "emptyDir"),
    (f"docker logs train\n{SMALL}", "--shm-size"),
    (f"a pod on our k8s 1.30\n{LOST}", "pod"),
    (f"a container of Docker 27\n{LOST}", "restart the container"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "words"), TEXTS)
def test_the_first_fix_is_for_the_engine(text: str, words: str, matrix: Matrix) -> None:
    finding = diagnose(read(text, matrix), matrix, Policy(level=None)).root_causes[0]
    assert words in " ".join(f"{fix.title} {fix.command}" for fix in finding.fixes)
    others = {"srun --gres", "nvidia.com/gpu: 1", "--runtime=docker", "--set-as-default", "--nv", "emptyDir"} - {words}
    assert not [other for other in others if other not in words and any(other in fix.command for fix in finding.fixes)]
