"""The X-ray of the target's libraries. Runs under gpudoctor's interpreter with -I -S, for its package gpudoctor.elf, and loads no library.

Arguments: --executable PATH, --root DIR, --path ENTRY..., --framework NAME HOME CUDA CUDNN, --absent FRAMEWORK MODULES, --shadowed MODULE FILE, --file PATH,
--lacking MODULES (of the standard library),
--variable NAME VALUE (instead of its own), --own-variables (of those in the list below it takes none of its own), --mapped PATH (open once Python has started).
"""

import os
import sys

sys.path.insert(0, __file__.rpartition("/")[0] + "/../target")
sys.path.insert(0, __file__.rpartition("/")[0])
import gpudoctor_answer as answer

del sys.path[:2]


TARGET_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "XLA_FLAGS", "CONDA_PREFIX")


def values_of_option(option, count=1):
    """The values of every occurrence of an option."""
    arguments = sys.argv
    places = [number for number, word in enumerate(arguments) if word == option]
    values = [arguments[place + 1 : place + 1 + count] for place in places]
    return [value[0] for value in values] if count == 1 else values


def main():
    sys.path.insert(0, os.path.realpath(__file__ + "/../../../.."))
    from gpudoctor.children.own.xray import examine
    from gpudoctor.children.own.xray.wanted import WantedFramework

    del sys.path[0]
    environ = dict(os.environ)
    if "--own-variables" in sys.argv:
        environ = {name: value for name, value in environ.items() if name not in TARGET_VARIABLES}
    environ.update(values_of_option("--variable", 2))
    task = examine.Task(values_of_option("--executable")[0], values_of_option("--path"), environ, (values_of_option("--root") or ["/"])[0])
    task.shadowed = dict(values_of_option("--shadowed", 2))
    task.lacking = frozenset(name for names in values_of_option("--lacking") for name in names.split(","))
    task.mapped = values_of_option("--mapped")
    task.absent = dict(values_of_option("--absent", 2))
    task.frameworks = [WantedFramework(*values) for values in values_of_option("--framework", 4)]
    files = values_of_option("--file")
    for path in files:
        examine.single(task, path, answer.write)
    if not files:
        examine.environment(task, answer.write, answer.mark)
    answer.write({"type": "done"})
    answer.exit_now()


main()
