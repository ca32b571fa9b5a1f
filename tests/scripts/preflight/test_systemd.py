"""The service and the timer: systemd's own check, and systemd as process 1 of a container made by hand, which runs the service."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.scripts.preflight import BROKEN, READY, RECIPES, ROOT, Machine, Recipe, run
from tests.seams import box
from tests.seams.build import SeamUnavailable, cache_directory

UNITS = RECIPES / "systemd"
DROP_IN = """
[Unit]
DefaultDependencies=no
[Service]
BindReadOnlyPaths={folder}
StandardOutput=file:/out/journal
StandardError=file:/out/journal
"""
"""PrivateTmp= hides this test's folder and a clone in /tmp, no journald runs, and the other units of a boot are left out."""
LAST = """
[Unit]
DefaultDependencies=no
After=gpudoctor.service
Wants=gpudoctor.service
SuccessAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/sh -c "systemctl show gpudoctor.service --property=Result,ExecMainStatus >/out/state; cp -r /var/lib/gpudoctor/. /out"
"""
CONTAINER = """
set -eu
mount -t tmpfs tmpfs {root}
cd {root}
mkdir -p proc sys dev run tmp etc opt/gpudoctor/bin out var/lib/prometheus usr .{home}
for name in bin sbin lib lib64; do cp -d /$name . ; done
for place in /usr {places}; do mkdir -p .$place; mount --rbind $place .$place; done
cp /etc/passwd /etc/group /etc/ld.so.cache etc
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 none sys/fs/cgroup
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs dev
for name in null zero random urandom; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mount --bind {out} out
mkdir -p etc/systemd/system; mount --bind {units} etc/systemd/system
mount --bind {out} var/lib/prometheus
mkdir var/lib/prometheus/node-exporter
for program in gpudoctor={program} gpudoctor_textfile={textfile} python={python}; do ln -s ${{program#*=}} opt/gpudoctor/bin/${{program%%=*}}; done
exec env -i container=podman PATH=/usr/sbin:/usr/bin chroot . /lib/systemd/systemd --system --unit=last.service
"""


@pytest.fixture
def units(tmp_path: Path) -> Path:
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd: apt install systemd")
    return Path(shutil.copytree(UNITS, tmp_path / "units"))


@pytest.mark.debian
def test_systemd_accepts_the_units_and_would_refuse_others(units: Path) -> None:
    service = units / "gpudoctor.service"
    service.write_text(service.read_text().replace("/opt/gpudoctor/bin/", "/bin/true "))
    done = run("systemd-analyze", "verify", units / "gpudoctor.timer", service)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    with service.open("a") as file:
        file.write("ProtectEverything=yes\n")
    assert "ProtectEverything" in run("systemd-analyze", "verify", service).stderr


@pytest.mark.debian
@pytest.mark.parametrize(("recipe", "code"), [(READY, 0), (BROKEN, 1)])
def test_systemd_runs_the_service(recipe: Recipe, code: int, machine: Machine, units: Path, tmp_path: Path) -> None:
    program = machine(recipe)
    root, out = tmp_path / "container", tmp_path / "out"
    for folder in (root, out, units / "gpudoctor.service.d"):
        folder.mkdir()
    hidden = any(place.is_relative_to(Path.home()) for place in (Path(sys.base_prefix), ROOT, cache_directory()))  # by ProtectHome=
    drop_in = DROP_IN.format(folder=f"{tmp_path} {ROOT} {sys.prefix}") + "ProtectHome=read-only\n" * hidden
    (units / "gpudoctor.service.d" / "test.conf").write_text(drop_in)
    (units / "last.service").write_text(LAST)
    script = tmp_path / "container.sh"
    names = {"root": root, "out": out, "units": units, "program": program, "python": sys.executable, "home": Path.home()}
    places = f"{sys.base_prefix} {sys.prefix} {ROOT} {cache_directory()} {tmp_path}"
    script.write_text(CONTAINER.format(places=places, textfile=RECIPES / "prometheus" / "gpudoctor_textfile", **names))
    try:
        box.possible()
    except SeamUnavailable as reason:
        pytest.skip(str(reason))
    done = run(*box.ISOLATED, "--cgroup", "--uts", "sh", script)
    if "cgroup" in done.stderr and not (out / "state").exists():
        pytest.skip(f"needs root and the right to mount control groups: {done.stderr}")
    journal = (out / "journal").read_text()
    assert (out / "state").read_text().splitlines() == [f"Result={'exit-code' if code else 'success'}", f"ExecMainStatus={code}"], journal
    assert ("BROKEN" if code else "READY") in journal
    assert json.loads((out / "report.json").read_bytes())["exit_code"] == code
    assert f"gpudoctor_exit_code {code}\n" in (out / "node-exporter" / "gpudoctor.prom").read_text()
