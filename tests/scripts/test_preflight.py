"""The recipes of scripts/preflight, each by the program that it is for, over machines that are in order, broken and not to be told."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.machines import packages
from tests.machines.build import UNSET
from tests.machines.recipes.base import NOT_LOADED, TF, cards
from tests.seams import Cuda, Nvml, Tree, environ_with

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "scripts" / "preflight"
READY = Tree(pci=cards(1), kernel_driver="550.163.01"), (Nvml(gpus=1), Cuda(gpus=1))
BROKEN = Tree(pci=cards(1, "nouveau"), modules=("nouveau",)), NOT_LOADED
UNKNOWN = READY[0], (Nvml(calls={"nvmlDeviceGetMemoryInfo": "return 3"}), Cuda(calls={"cuDeviceTotalMem": "return 999"}))
"""With memory required, which neither library tells."""
Machine = Callable[..., dict[str, str]]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """`machine(READY)`: an environment whose `gpudoctor` is the real program on that machine; a machine made later takes its place."""

    def provide(recipe: tuple[Tree, tuple[Nvml | Cuda, ...]], require: tuple[str, ...] = ()) -> dict[str, str]:
        tree, libraries = recipe
        root = tmp_path / "root"
        shutil.rmtree(root, ignore_errors=True)
        tree.build(root)
        target = tmp_path / "environment"
        if not target.exists():
            packages.environment(target, (TF,))
        program = tmp_path / "bin" / "gpudoctor"
        program.parent.mkdir(exist_ok=True)
        hidden = shlex.join(["--root", str(root), *(f"--require={one}" for one in require)])
        program.write_text(f'#!/bin/sh\ncommand=$1; shift\nexec {sys.executable} -m gpudoctor "$command" {hidden} "$@"\n')
        program.chmod(0o755)
        clean = {name: value for name, value in os.environ.items() if name not in UNSET and not name.startswith("SLURM")}
        base = clean | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "GPUDOCTOR_PYTHON": str(target)}
        return environ_with(*libraries, directory=tmp_path / "libraries", base=base)

    return provide


def run(*command: str | Path, env: Mapping[str, str], **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False, **more)


def test_shell_scripts_are_clean() -> None:
    scripts = [file for file in RECIPES.iterdir() if file.read_text().startswith("#!")]
    assert len(scripts) == 2
    assert all(os.access(script, os.X_OK) for script in scripts)
    if not shutil.which("shellcheck"):
        pytest.skip("needs shellcheck")
    done = run("shellcheck", *scripts, env=os.environ)
    assert done.stdout == ""
    assert done.returncode == 0


SCONTROL = """#!/bin/sh
# Slurm's scontrol as far as the health check uses it: one node, its state in a file
if [ "$1" = show ]; then
    [ "$2 $3 $4" = "node node-7 --oneliner" ] || exit 9
    printf 'NodeName=node-7 Arch=x86_64 State=%s ThreadsPerCore=2' "$(cut -d' ' -f1 {state})"
    reason=$(cut -s -d' ' -f2- {state})
    [ -z "$reason" ] || printf ' Reason=%s [root@2026-11-21T04:00:00]' "$reason"
    echo
else
    [ "$1 $2" = "update NodeName=node-7" ] || exit 9
    echo "$3" "$4" >> {log}
    case $3 in
        State=DRAIN) echo "IDLE+DRAIN ${{4#Reason=}}" > {state} ;;
        State=RESUME) echo IDLE > {state} ;;
    esac
fi
"""


class TestSlurm:
    """Slurm's own daemons do not run here; bash, the check and what it says to scontrol do."""

    @pytest.fixture
    def node(self, tmp_path: Path) -> Callable[..., tuple[int, str, list[str]]]:
        """`node(environment)`: exit code of the health check, the node's state, and the changes that were asked for so far."""
        state, log = tmp_path / "state", tmp_path / "log"
        state.write_text("IDLE\n")
        log.touch()
        (tmp_path / "bin").mkdir(exist_ok=True)
        scontrol = tmp_path / "bin" / "scontrol"
        scontrol.write_text(SCONTROL.format(state=state, log=log))
        scontrol.chmod(0o755)

        def check(env: Mapping[str, str], was: str = "", **more: str) -> tuple[int, str, list[str]]:
            if was:
                state.write_text(f"{was}\n")
            done = run(RECIPES / "slurm_health_check", env={**env, "SLURMD_NODENAME": "node-7", **more})
            assert "rror" not in done.stderr
            return done.returncode, state.read_text().strip(), log.read_text().splitlines()

        return check

    def test_a_broken_node_is_drained_once_and_resumed_when_it_is_mended(self, node: Any, machine: Machine) -> None:
        assert node(machine(READY)) == (0, "IDLE", [])
        code, state, log = node(machine(BROKEN))
        assert code == 1
        assert state.startswith("IDLE+DRAIN gpudoctor: BROKEN GD2")
        assert len(log) == 1
        assert node(machine(BROKEN)) == (1, state, log)
        assert node(machine(READY)) == (0, "IDLE", [*log, "State=RESUME "])

    def test_what_somebody_else_drained_stays_as_it_is(self, node: Any, machine: Machine) -> None:
        was = "IDLE+DRAIN fan is loud"
        assert node(machine(BROKEN), was) == (1, was, [])
        assert node(machine(READY), was) == (0, was, [])

    def test_what_was_not_shown_drains_only_where_that_is_wanted(self, node: Any, machine: Machine) -> None:
        unknown = machine(UNKNOWN, ("memory>=40GB",))
        assert node(unknown) == (0, "IDLE", [])
        code, state, _ = node(unknown, GPUDOCTOR_DRAIN_UNKNOWN="1")
        assert code == 1
        assert "UNKNOWN memory>=40GB was not checked" in state

    def test_the_sites_configuration_counts(self, node: Any, machine: Machine, tmp_path: Path) -> None:
        config = tmp_path / "gpudoctor.toml"
        config.write_text('require = ["gpus==8"]\n')
        _, state, _ = node(machine(READY), GPUDOCTOR_CONFIG=str(config))
        assert state == "IDLE+DRAIN gpudoctor: BROKEN GD602 requirement-not-met: gpus==8 is required, but 1 of 1 GPU is..."

    def test_a_node_needs_no_framework_and_no_environment(self, node: Any, machine: Machine) -> None:
        assert node(machine(READY) | {"GPUDOCTOR_PYTHON": "/no/such/environment"}) == (0, "IDLE", [])

    @pytest.mark.parametrize("program", ["/no/such/gpudoctor", "false"])
    def test_a_program_that_gives_no_answer_drains_nothing_by_itself(self, program: str, node: Any, machine: Machine) -> None:
        assert node(machine(READY), GPUDOCTOR=program) == (0, "IDLE", [])


class TestNodeProblemDetector:
    @pytest.mark.parametrize(
        ("recipe", "code", "begins"),
        [(READY, 0, "READY CUDA initialised on 1 of 1 GPU"), (BROKEN, 1, "BROKEN GD2"), (UNKNOWN, 2, "UNKNOWN ")],
    )
    def test_exit_code_and_message(self, recipe: Any, code: int, begins: str, machine: Machine) -> None:
        done = run(RECIPES / "npd_gpudoctor", env=machine(recipe, ("memory>=40GB",)))
        assert done.returncode == code
        assert done.stdout.startswith(begins)
        assert done.stdout.count("\n") == 1
        assert len(done.stdout.strip().encode()) <= 80

    def test_no_answer_is_unknown_and_says_so(self, machine: Machine) -> None:
        for program, code in (("false", 1), ("/no/such/program", 127)):
            done = run(RECIPES / "npd_gpudoctor", env=machine(READY) | {"GPUDOCTOR": program})
            assert (done.returncode, done.stdout) == (2, f"gpudoctor gave no answer, exit code {code}\n")

    def test_the_configuration_fits_the_script(self) -> None:
        config = json.loads((RECIPES / "node-problem-detector.json").read_bytes())
        (rule,), (condition,) = config["rules"], config["conditions"]
        assert (RECIPES / Path(rule["path"]).name).exists()
        assert rule["condition"] == condition["type"]
        assert config["pluginConfig"]["max_output_length"] == 80
        assert int(rule["timeout"][:-1]) > 57, "the script's own limit, and two seconds to end"


class TestKubernetes:
    @pytest.fixture
    def pod(self) -> dict[str, Any]:
        pod: dict[str, Any] = yaml.safe_load((RECIPES / "kubernetes.yaml").read_bytes())
        return pod

    def test_the_init_container_has_what_the_training_has(self, pod: dict[str, Any]) -> None:
        (check,), (training,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
        assert (check["image"], check["resources"]) == (training["image"], training["resources"])

    @pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
    def test_its_command_runs(self, pod: dict[str, Any], recipe: Any, code: int, machine: Machine) -> None:
        command = [word.replace("--level=train", "--level=look") for word in pod["spec"]["initContainers"][0]["command"]]
        done = run(*command, env=machine(recipe))
        assert done.returncode == code
        assert done.stdout.startswith("READY" if code == 0 else "BROKEN")


class TestAnsible:
    @pytest.fixture
    def play(self, machine: Machine, tmp_path: Path) -> Callable[..., tuple[int, str]]:
        """`play(READY, variable=value)`: exit code and output of ansible-playbook, with this machine as its only host."""
        program = Path(sys.prefix) / "bin" / "ansible-playbook"
        assert program.exists(), "ansible-core is in the test group of pyproject.toml"

        def run_it(recipe: Any, **variables: Any) -> tuple[int, str]:
            env = machine(recipe) | {
                "ANSIBLE_LOCAL_TEMP": str(tmp_path / "tmp"), "ANSIBLE_REMOTE_TEMP": str(tmp_path / "remote"), "ANSIBLE_HOME": str(tmp_path / "home"),
                "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8",
            }  # fmt: skip
            extra = json.dumps(
                {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "gpudoctor_wait": 1, **variables}
            )
            done = run(program, "-i", "this-machine,", "-e", extra, RECIPES / "ansible.yaml", env=env, cwd=tmp_path)
            return done.returncode, done.stdout + done.stderr

        return run_it

    def test_a_machine_in_order_passes(self, play: Any) -> None:
        code, said = play(READY, gpudoctor_require=["driver>=550", "memory>=80GB"])
        assert code == 0, said
        assert "ready: CUDA initialised on 1 of 1 GPU" in said
        assert "changed=0" in said

    def test_a_broken_one_fails_with_what_must_change(self, play: Any) -> None:
        code, said = play(BROKEN)
        assert code == 2, said
        assert "broken: " in said
        assert "nouveau" in said

    def test_a_level_asks_about_the_environment_too(self, play: Any) -> None:
        code, said = play(READY, gpudoctor_level="look", gpudoctor_require=["torch"])
        assert code == 2, said
        assert "torch is required" in said

    def test_a_requirement_that_is_not_met_fails(self, play: Any) -> None:
        code, said = play(READY, gpudoctor_require=["gpus==8"])
        assert code == 2, said
        assert "gpus==8 is required, but 1 of 1 GPU is usable" in said

    def test_a_wrong_call_is_not_taken_for_an_answer(self, play: Any) -> None:
        code, said = play(READY, gpudoctor_require=["gpus"])
        assert code == 2, said
        assert "Say what must change" not in said


class TestCloudInit:
    @pytest.fixture
    def user_data(self) -> dict[str, Any]:
        data: dict[str, Any] = yaml.safe_load((RECIPES / "cloud-init.yaml").read_bytes())
        return data

    @pytest.mark.debian
    def test_cloud_init_takes_it(self) -> None:
        if not shutil.which("cloud-init"):
            pytest.skip("needs cloud-init: apt install cloud-init")
        done = run("cloud-init", "schema", "--config-file", RECIPES / "cloud-init.yaml", env=os.environ)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Valid" in done.stdout

    @pytest.mark.debian
    def test_cloud_init_would_tell(self, tmp_path: Path) -> None:
        if not shutil.which("cloud-init"):
            pytest.skip("needs cloud-init: apt install cloud-init")
        wrong = tmp_path / "wrong.yaml"
        wrong.write_text((RECIPES / "cloud-init.yaml").read_text().replace("permissions:", "mode:"))
        assert run("cloud-init", "schema", "--config-file", wrong, env=os.environ).returncode != 0

    @pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
    def test_what_it_writes_and_runs(self, user_data: dict[str, Any], recipe: Any, code: int, machine: Machine, tmp_path: Path) -> None:
        """The script of the first boot, without what it installs: python3 and pip do nothing."""
        env = machine(recipe)
        places = {
            "/opt/gpudoctor/bin": str(tmp_path / "bin"),
            "/var/log": str(tmp_path),
            "/etc/gpudoctor.toml": str(tmp_path / "config.toml"),
        }
        for name in ("python3", "pip"):
            (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
            (tmp_path / "bin" / name).chmod(0o755)
        written = {}
        for file in user_data["write_files"]:
            text, path = file["content"], file["path"]
            for place, here in places.items():
                text, path = text.replace(place, here), path.replace(place, here)
            written[file["path"]] = Path(path) if path != file["path"] else tmp_path / "first-boot"
            written[file["path"]].write_text(text)
            written[file["path"]].chmod(int(file["permissions"], 8))
        ((command,),) = user_data["runcmd"]
        done = run(written[command], env=env)
        assert done.returncode == code, done.stderr
        report = json.loads((tmp_path / "gpudoctor.json").read_bytes())
        assert report["policy"]["require"] == ["driver>=550", "gpus>=1"]
        assert report["exit_code"] == code
