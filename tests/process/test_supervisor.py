from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gpudoctor.process import ANSWER_PLACEHOLDER, ChildEnd, ChildOutcome, ChildSpec, Supervisor
from tests.seams.pids import alive, gone_soon

ROUNDING = 1e-6
"""Seconds. Sums of a machine's clock round: after nine hours of uptime, 0.05 s later is 0.05000000000291 s later."""


def start(supervisor: Supervisor, script: str, stall: float = 30, deadline: float = 60, shares: str = "") -> None:
    """Start a child that runs a Python script, in which `answer` writes to the answer descriptor.

    `stall` holds from its first response: on a busy machine Python alone takes seconds to start.
    """
    prelude = "import os, sys, time, signal\nanswer = lambda data: os.write(int(sys.argv[1]), data)\n"
    spec = ChildSpec(
        name="child", argv=(sys.executable, "-I", "-S", "-c", prelude + script, ANSWER_PLACEHOLDER), deadline=deadline, shares=shares
    )
    supervisor.start(spec, lambda _line: supervisor.set_stall_limit("child", stall))


def run(script: str, stall: float = 30, deadline: float = 60) -> ChildOutcome:
    """Return how a child that runs a Python script ended."""
    with Supervisor() as supervisor:
        start(supervisor, script, stall, deadline)
        return supervisor.wait(["child"])["child"]


def test_answers_are_kept_apart_from_output() -> None:
    outcome = run("print('noise'); print('more', file=sys.stderr); answer(b'@thinking\\n{\"a\": 1}\\n{\"b\": 2}\\n')")
    assert outcome.lines == (b'{"a": 1}', b'{"b": 2}')
    assert (outcome.stdout, outcome.stderr, outcome.mark) == ("noise\n", "more\n", "thinking")
    assert (outcome.end, outcome.code, outcome.trouble) == (ChildEnd.EXITED, 0, "")


def test_a_child_need_not_wait_for_us_to_read_the_answer_of_many_gpus(tmp_path: Path) -> None:
    done, line = tmp_path / "done", "x" * 999
    with Supervisor() as supervisor:
        start(supervisor, f"for _ in range(900): answer(b'{line}\\n')\nopen({str(done)!r}, 'x')")
        for _ in range(400):
            if done.exists():
                break
            time.sleep(0.05)
        assert done.exists(), "the child still waits"
        assert supervisor.wait(["child"])["child"].lines == (line.encode(),) * 900


@pytest.mark.parametrize("refused", [OSError(1, "Operation not permitted"), OSError(16, "Device or resource busy")])
def test_a_pipe_that_cannot_be_widened_works_too(refused: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> int:
        raise refused

    monkeypatch.setattr("gpudoctor.process.child.fcntl.fcntl", refuse)
    assert len(run("for _ in range(300): answer(b'x' * 999 + b'\\n')").lines) == 300


def test_an_incomplete_last_line_is_no_answer() -> None:
    assert run('answer(b\'{"a": 1}\\n{"b": \')').lines == (b'{"a": 1}',)


def test_a_silent_child_is_killed_and_its_last_mark_known() -> None:
    outcome = run("answer(b'@nvmlInit\\n'); time.sleep(60)", stall=0.3)
    assert outcome.end is ChildEnd.STALLED
    assert outcome.quiet >= 0.3
    assert outcome.seconds < 30
    assert "nvmlInit" in outcome.trouble


def test_signs_of_life_keep_a_slow_child_alive() -> None:
    outcome = run("for _ in range(8): answer(b'@on\\n'); time.sleep(0.2)", stall=1)
    assert outcome.end is ChildEnd.EXITED


def test_output_is_no_sign_of_life() -> None:
    assert run("answer(b'@on\\n')\nwhile True: print('busy', flush=True); time.sleep(0.02)", stall=0.3).end is ChildEnd.STALLED


def test_a_child_past_its_deadline_is_killed_even_if_active() -> None:
    outcome = run("while True: answer(b'@on\\n'); time.sleep(0.02)", deadline=0.4)
    assert outcome.end is ChildEnd.OVERDUE


def test_the_deadline_of_the_whole_check_holds_for_every_child() -> None:
    with Supervisor(time.monotonic() + 0.3) as supervisor:
        supervisor.start(ChildSpec(name="slow", argv=("sleep", "60")))
        assert supervisor.wait(["slow"])["slow"].end is ChildEnd.OVERDUE


def test_a_look_at_a_child_that_has_not_ended_does_not_end_it() -> None:
    with Supervisor() as supervisor:
        start(supervisor, "answer(b'first\\n'); time.sleep(0.3); answer(b'last\\n')")
        assert not supervisor.has_ended("child", time.monotonic() + 0.05)
        assert supervisor.has_ended("child", time.monotonic() + 20)
        outcome = supervisor.wait(["child"])["child"]
    assert (outcome.end, outcome.lines) == (ChildEnd.EXITED, (b"first", b"last"))


def test_no_chatter_moves_the_deadline_of_a_wait() -> None:
    with Supervisor() as supervisor:
        start(supervisor, "for _ in range(400): answer(b'@on\\n'); time.sleep(0.02)")
        outcome = supervisor.wait(["child"], time.monotonic() + 1)["child"]
    assert (outcome.end, outcome.stuck) == (ChildEnd.OVERDUE, False)


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    assert run("signal.signal(15, signal.SIG_IGN); answer(b'@on\\n'); time.sleep(60)", stall=0.2).end is ChildEnd.STALLED


def test_a_crash_differs_from_an_exit() -> None:
    crashed = run("os.kill(os.getpid(), 11)")
    assert (crashed.end, crashed.code) == (ChildEnd.SIGNALLED, signal.SIGSEGV)
    assert "SIGSEGV" in crashed.trouble
    assert "status 3" in run("sys.exit(3)").trouble


@pytest.mark.parametrize("stream", ["sys.stdout.fileno()", "sys.stderr.fileno()", "int(sys.argv[1])"])
def test_a_flood_is_capped(stream: str) -> None:
    outcome = run(f"for _ in range(2000): os.write({stream}, b'x' * 65536)\nos.write({stream}, b'\\nend\\n')")
    assert outcome.end is (ChildEnd.FLOODED if "argv" in stream else ChildEnd.EXITED)
    assert len(outcome.stdout) + len(outcome.stderr) + sum(map(len, outcome.lines)) < 200_000


@pytest.mark.parametrize("line", ["{}", "@on", "x" * 900])
def test_an_endless_answer_is_cut_short_and_its_beginning_kept(line: str) -> None:
    outcome = run(f"answer(b'first\\n')\nwhile True: answer(b'{line}\\n' * 50)", deadline=60)
    assert outcome.end is ChildEnd.FLOODED
    assert outcome.lines[0] == b"first"
    assert "answered with over" in outcome.trouble
    assert outcome.seconds < 50


def test_undecodable_output_is_escaped() -> None:
    assert run("os.write(1, b'caf\\xe9')").stdout == "caf\\xe9"


def test_a_missing_program_is_an_outcome() -> None:
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="none", argv=("/nowhere/python",)))
        outcome = supervisor.wait(["none"])["none"]
    assert (outcome.end, outcome.pid, outcome.stuck) == (ChildEnd.NOT_STARTED, 0, False)
    assert "No such file" in outcome.trouble


def test_a_limit_on_threads_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    outcome = run("")
    assert (outcome.end, outcome.reason) == (ChildEnd.NOT_STARTED, "can't start new thread")


def test_a_name_with_a_null_byte_is_an_outcome() -> None:
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="odd", argv=("a\0b",)))
        assert supervisor.wait(["odd"])["odd"].end is ChildEnd.NOT_STARTED


def test_a_childs_own_children_do_not_outlive_it() -> None:
    outcome = run("import subprocess; print(subprocess.Popen(['sleep', '60']).pid, flush=True)")
    assert outcome.seconds < 30, "a grandchild that holds the pipes must not be waited for"
    assert gone_soon(int(outcome.stdout))


def test_a_fast_stage_has_a_shorter_limit() -> None:
    began = time.monotonic()
    with Supervisor() as supervisor:
        start(supervisor, "answer(b'now\\n'); time.sleep(60)", stall=0.3)
        supervisor.set_stall_limit("another", 0.3)
        outcome = supervisor.wait(["child"])["child"]
    assert outcome.end is ChildEnd.STALLED
    assert time.monotonic() - began < 30


def test_shared_memory_of_a_killed_child_tree_is_removed() -> None:
    prefix = f"/dev/shm/gpudoctor-test-{os.getpid()}-"
    script = f"""import mmap
for name in ("mine", "another's", "gone"):
    with open({prefix!r} + name, "wb+") as file:
        file.truncate(4096)
        kept = globals().setdefault(name, mmap.mmap(file.fileno(), 4096)) if name != "another's" else None
os.unlink({prefix!r} + "gone")
open({prefix!r} + "gone", "w").close()
os.fork()
answer(b"@on\\n")
time.sleep(60)"""
    with Supervisor() as supervisor:
        start(supervisor, script, stall=0.3, shares=prefix)
        assert supervisor.wait(["child"])["child"].end is ChildEnd.STALLED
    left = sorted(Path("/dev/shm").glob(Path(prefix).name + "*"))
    for path in left:
        path.unlink()
    assert [path.name.rpartition("-")[2] for path in left] == ["another's", "gone"]


def test_leaving_the_context_kills_what_still_runs() -> None:
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="long", argv=("sleep", "60")))
        pid = supervisor._running["long"].process.pid
    assert gone_soon(pid)


def test_children_die_with_a_parent_that_is_killed() -> None:
    script = (
        "import time\nfrom gpudoctor.process import ChildSpec, Supervisor\n"
        "s = Supervisor(); s.start(ChildSpec(name='a', argv=('sleep', '60')))\n"
        "print(s._running['a'].process.pid, flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert alive(pid)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert gone_soon(pid)


def test_time_spent_suspended_counts_for_no_deadline() -> None:
    """As when a laptop sleeps or a container is paused, which stops the children too."""
    script = (
        "import time\nfrom gpudoctor.process import ChildSpec, Supervisor\n"
        "with Supervisor(time.monotonic() + 4) as s:\n"
        "    s.start(ChildSpec(name='a', argv=('sh', '-c', 'sleep 0.5; sleep 0.7'), stall=4, deadline=4))\n"
        "    print(s._running['a'].process.pid, flush=True)\n"
        "    print(s.wait(['a'], time.monotonic() + 4)['a'].end.value)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent.stdout as told:
        both = (parent.pid, int(told.readline()))
        time.sleep(0.2)
        for pid in both:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(3.5)
        for pid in both:
            os.kill(pid, signal.SIGCONT)
        assert told.read() == "exited\n"
    parent.wait()


def test_a_child_cannot_create_device_nodes() -> None:
    status = run("print(open('/proc/self/status').read())").stdout
    bounding = int(next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd")), 16)
    assert not bounding & 1 << 27  # CAP_MKNOD, linux/capability.h


def test_a_child_leaves_no_core_file_and_runs_in_the_root_folder() -> None:
    assert run("import resource; print(resource.getrlimit(resource.RLIMIT_CORE)[0], os.getcwd())").stdout == "0 /\n"


def test_a_child_that_cannot_be_killed_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpudoctor.process.supervisor.GRACE_SECONDS", 0.2)
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="stuck", argv=("sleep", "60"), stall=0.1))
        child = supervisor._running["stuck"]
        monkeypatch.setattr(child, "kill", lambda: None)  # as if the kernel did not deliver the signal
        outcome = supervisor.wait(["stuck"])["stuck"]
    assert outcome.stuck
    child.process.kill()
    child.process.wait()


def test_several_children_run_side_by_side(tmp_path: Path) -> None:
    """Each ends only when all four have started."""
    meet = 'touch "$0/$1"; until [ -e "$0/0" ] && [ -e "$0/1" ] && [ -e "$0/2" ] && [ -e "$0/3" ]; do sleep 0.05; done'
    with Supervisor() as supervisor:
        for number in range(4):
            supervisor.start(ChildSpec(name=str(number), argv=("sh", "-c", meet, str(tmp_path), str(number)), deadline=60))
        outcomes = supervisor.wait(map(str, range(4)))
    assert {outcome.end for outcome in outcomes.values()} == {ChildEnd.EXITED}


def test_children_are_waited_for_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    assert run("print('done')").stdout == "done\n"


def test_children_are_waited_for_where_a_sandbox_refuses_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "pidfd_open", refuse)
    assert run("print('done')").stdout == "done\n"


def test_no_descriptor_is_leaked() -> None:
    run("pass")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(5):
        run("pass", stall=5)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


DAEMON = """told, tell = os.pipe()
if not os.fork():
    os.setsid()
    if not os.fork():
        print(os.getpid(), flush=True)
        os.close(tell)
        time.sleep(60)
    os._exit(0)
os.close(tell)
os.read(told, 1)  # until the daemon has told its number
"""


@pytest.mark.parametrize("then", ["", "time.sleep(0.2)", "os.kill(os.getpid(), 9)", "answer(b'@on\\n'); time.sleep(60)"])
def test_a_daemon_that_a_child_starts_ends_with_the_child(then: str) -> None:
    with Supervisor() as supervisor:
        supervisor.start(ChildSpec(name="other", argv=("sleep", "60")))
        start(supervisor, DAEMON + then, stall=0.3)
        outcome = supervisor.wait(["child"])["child"]
        assert gone_soon(int(outcome.stdout)), "while the supervisor still runs"
        assert supervisor._running["other"].process.poll() is None
        supervisor.stop()


def test_processes_in_another_session_end_with_the_context() -> None:
    """A kill of the child's group does not reach it; others' processes are not touched."""
    somebody = subprocess.Popen(["sleep", "60"])
    outcome = run(DAEMON.replace("    if not os.fork():\n    ", "    if True:\n    "))
    assert gone_soon(int(outcome.stdout))
    assert somebody.poll() is None
    somebody.kill()
    somebody.wait()


def test_a_silent_child_past_its_deadline_is_reported_as_silent() -> None:
    assert "did not respond for the last" in run("time.sleep(60)", deadline=1.2).trouble
    assert "not respond" not in run("while True: answer(b'@on\\n'); time.sleep(0.02)", deadline=0.3).trouble


@pytest.mark.parametrize(
    ("whole", "stall", "deadline", "until"),
    [(9, 30, 60, 40), (30, 9, 60, 40), (30, 60, 9, 40), (30, 60, 40, 9), (float("inf"), 9, 60, float("inf")), (-1, 30, 60, 40)],
)
def test_the_next_look_is_due_at_the_first_deadline_of_all(whole: float, stall: float, deadline: float, until: float) -> None:
    began = time.monotonic()
    with Supervisor(began + whole) as supervisor:
        supervisor.start(ChildSpec(name="child", argv=("sleep", "60"), stall=stall, deadline=deadline))
        child = supervisor._running["child"]
        due = min(began + whole, child.last_sign + stall, child.started + deadline, began + until)
        before = time.monotonic()
        pause = supervisor._seconds_to_deadline(began + until)
        assert due - time.monotonic() - ROUNDING <= pause <= due - before + ROUNDING
        supervisor._pidfds.clear()
        assert supervisor._seconds_to_deadline(began + until) <= 0.05 + ROUNDING, "a child without a pidfd is looked at often"
