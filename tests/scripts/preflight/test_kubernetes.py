"""The Kubernetes recipes: manifests against Kubernetes' own schemas, their commands run, and kubectl against one node."""

from __future__ import annotations

import copy
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests.scripts.preflight import BROKEN, MEMORY, READY, RECIPES, UNKNOWN, Machine, Recipe, api, run

KUBERNETES = RECIPES / "kubernetes"
NODE_PROBLEM_DETECTOR = RECIPES / "node_problem_detector"
MANIFESTS = (
    KUBERNETES / "pod.yaml",
    KUBERNETES / "daemonset.yaml",
    KUBERNETES / "fleet_job.yaml",
    NODE_PROBLEM_DETECTOR / "daemonset.yaml",
)
VERSIONS = ("1.30", kubernetes_validate.latest_version())


def documents(manifest: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(manifest.read_bytes()))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_manifests_fit_the_schemas_of_kubernetes(manifest: Path, version: str) -> None:
    for document in documents(manifest):
        kubernetes_validate.validate(document, version, strict=True)


def test_the_schemas_refuse_an_unknown_field() -> None:
    wrong = copy.deepcopy(documents(MANIFESTS[0])[0])
    wrong["spec"]["initContainer"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.debian
def test_kustomize_packs_the_plugin_and_its_configuration() -> None:
    if not shutil.which("kubectl"):
        pytest.skip("needs kubectl: apt install kubernetes-client")
    done = run("kubectl", "kustomize", NODE_PROBLEM_DETECTOR)
    assert done.returncode == 0, done.stderr
    built = {one["kind"]: one for one in yaml.safe_load_all(done.stdout)}
    packed = built["ConfigMap"]
    assert set(packed["data"]) == {"gpudoctor.json", "gpudoctor_plugin"}
    spec = built["DaemonSet"]["spec"]["template"]["spec"]
    volume = next(one["configMap"] for one in spec["volumes"] if "configMap" in one)
    assert volume["name"] == packed["metadata"]["name"]
    assert volume["defaultMode"] & 0o111 == 0o111, "the plugin must be executable"


class TestPod:
    @pytest.fixture
    def pod(self) -> dict[str, Any]:
        return documents(MANIFESTS[0])[0]

    def test_the_init_container_has_what_the_training_has(self, pod: dict[str, Any]) -> None:
        (check,), (training,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
        assert (check["image"], check["resources"]) == (training["image"], training["resources"])

    @pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
    def test_its_command_runs(self, pod: dict[str, Any], recipe: Recipe, code: int, machine: Machine) -> None:
        program, *arguments = pod["spec"]["initContainers"][0]["command"]
        assert program == "gpudoctor"
        done = run(machine(recipe), *(word.replace("--level=train", "--level=look") for word in arguments))
        assert done.returncode == code
        assert done.stdout.startswith("READY" if code == 0 else "BROKEN")


@pytest.mark.debian
def test_the_job_s_reports_are_collected_and_merged_as_its_file_says(machine: Machine, tmp_path: Path) -> None:
    if not shutil.which("kubectl"):
        pytest.skip("needs kubectl: apt install kubernetes-client")
    (container,) = documents(KUBERNETES / "fleet_job.yaml")[0]["spec"]["template"]["spec"]["containers"]
    logs: dict[tuple[str, str], bytes] = {}
    for recipe in (READY, BROKEN):
        program = machine(recipe)
        path = f"{program.parent}:{os.environ['PATH']}"
        done = run(*container["command"], env={**os.environ, "PATH": path})
        assert done.returncode == 0, "a broken node is a result"
        logs[f"gpu00{len(logs) + 1}", f"gpudoctor-fleet-{len(logs)}"] = done.stdout.encode()
    said = [line.removeprefix("#").strip() for line in (KUBERNETES / "fleet_job.yaml").read_text().splitlines() if line.startswith("#")]
    collecting = said[next(place for place, line in enumerate(said) if line.startswith("mkdir")) :][:3]
    with api.node(tmp_path) as served:
        served.logs = logs
        lines = "\n".join(collecting).replace("gpudoctor fleet", f"{sys.executable} -m gpudoctor fleet")
        done = run("bash", "-c", f"set -e\n{lines} --format json", env={**os.environ, **served.variables}, cwd=tmp_path)
    assert done.stderr == ""
    nodes = json.loads(done.stdout)["nodes"]
    assert [(node["name"], node["verdict"]) for node in nodes] == [("gpu001", "ready"), ("gpu002", "broken")]


@pytest.mark.debian
class TestTaint:
    @pytest.fixture
    def node(self, tmp_path: Path) -> Iterator[api.Node]:
        if not shutil.which("kubectl"):
            pytest.skip("needs kubectl: apt install kubernetes-client")
        with api.node(tmp_path) as served:
            yield served

    @pytest.fixture
    def check(self, node: api.Node, tmp_path: Path) -> Callable[..., tuple[int, str]]:
        """`check(program)`: exit code and output of one run of taint_node."""
        settings = {"NODE_NAME": "node-7", "GOOD_CHECKS": str(tmp_path / "good"), "CLEAR_AFTER": "2"}

        def provide(program: Path | str, **more: str) -> tuple[int, str]:
            env = {"PATH": os.environ["PATH"], "GPUDOCTOR": str(program), **settings, **node.variables, **more}
            done = run(KUBERNETES / "taint_node", env=env)
            return done.returncode, done.stdout + done.stderr

        return provide

    def test_a_flapping_node_is_tainted_at_once_and_cleared_after_good_checks_in_a_row(
        self, node: api.Node, check: Any, machine: Machine
    ) -> None:
        node.document["spec"]["taints"] = [{"key": "team", "value": "vision", "effect": "NoSchedule"}]
        other = "team=vision:NoSchedule"
        assert check(machine(READY))[0] == 0
        assert node.taints == [other]
        for _ in range(2):
            assert check(machine(BROKEN))[0] == 0
            (ours,) = set(node.taints) - {other}
            assert ours.startswith("gpudoctor/broken=GD2")
            assert node.reason.startswith("BROKEN GD2")
        for recipe, tainted in ((READY, True), (BROKEN, True), (READY, True), (READY, False)):
            assert check(machine(recipe))[0] == 0
            assert (len(node.taints) == 2) is tainted
        assert node.taints == [other]
        assert node.reason == ""
        (rule,) = next(document for document in documents(MANIFESTS[1]) if document["kind"] == "ClusterRole")["rules"]
        assert node.verbs == set(rule["verbs"])

    def test_unknown_and_failures_change_nothing(self, node: api.Node, check: Any, machine: Machine) -> None:
        unknown = machine(UNKNOWN, MEMORY)
        code, said = check(unknown)
        assert (code, node.taints) == (1, [])
        assert said.startswith("UNKNOWN memory>=40GB")
        for program in ("/bin/false", "/no/such/program"):
            code, said = check(program)
            assert (code, node.taints) == (1, [])
            assert "gpudoctor failed with exit code" in said
        assert check(unknown, TAINT_UNKNOWN="yes")[0] == 0
        assert node.taints == ["gpudoctor/broken=unknown:NoSchedule"]
        assert check("/bin/false")[0] == 1
        assert len(node.taints) == 1

    def test_a_node_that_registers_with_the_taint_is_cleared(self, node: api.Node, check: Any, machine: Machine) -> None:
        node.document["spec"]["taints"] = [{"key": "gpudoctor/broken", "value": "unchecked", "effect": "NoSchedule"}]
        for left in (1, 0):
            assert check(machine(READY))[0] == 0
            assert len(node.taints) == left
