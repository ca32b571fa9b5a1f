"""Names the container engine or the scheduler that a text is about."""

from gpudoctor.derive import MachineView
from gpudoctor.expressions import expression

_ENGINE_WORDS = {
    "k3s": r"(?i)\bk3s\b",
    "kubernetes": r"(?i)\bk8s\b|\bkube(?:let|ctl|rnetes)\b|\bnvidia\.com/(?:gpu|mig)(?![\w.]{0,20}=)|\bpod/|PodSandbox|RuntimeHandler|no runtime for|factory\.go:|\bgpu-operator\b|device.plugin",
    "ray": r"@ray\.remote\b|\bray\.(?:init|get_gpu_ids)\(",
    "slurm": r"\b(?:srun|sbatch|salloc|sinfo|slurmstepd)\b|SLURM_|\(gres\)|(?i:\bslurm\b)|Requested node configuration",
    "podman": r"(?i)\bpodman\b|setting up CDI devices",
    "apptainer": r"(?i)\bapptainer\b|\bsingularity\b",
    "containerd": r"\bnerdctl\b|\bctr(?: run|:)",
    "docker": r"(?i)\bdocker\b|moby",
}
"""Words by which a text shows each; Kubernetes runs its containers with the engines below it."""


def engine_in_text(machine: MachineView) -> str:
    """Return the first of these that the signs in a text name; empty for none."""
    text = "\n".join(fact.value for fact in (*machine.log.lines, *machine.log.gpu_requests.values()))
    return next((name for name, words in _ENGINE_WORDS.items() if expression(words).search(text)), "")
