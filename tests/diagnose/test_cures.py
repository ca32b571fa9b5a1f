"""What a fix promises, held over every recorded machine: it cures, a shell can run it, and what it installs would work there."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
from collections.abc import Iterator

import msgspec
import pytest

from gpudoctor import versions
from gpudoctor.derive import Driver, MachineView, Stack
from gpudoctor.derive.gpu_code import compute_capability
from gpudoctor.derive.specifiers import Requirement, parse_requirement, satisfies
from gpudoctor.findings import Confidence, Finding, Fix, FixKind, Policy, Severity
from gpudoctor.frameworks import framework_of
from gpudoctor.plan import Combination, check_combination
from gpudoctor.snapshot import Container, Fact, Host, Nvml, Platform, Python, Snapshot
from tests.machines import store
from tests.machines.diagnoses import diagnosis
from tests.seams.every import every
from tests.shipped import shared_matrix

pytestmark = pytest.mark.untraced  # the same code a thousand times: tests of each part cover it

LOOKING = ("See", "Look", "Read", "Check", "List", "Find", "Watch", "Examine", "Save", "Compare", "Ask the kernel")
"""How sentences begin that gather information; where no command can do it, a cure is a sentence that begins otherwise."""
OF_INDEXES = re.compile(r"https://download\.pytorch\.org/whl/((?:cu|rocm)[\d.]+)$")


READ_ONLY = (
    "cat", "compute-sanitizer", "conda list", "dcgmi diag", "df", "dmesg", "docker info", "env", "free", "fuser", "gpudoctor", "grep", "head",
    "journalctl", "ldconfig -p", "ldd", "ls", "lspci", "mokutil --sb-state", "nvidia-bug-report.sh", "nvidia-ctk cdi list", "nvidia-smi", "pgrep",
    "ps", "python", "systemctl status", "tail", "ulimit -a",
)  # fmt: skip
"""Beginnings of commands that only tell something, unless one of CHANGING stands among their words."""
CHANGING = {"--gpu-reset", "-pm", "--ecc-config=0", "--ecc-config=1", "-mig", "-pl", "-c", "-rgc", "-rac", "-rmc", "-srs", "-cgi", "-m"}


def changes_something(command: str) -> bool:
    """Whether some part of a command changes the machine, the environment or the shell that it is pasted into."""
    words = shlex.shlex(command.replace("2>&1", ""), posix=True, punctuation_chars="|&;")
    words.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in words:
        if set(word) <= set("|&;"):
            parts.append([])
        else:
            parts[-1].append(word)
    return any(_changes(part) for part in parts if part)


def _changes(words: list[str]) -> bool:
    while words and (words[0] == "sudo" or re.fullmatch(r"[A-Z_0-9]+=\S*", words[0])):
        words = words[1:]
    words = [re.sub(r"^\S*/python[\d.]*$", "python", word) if number == 0 else word for number, word in enumerate(words)]
    text = " ".join(words)
    if text.startswith("echo ") and ">" not in words:
        return False  # what it is piped into counts by itself
    if text == "nvidia-cuda-mps-control":
        return False  # it asks; the daemon is started with -d
    if words[:2] == ["python", "-c"] or words[:4] == ["python", "-m", "pip", "index"]:
        return False
    head = any(f"{text} ".startswith(f"{one} ") for one in READ_ONLY)
    return not head or (bool(CHANGING & set(words)) and words[0] != "gpudoctor" and words[0] != "dcgmi")


BLANKS = (("GD301", {"IMAGE"}), ("GD305", {"IMAGE"}))
"""What a container cannot know: the image that its host started it from, where the runtime does not say."""


class Machine(msgspec.Struct, frozen=True):
    name: str
    snapshot: Snapshot
    policy: Policy
    findings: tuple[Finding, ...]

    @property
    def commands(self) -> list[tuple[Finding, Fix]]:
        return [(finding, fix) for finding in self.findings for fix in finding.fixes if fix.command]


@functools.cache
def machine(name: str) -> Machine:
    return Machine(name, store.recorded(name), store.policy(name), diagnosis(name).findings)


every_machine = every("name", store.NAMES)


def cures(fix: Fix) -> bool:
    """Whether a fix changes something: by its command or, where it has none, as a sentence that says what to change."""
    if fix.command:
        return changes_something(fix.command)
    return len(fix.title.split()) > 2 and not fix.title.startswith(LOOKING)


@every_machine
def test_where_the_cause_is_certain_the_first_fix_that_is_no_check_changes_something(name: str) -> None:
    for finding in machine(name).findings:
        grave = finding.severity is not Severity.NOTE
        if finding.because_of or not grave or finding.confidence is not Confidence.CERTAIN:
            continue
        acting = [fix for fix in finding.fixes if fix.kind is not FixKind.CHECK]
        assert acting, f"{finding.code} offers no fix"
        assert acting[0].kind is FixKind.FIX, f"{finding.code} begins with {acting[0].kind.value}: {acting[0].title}"
        assert cures(acting[0]), f"{finding.code}: {acting[0].title}: {acting[0].command}"


@every_machine
def test_a_fix_is_a_check_just_where_it_changes_nothing(name: str) -> None:
    for finding in machine(name).findings:
        for fix in finding.fixes:
            if fix.command and not fix.command.startswith("gpudoctor check --allow-cpu"):  # accepts the machine as it is
                assert changes_something(fix.command) is (fix.kind is not FixKind.CHECK), f"{finding.code}: {fix.command}"


@every_machine
def test_no_fix_replaces_the_loaded_driver_by_an_older_one_unless_the_gpu_needs_that(name: str) -> None:
    one = machine(name)
    driver = MachineView(one.snapshot, shared_matrix(), one.policy).driver_or_missing
    if not isinstance(driver, Driver):
        return
    for finding in one.findings:
        for fix in finding.fixes if finding.code != "GD211" else ():
            packaged = re.search(r" has ([\d.]+) in (?:non-free|restricted)", fix.title)
            offered = versions.parse_version(packaged[1]) if packaged else None
            assert offered is None or offered >= driver.version, f"{finding.code}: {fix.title}"


@every_machine
def test_a_reset_names_its_gpu_unless_the_whole_fabric_needs_one(name: str) -> None:
    for finding, fix in machine(name).commands:
        assert "--gpu-reset" not in fix.command or " -i " in fix.command or finding.code in {"GD808", "GD840"}, (
            f"{finding.code}: {fix.command}"
        )


@functools.cache
def complaint(command: str) -> str:
    """What a shell says against a command; many machines have the same."""
    return subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False).stderr


@every_machine
def test_every_command_is_one_that_a_shell_reads(name: str) -> None:
    commands = [command for _, fix in machine(name).commands for command in (fix.command, fix.verify) if command]
    for command in commands:
        assert complaint(command) == "", command
        assert not re.search(r"""'[^']*~[^']*'|"[^"]*~[^"]*\"""", command), f"a quoted tilde: {command}"
        assert "…" not in command, command


@every_machine
def test_a_command_that_acts_has_nothing_left_to_fill_in(name: str) -> None:
    one = machine(name)
    unknown = not isinstance(one.snapshot.container, Container) or not isinstance(one.snapshot.container.image, Fact)
    for finding, fix in one.commands:
        blanks = set(
            re.findall(r"\b(?:IMAGE|SCRIPT|NAME|PATH|CONTAINER|TRAINING\.py|PROFILE)\b", re.sub(r"[A-Z_]*_?PATH\b", "", fix.command))
        )
        if fix.kind is not FixKind.CHECK and blanks:
            assert (finding.code, blanks) in BLANKS, fix.command
            assert unknown or "IMAGE" not in blanks, fix.command


@every_machine
def test_a_fix_that_acts_is_verified_by_the_same_rule_in_the_same_environment(name: str) -> None:
    one = machine(name)
    if one.snapshot.origin == "supposed":
        assert not any(fix.verify for finding in one.findings for fix in finding.fixes)
        return
    for finding in one.findings:
        if finding.severity is Severity.NOTE:
            continue
        verified = [fix for fix in finding.fixes if fix.verify]
        assert bool(verified) is any(fix.kind is not FixKind.CHECK for fix in finding.fixes), finding.code
        for fix in verified:
            words = shlex.split(fix.verify)
            assert words[:2] == ["gpudoctor", "check"], fix.verify
            assert "--python" in words or not has_path(one.snapshot), fix.verify
            assert finding.code in words or "--require" in words or finding.code == "GD604", fix.verify


def has_path(snapshot: Snapshot) -> bool:
    """Whether the interpreter is known by more than its name, as in a text that only shows its version."""
    return isinstance(snapshot.python, Python) and snapshot.python.executable != "python"


def installs(command: str) -> Iterator[tuple[list[str], list[str], str]]:
    """The requirements, options and index of every pip install in a command."""
    for part in re.split(r"&&|;", command):
        words = shlex.split(part.strip(), comments=True)
        if "install" not in words or "pip" not in words or "conda" in words:
            continue
        rest = words[words.index("install") + 1 :]
        index, options, wanted, skip = "", [], [], ""
        for word in rest:
            if skip:
                index = word if skip == "--index-url" else index
                skip = ""
            elif word in {"--index-url", "--python", "--no-binary"}:
                skip = word
            elif word.startswith("-"):
                options.append(word)
            else:
                wanted.append(word)
        yield [word for word in wanted if "://" not in word], options, index


def architecture(one: Machine) -> str | None:
    """The architecture of a recorded machine, or otherwise of its interpreter."""
    host, python = one.snapshot.host, one.snapshot.python
    known = (host.architecture if isinstance(host, Host) else None, getattr(python, "machine", None))
    return next((text for text in known if isinstance(text, str) and text), None)


def combination(one: Machine, requirements: list[str], python: str) -> Combination:
    """The combination with the GPUs, driver, platform and Python of a recorded machine."""
    facts = MachineView(one.snapshot, shared_matrix(), one.policy)
    seen, host = one.snapshot, one.snapshot.host
    named = (
        [gpu.name for gpu in seen.nvml.gpus if isinstance(gpu.name, str)]
        if isinstance(seen.nvml, Nvml) and isinstance(seen.nvml.gpus, tuple)
        else []
    )
    known = [compute_capability(gpu, facts.matrix) for gpu in facts.hardware]
    driver = str(facts.driver_or_missing.version) if hasattr(facts.driver_or_missing, "version") else None
    system = {Platform.WSL2: "wsl", Platform.WINDOWS: "windows", Platform.MACOS: "macos"}
    os = system.get(host.platform, "linux") if isinstance(host, Host) and isinstance(host.platform, Platform) else "linux"
    gpus = tuple(dict.fromkeys(name for name in named if shared_matrix().gpu(name)))
    return Combination(
        requirements=tuple(requirements),
        gpus=gpus,
        cc=None if gpus or not known or known[0] is None else str(known[0]),
        driver=driver,
        python=python or None,
        os=os,  # type: ignore[arg-type]
        arch=architecture(one),
    )


def there(one: Machine, text: str) -> bool:
    """Whether an installer would find a requirement met already, with all that its extras bring, and do nothing."""
    stack = MachineView(one.snapshot, shared_matrix(), one.policy).stack_or_missing
    wanted = parse_requirement(text)
    found = stack.distributions.get(wanted.name) if isinstance(stack, Stack) and wanted is not None else None
    if found is None or wanted is None or not isinstance(stack, Stack) or satisfies(found.version, wanted.specifier) is False:
        return False
    row = stack.row(found)
    brought = [
        parse_requirement(line) for line in (row.requires if row else ()) if any(f'extra=="{name}"' in line for name in wanted.extras)
    ]
    return all(need is None or _met(need, stack) for need in brought)


def _met(need: Requirement, stack: Stack) -> bool:
    found = stack.distributions.get(need.name)
    return found is not None and satisfies(found.version, need.specifier) is not False


@every_machine
def test_what_a_fix_installs_would_work_on_that_machine_and_is_not_there_yet(name: str) -> None:
    one = machine(name)
    python = one.snapshot.python.version if isinstance(one.snapshot.python, Python) and isinstance(one.snapshot.python.version, str) else ""
    has_gpu = bool(MachineView(one.snapshot, shared_matrix(), one.policy).hardware)
    of_no_gpu = () if has_gpu else ("cpu-only-build",)  # compat supposes a GPU where none is named
    for finding, fix in one.commands:
        fixed_before = any("driver" in step.title.lower() for step in finding.fixes if step.kind is FixKind.FIX and step is not fix)
        for wanted, options, index in installs(fix.command if fix.kind is not FixKind.CHECK else ""):
            label = f"{finding.code}: {fix.command}"
            other = re.search(r"python(\d\.\d+) -m venv", fix.command)
            if not wanted:  # from its source alone
                continue
            if index:
                assert OF_INDEXES.search(index), label
                tag = OF_INDEXES.search(index)[1]  # type: ignore[index]
                assert tag.startswith("rocm") or all(text.endswith(f"+{tag}") for text in wanted), label
            forced = {"--force-reinstall", "--reinstall"} & set(options) or "uninstall" in fix.command or other
            assert forced or not all(there(one, text) for text in wanted), f"changes nothing: {label}"
            if "rocm" in index or fixed_before:
                continue
            names_framework = any(framework_of(re.split(r"[<>=!~\[]", text)[0]) for text in wanted)
            accepted = (
                of_no_gpu if names_framework else ("cpu-only-build", "no-cuda-wheel-for-platform")
            )  # compat adds the newest framework
            judged = check_combination(combination(one, wanted, other[1] if other else python), Policy(level=None)).diagnosis
            roots = [root.message for root in judged.root_causes if root.severity is Severity.ERROR and root.name not in accepted]
            assert not roots, f"{label}: {roots}"
