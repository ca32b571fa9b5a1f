from gpudoctor.derive import MachineView, Site, not_applicable
from gpudoctor.derive.views.container import DEVICES_VARIABLE
from gpudoctor.diagnose.advice.system import distribution_command
from gpudoctor.diagnose.rule import TRAINING_FAILS, advises, explains, rule
from gpudoctor.diagnose.rules.platform.cdi import GENERATE_SPECIFICATION
from gpudoctor.diagnose.rules.platform.container import NO_GPU_VALUES, container_request_evidence, device_file_evidence, product_name
from gpudoctor.diagnose.rules.platform.engine_in_text import engine_in_text
from gpudoctor.findings import DOWNLOAD, ROOT, Action, Confidence, Evidence, Fix, FixKind, Problem, Problems, Rung, Severity

_INSTALL_COMMANDS = {
    "debian": "sudo apt install nvidia-container-toolkit",
    "ubuntu": "sudo apt install nvidia-container-toolkit",
    "rhel": "sudo dnf install nvidia-container-toolkit",
    "fedora": "sudo dnf install nvidia-container-toolkit",
    "suse": "sudo zypper install nvidia-container-toolkit",
    "arch": "sudo pacman -S nvidia-container-toolkit",
}
INSTALL_GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
_CONFIGURE_COMMANDS = {
    "docker": "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
    "containerd": "sudo nvidia-ctk runtime configure --runtime=containerd && sudo systemctl restart containerd",
    "podman": GENERATE_SPECIFICATION,
    # https://github.com/NVIDIA/k8s-device-plugin#prerequisites
    "kubernetes": "sudo nvidia-ctk runtime configure --runtime=containerd --set-as-default && sudo systemctl restart containerd",
    # https://docs.k3s.io/advanced#alternative-container-runtime-support
    "k3s": "sudo systemctl restart k3s",
}
_CONFIGURE_TEXTS = {"kubernetes": "make it containerd's default runtime", "k3s": "restart k3s, which then finds the runtime nvidia"}
_GPU_OPERATOR = Fix(
    "Install the GPU Operator, which configures the nodes (https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html).",
    kind=FixKind.INSTEAD,
)
_LIST_RUNTIMES = Fix(
    "On the host, list the runtimes; nvidia must be one of them", "docker info --format '{{json .Runtimes}}'", kind=FixKind.CHECK
)


@rule("GD302", severity=Severity.ERROR, breaks=Rung.DEVICE_NODE)
@advises(lambda machine: _install_toolkit(machine.site, engine_in_text(machine) or "docker"))
@explains(
    ("container-no-gpu-access", "container-cdi-spec-missing"), "The toolkit adds GPUs to containers and generates CDI specifications."
)
@explains(("cuda-init-fails", "gpu-count-mismatch", *TRAINING_FAILS), "Without device files or libcuda, CUDA finds no GPU.")
@explains(("required-gpus-missing",), "The container has no usable GPU.")
def container_toolkit_missing(machine: MachineView) -> Problems:
    """NVIDIA Container Toolkit is not installed or not configured."""
    if not machine.site.container:
        yield from _host_problems(machine)
        return
    container = machine.inside_container
    requested = container.requested.get(DEVICES_VARIABLE, "")
    if requested in {*NO_GPU_VALUES, "all"}:  # images set "all" themselves
        not_applicable(f"{DEVICES_VARIABLE} names no GPU")
    if container.has_devices(proven=False) or container.driver_libraries or not container.host_driver:
        return
    yield Problem(
        message=f"{DEVICES_VARIABLE}={requested} requests GPUs, but the runtime added no device files or driver libraries.",
        confidence=Confidence.LIKELY,
        evidence=(
            *container_request_evidence(container),
            device_file_evidence(container),
            Evidence("driver on the host", container.host_driver, "/proc, /sys"),
        ),
        fixes=(_LIST_RUNTIMES, *_install_toolkit(machine.site, container.runtime)),
    )


def _host_problems(machine: MachineView) -> Problems:
    tools = machine.container_engines
    if not machine.hardware:
        not_applicable("there is no NVIDIA GPU")
    if tools.toolkit or tools.runtime is True or (isinstance(tools.cdi, tuple) and tools.cdi):
        return
    engines = " and ".join(map(product_name, tools.engines))
    yield Problem(
        message=f"The NVIDIA Container Toolkit is not installed, so containers of {engines} cannot use the GPU.",
        severity=Severity.NOTE,
        confidence=Confidence.LIKELY,
        evidence=(
            Evidence("container engines", engines, "/usr/bin"),
            Evidence("nvidia-ctk, nvidia-container-runtime, CDI specifications", "none", "/usr/bin, /etc/cdi, /var/run/cdi"),
        ),
        fixes=_install_toolkit(machine.site, tools.engines[0] if tools.engines else "docker"),
    )


def _install_toolkit(site: Site, engine: str) -> tuple[Fix, ...]:
    """Return the fixes that install the toolkit and configure the engine; a container does not know its host's distribution."""
    in_cluster = engine in {"kubernetes", "k3s"}
    where = "On each GPU node, " if in_cluster else "On the host, " if site.container else ""
    command = "" if site.container else distribution_command(site, _INSTALL_COMMANDS)
    source = "" if "arch" in site.distribution else f" from NVIDIA's repository ({INSTALL_GUIDE})"
    install = f"{where}install the NVIDIA Container Toolkit{source}"
    known_engine = engine if engine in _CONFIGURE_COMMANDS else "docker"
    configure = _CONFIGURE_TEXTS.get(known_engine, f"configure {product_name(known_engine)} to use it")
    return (
        Fix(_capitalised(install if command else f"{install}."), command, (ROOT, DOWNLOAD), action=Action.INSTALL_PACKAGE),
        Fix(_capitalised(f"{where}{configure}"), _CONFIGURE_COMMANDS[known_engine]),
        *((_GPU_OPERATOR,) if in_cluster else ()),
    )


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
