"""`gpudoctor fleet check`: checks every node of a cluster, through an engine that the site has already."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote

import yaml

from gpudoctor.check.interrupts import CheckInterrupted
from gpudoctor.cli import fleet_options, options, system
from gpudoctor.cli.fleet import fleet
from gpudoctor.cli.fleet_run import FleetCommand, GatheredResult, GatherReports, run_fleet_command
from gpudoctor.cli.formats import TextOrJson
from gpudoctor.cli.output import write_output
from gpudoctor.cli.program import EPILOG
from gpudoctor.cli.progress_display import display_for_terminal
from gpudoctor.cli.settings import positive_seconds, text_of_file
from gpudoctor.errors import UsageError
from gpudoctor.fleet import Merge

_TIMEOUT = 600.0
_MAX_FILE_NAME = 200
"""Characters of a file name."""


@fleet.command(short_help="Check every node of a Ray cluster.", epilog=EPILOG)
def check(
    address: fleet_options.Address = "",
    ray: fleet_options.Ray = False,
    level: options.Level = None,
    node: options.Node = False,
    allow_cpu: options.AllowCpu = False,
    python: fleet_options.Python = None,
    runtime_env: fleet_options.RuntimeEnv = None,
    framework: options.Framework = None,
    force: options.Force = False,
    timeout: fleet_options.Timeout = None,
    reports: fleet_options.SaveReports = None,
    require: fleet_options.Require = None,
    golden: fleet_options.Golden = None,
    ignore: options.Ignore = None,
    ignore_file: options.IgnoreFile = None,
    fail_on: options.FailOn = None,
    format: fleet_options.Format = TextOrJson.TEXT,
    output: options.ResultOutput = None,
    hostfile: fleet_options.Hostfile = None,
    nodelist: fleet_options.Nodelist = None,
    labels: fleet_options.Labels = None,
    html: fleet_options.Html = None,
    prometheus: fleet_options.Prometheus = None,
    history: fleet_options.History = None,
    compat: options.Compat = None,
    verbose: fleet_options.Verbose = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> int:
    """Run `gpudoctor check` on every node of a Ray cluster, one task each, and merge the reports.

    The nodes need no gpudoctor: Ray copies this one to them. Levels above look claim all GPUs of each node. Level full then runs all-reduce
    between nodes, in pairs and all together.

    Example: gpudoctor fleet check --ray --level look
    """
    run = FleetCommand.of(locals())

    def prepare() -> GatherReports:
        if not ray:
            raise UsageError(
                "Name the engine that reaches the nodes: --ray. With another engine, merge its reports: gpudoctor fleet merge DIR."
            )
        system.require_linux("fleet check")
        levels = ("--level", level) if level else ()
        switches = (name for name, on in (("--node", node), ("--allow-cpu", allow_cpu), ("--force", force)) if on)
        frameworks = (word for name in framework or () for word in ("--framework", name))
        engine = _ray_module()
        plan = engine.CheckPlan(
            address=address,
            arguments=(*levels, *switches, *frameworks),
            claims=level != "look" and not node,
            links=level == "full" and not node,
            python=python or "",
            runtime_env=_runtime_env(runtime_env),
            timeout=_TIMEOUT if timeout is None else positive_seconds("--timeout", timeout),
        )

        def gather(merged: Merge) -> GatheredResult:
            take = _report_receiver(merged, reports)
            try:
                with display_for_terminal(quiet=quiet, report_is_text=format is TextOrJson.TEXT) as progress:
                    return GatheredResult(engine.check(plan, take, progress))
            except CheckInterrupted as stop:
                return GatheredResult(stopped=128 + stop.number)

        return gather

    return run_fleet_command(run, prepare)


def _ray_module() -> Any:
    """Return the module that runs checks on Ray."""
    try:
        return import_module("gpudoctor.on_ray.check")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise UsageError(
            "--ray needs Ray, which is not installed; install the cluster's version of it beside gpudoctor: pip install 'gpudoctor-cli[ray]'."
        ) from None


def _runtime_env(file: str | None) -> Mapping[str, Any]:
    """Return the runtime environment in a file of YAML or JSON, as `ray job submit --runtime-env` reads it."""
    if file is None:
        return {}
    text = text_of_file(file, f"--runtime-env: {file}")
    try:
        told = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"--runtime-env: {file} is neither YAML nor JSON: {' '.join(str(error).split())[:200]}.") from None
    if not isinstance(told, dict):
        raise UsageError(f"--runtime-env: {file} holds no mapping; state keys such as pip or env_vars.")
    return told


def _report_receiver(merged: Merge, folder: str | None) -> Callable[[str, bytes, str], None]:
    """Return what adds a node's report to the merge, and writes it to the folder if there is one."""
    if folder is not None:
        os.makedirs(folder, mode=0o700, exist_ok=True)

    def take(name: str, report: bytes, silence: str) -> None:
        if silence:
            merged.silent(name, silence)
            return
        merged.add(report, source="", node=name)
        if folder is not None:
            write_output(report, os.path.join(folder, f"{quote(name, safe='')[:_MAX_FILE_NAME]}.json"))

    return take
