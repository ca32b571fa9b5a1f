"""Command line over configuration file over defaults."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from gpudoctor.check.model import CheckOptions
from gpudoctor.cli.formats import Format
from gpudoctor.cli.settings import GivenOptions, settings_of_options
from gpudoctor.errors import UsageError
from gpudoctor.findings import Level, Policy, Severity


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "c.toml"
    file.write_text(
        """
        level = "full"
        allow-cpu = true
        python = "/config/python"
        cwd = "/"
        only = ["GD1", "GD2, GD3"]
        skip = []
        require = ["driver>=550", "torch >= 2.4"]
        framework = ["torch", "jax"]
        fail-on = "warning"
        timeout = 30
        wait = 20
        force = true
        compat = "/config/compat"
        format = "json"
        output = "report.json"
        json = "b.json"
        junit = "b.xml"
        markdown = "b.md"
        sarif = "b.sarif"
        identify = true
        verbose = true
        quiet = true
        no-color = true
        """
    )
    return file


def test_defaults() -> None:
    settings = settings_of_options(GivenOptions(), None)
    assert settings.options == CheckOptions()
    assert (settings.main.format, settings.main.file, settings.quiet, settings.no_color) == ("text", None, False, False)


def test_a_file_sets_every_option_but_the_hidden_one(config: Path) -> None:
    settings = settings_of_options(GivenOptions(), str(config))
    policy = settings.options.policy
    assert (policy.level, policy.allow_cpu, policy.only, policy.skip, policy.fail_on) == (
        Level.FULL,
        True,
        ("GD1", "GD2", "GD3"),
        (),
        Severity.WARNING,
    )
    assert policy.require == ("driver>=550", "torch >= 2.4")
    assert policy.frameworks == ("torch", "jax")
    options = settings.options
    assert (options.python, options.cwd, options.timeout, options.compat) == ("/config/python", "/", 30.0, "/config/compat")
    assert options.wait == 20.0
    assert options.identify
    assert options.force
    assert options.root == "/"
    assert settings.verbose
    assert (settings.main.format, settings.main.file, settings.quiet, settings.no_color) == ("json", "report.json", True, True)
    assert [destination.file for destination in settings.destinations] == ["report.json", "b.json", "b.xml", "b.md", "b.sarif"]
    keys = {line.split(" = ")[0].strip() for line in config.read_text().splitlines() if " = " in line}
    assert keys == {field.encode_name for field in msgspec.structs.fields(GivenOptions)} - {"no-smoke", "node", "root"}


def test_the_command_line_wins(config: Path) -> None:
    given = GivenOptions(no_smoke=True, python="/mine", only=("GD9",), fail_on="error", timeout=5.0, format=Format.ONELINE, output="-")
    settings = settings_of_options(given, str(config))
    assert settings.options.policy.level is Level.LOOK
    assert settings.options.policy.only == ("GD9",)
    assert settings.options.policy.fail_on is Severity.ERROR
    assert (settings.options.python, settings.options.timeout) == ("/mine", 5.0)
    assert (settings.main.format, settings.main.file) == ("oneline", None)


def test_no_smoke_is_level_look() -> None:
    assert settings_of_options(GivenOptions(no_smoke=True), None).options.policy.level is Level.LOOK
    assert settings_of_options(GivenOptions(no_smoke=True, level="look"), None).options.policy.level is Level.LOOK
    with pytest.raises(UsageError, match="give one of them"):
        settings_of_options(GivenOptions(no_smoke=True, level="touch"), None)


def test_node_looks_at_the_machine_unless_a_touch_is_asked_for() -> None:
    assert settings_of_options(GivenOptions(node=True), None).options.policy == Policy(level=Level.LOOK, node=True)
    assert settings_of_options(GivenOptions(node=True, level="touch", require=("driver>=550",)), None).options.policy.level is Level.TOUCH


@pytest.mark.parametrize(
    ("asked", "option"),
    [
        (GivenOptions(node=True, level="train"), "--level train"),
        (GivenOptions(node=True, level="full"), "--level full"),
        (GivenOptions(node=True, python="/env"), "--python"),
        (GivenOptions(node=True, framework=("torch",)), "--framework"),
        (GivenOptions(node=True, allow_cpu=True), "--allow-cpu"),
        (GivenOptions(node=True, require=("driver>=550", "torch>=2.4")), "--require"),
    ],
)
def test_node_leaves_nothing_to_what_is_about_an_environment(asked: GivenOptions, option: str) -> None:
    with pytest.raises(UsageError, match=f"leave out {option} or --node"):
        settings_of_options(asked, None)


def test_an_environment_that_a_variable_names_is_no_clash_with_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUDOCTOR_PYTHON", "/env")
    assert settings_of_options(GivenOptions(node=True, python="/env"), None).options.policy.node


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_positive_number(timeout: float) -> None:
    with pytest.raises(UsageError, match="--timeout"):
        settings_of_options(GivenOptions(timeout=timeout), None)


def test_frameworks_keep_their_order_and_count_once() -> None:
    assert settings_of_options(GivenOptions(framework=("Torch,jax", "torch", " tensorflow")), None).options.policy.frameworks == (
        "torch",
        "jax",
        "tensorflow",
    )


def test_an_unknown_framework_in_a_file_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text('framework = ["pytorch"]\n')
    with pytest.raises(UsageError, match=r"^--framework pytorch: did you mean torch\?$"):
        settings_of_options(GivenOptions(), str(file))


def test_a_configuration_that_is_no_regular_file_or_has_no_end_is_refused(tmp_path: Path) -> None:
    fifo, large, deep = tmp_path / "fifo", tmp_path / "large.toml", tmp_path / "deep.toml"
    os.mkfifo(fifo)
    large.write_bytes(b"#" * (2 << 20))
    deep.write_text(f"only = {'[' * 5000}{']' * 5000}")
    for file, why in (
        (fifo, "Not a regular file"),
        ("/dev/zero", "Not a regular file"),
        (large, "more than 1 MiB"),
        (deep, "nested too deeply"),
    ):
        with pytest.raises(UsageError, match=why):
            settings_of_options(GivenOptions(), str(file))
