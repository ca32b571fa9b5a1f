"""Words that speak for a cause in what runs a program: a container, a cluster, a notebook in the cloud."""

from __future__ import annotations

from gpudoctor.signatures.phrases import ABOUT_SLURM, DEVICES_PASSED_BY_HAND
from gpudoctor.signatures.signature import Hint

CONTAINER_HINTS = (
    # what tells that a job runs under Slurm, and whether it asks for a GPU
    Hint(
        ABOUT_SLURM,
        "",
        "#SBATCH --gres=gpu:1",
    ),
    Hint(
        r"(?i)\bno gpus? (?:was |were |is |are |has been |got )(?:\w{1,12} )?(?:allocated|assigned|requested|granted|reserved)\b|\b(?:did not|didn't|forgot to|forgot|never|without) (?:request|ask|allocat|reserv)\w{0,4} (?:for )?(?:a |any |the )?gpus?\b|\b(?:did not|didn't|forgot to|forgot|without) (?:pass|add|set|use|give|specify)?(?:ing|ting)? ?--(?:gres|gpus(?![ =]all))\b|\bNoDevFiles\b",
        "scheduler-gpu-not-allocated",
        "no GPU was allocated to the job",
        said=True,
    ),
    # what Ray's tune prints of all trials, and what a task is given: https://docs.ray.io/en/latest/ray-core/scheduling/accelerators.html
    Hint(
        r"(?:Resources requested|Logical resource usage): [^\n]{0,60}\b0(?:\.0)?/[1-9]\d{0,3}(?:\.0)? GPUs\b|\bray\.get_gpu_ids\(\)(?!\W{0,16}\d)"
        r"|@ray\.remote\s{0,4}(?:$|\((?![^)\n]{0,120}num_gpus))",
        "scheduler-gpu-not-allocated",
        "Resources requested: 1/8 CPUs, 0/1 GPUs, 0.0/4.88 GiB heap",
    ),
    # what NVIDIA's images print when they start without a GPU
    Hint(
        r"The NVIDIA Driver was not detected|cuInit: (?:UNKNOWN ERROR|CUresult) ?\(-1\)|\bwithout (?:\w{1,8} ){0,2}--(?:gpus[ =]all|runtime[ =]nvidia)\b|^RUN | --container-image[= ]|\bset NVIDIA_VISIBLE_DEVICES\b|/\.singularity\.d/|\b(?:singularity|apptainer) (?:run|exec|shell)\b(?:(?![^\n]{0,300} --nv)| (?!-)\S{1,120} --nv\b)|(?i:\binside (?:a|the) (?:docker )?container\b|(?<!are we )\b(?:in|during) (?:a |the |my )?(?:docker|container|kubernetes pod|pod)\b|\bpods?\b[^\n]{0,20}\brequest\w{0,3}\b|/\.dockerenv|\bdockerfile\b|\bdocker[- ](?:compose|build|version \d|image\b)|\bdocker \d{2}\.\d|(?:\b(?:using|use)|\u7528) docker\b(?! (?:it )?works)|\bimage:? (?:nvidia/cuda|nvcr\.io/nvidia|tensorflow/tensorflow|pytorch/pytorch))",
        "container-no-gpu-access",
        "The NVIDIA Driver was not detected",
    ),
    # capabilities without libcuda: https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    Hint(
        r"\bNVIDIA_DRIVER_CAPABILITIES['\"]?\s?[=:]\s?['\"]?(?![a-z,]{0,40}(?:all|compute)\b)[a-z]",
        "container-no-gpu-access",
        "NVIDIA_DRIVER_CAPABILITIES=utility",
    ),
    # the same by an option of the engine: https://docs.docker.com/engine/containers/gpu/
    Hint(
        r"--gpus\b[^\n]{0,60}\bcapabilities=['\"]?(?![a-z,]{0,40}(?:all|compute|gpu)\b)[a-z]",
        "container-no-gpu-access",
        "nerdctl run --gpus capabilities=utility trainer",
    ),
    # by which gpudoctor/diagnose/support_system.py knows why the driver's libraries are missing
    Hint(DEVICES_PASSED_BY_HAND, "", "docker run --device=/dev/nvidia0 --device=/dev/nvidiactl trainer"),
    # where GKE mounts the driver, which only NVIDIA's images search: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    Hint(
        r"/usr/local/nvidia/lib(?:64)?/libcuda\.so(?![^\n]{0,40}(?:No such file|not found|missing|\bnot\b))",
        "libcuda-not-on-loader-path",
        "/usr/local/nvidia/lib64/libcuda.so.1",
    ),
    # whose containers they are, by which gpudoctor/diagnose/rules/platform/engine_in_text.py chooses the fix
    Hint(
        r"(?i)\bk[83]s\b|\bkube(?:let|ctl|rnetes)\b|\bgpu-operator\b|\bpodman\b|\bslurm\b|\bsbatch\b|\bnerdctl\b",
        "",
        "$ kubectl logs trainer-0",
    ),
    # a pod that requests a GPU: where it waits or runs without one, its node's runtime is the likelier cause
    Hint(r"\bnvidia\.com/gpu\W{1,6}[1-9]", "container-toolkit-missing", "nvidia.com/gpu: 1"),
    # a notebook of Google's has a GPU only if its type of runtime does: https://research.google.com/colaboratory/faq.html
    Hint(r"(?i)\b(?:google )?colab(?:oratory)?\b(?!\.research)(?![\w-])", "", "Running on Google Colab, Python 3.10"),
    # a notebook of Colab, Kaggle or Paperspace that was started without a GPU
    Hint(
        r"(?i)\b(?:cpu|standard|non-gpu) (?:runtime|session)\b|\b(?:hardware )?accelerator\W{1,4}(?:(?:to|is|was|set|at) ){0,3}\W?(?:none|off)\b|\b(?:switch|chang)\w{0,3} (?:it |the runtime |the session |runtime type |the notebook ){0,2}to (?:a |the )?gpu\b(?! (?:version|build))"
        r"|\b(?:not|n't) (?:connected to|on|using|in) a gpu (?:runtime|session)\b|\bforgot to (?:enable|select|choose|turn on|switch on) (?:the |an? )?(?:gpu|accelerator)\b|\b(?:gpu|accelerator) (?:was|is) (?:not|never) (?:enabled|selected|chosen|turned on|switched on)\b|\bchanging (?:the )?runtime type\b",
        "no-gpu",
        "the notebook was on a CPU runtime",
        said=True,
    ),
    Hint(
        r"(?i)\bldconfig\b[^\n]{0,60}\b(?:fix|solv|help|work|correct)|\b(?:fix|solv|help|work|correct)\w{0,3}\b[^\n]{0,40}\bldconfig\b",
        "container-ldcache-stale",
        "ldconfig in the container fixes it",
    ),
    Hint(
        r"(?i)\b(?:deploy|run|start|launch)\w{0,4}\b[^\n.]{0,60}\b(?:in|on|to|with) (?:a |the |our |my )?(?:kubernetes|k8s|k3s|microk8s|openshift|rancher)\b",
        "container-no-gpu-access",
        "it fails when I deploy it in kubernetes",
    ),
    # what docker compose says of a container that ended, and prompts in a container and in a pod of a Deployment, whose name Kubernetes ends without vowels
    Hint(
        r"^[a-z\d]{1,40}(?:[_.-][a-z\d]{1,40}){1,6} exited with code \d{1,3}$|@[\da-f]{12}:[/~]|@[a-z][a-z\d-]{0,60}-[b-df-hj-np-tv-xz24-9]{8,10}-[b-df-hj-np-tv-xz24-9]{5}:[/~]",
        "container-no-gpu-access",
        "shop-trainer-1 exited with code 1",
    ),
    # the home of Ollama's own image; its service uses /usr/share/ollama
    Hint(r"\bOLLAMA_MODELS:/root/\.ollama/models\b", "container-no-gpu-access", 'env="map[OLLAMA_MODELS:/root/.ollama/models]"'),
)
