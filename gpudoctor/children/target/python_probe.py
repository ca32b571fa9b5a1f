"""The target interpreter's report about itself. Runs under it, with its site-packages and the user's variables, which are being examined.

For Python 2.7 and 3.4 to 3.14, standard library only.
"""

import sys

folder = __file__.rpartition("/")[0]
beside = folder in sys.path[:1]  # not with PYTHONSAFEPATH
if not beside:
    sys.path.insert(0, folder)
import gpudoctor_answer as answer  # noqa: E402 -- only now can it be found

del sys.path[0]

import os  # noqa: E402 -- the target's own, from here on


def libc():
    try:
        name, _, version = os.confstr("CS_GNU_LIBC_VERSION").partition(" ")
        return name + " " + version
    except (AttributeError, ValueError, OSError, TypeError):
        if "musl" in getattr(getattr(sys, "implementation", None), "_multiarch", ""):
            return "musl"
        return answer.missing("absent", "the C library has no CS_GNU_LIBC_VERSION")


def kind(base_prefix):
    if sys.prefix != base_prefix:
        return "venv"
    return "conda" if os.path.isdir(os.path.join(sys.prefix, "conda-meta")) else "system"


def headers(base_prefix):
    """The folder in sysconfig's scheme posix_prefix; importing sysconfig would load half the standard library."""
    name = "python%d.%d%s" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    path = os.path.join(base_prefix, "include", name, "Python.h")
    if os.path.isfile(path):
        return {"type": "fact", "value": answer.printable_text(path), "where": "the interpreter's own folder"}
    return answer.missing("absent", "there is no " + answer.printable_text(path))


def facts():
    implementation = getattr(sys, "implementation", None)
    base_prefix = getattr(sys, "base_prefix", getattr(sys, "real_prefix", sys.prefix))
    version = "%d.%d.%d" % sys.version_info[:3]
    if sys.version_info[3] != "final":
        version += {"alpha": "a", "beta": "b", "candidate": "rc"}[sys.version_info[3]] + str(sys.version_info[4])
    multiarch = getattr(implementation, "_multiarch", "")
    path = [entry for entry in sys.path if entry]
    said = {
        "type": "python",
        "process": [os.getpid(), os.getppid(), os.getsid(0)],
        "executable": sys.executable or "",
        "version": version,
        "implementation": implementation.name if implementation else "cpython",
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "machine": multiarch.partition("-")[0] or os.uname()[4],
        "libc": libc(),
        "prefix": sys.prefix,
        "base_prefix": base_prefix,
        "kind": kind(base_prefix),
        "headers": headers(base_prefix),
        "path": path,
    }
    if any(answer.printable_text(entry) != entry for entry in path):  # escapes are for people; only the bytes find the folders
        said["path_hex"] = [in_hex(entry) for entry in path]
    return said


def in_hex(text):
    """The bytes of a path or variable as hexadecimal; Python 2 has bytes already."""
    data = text if isinstance(text, bytes) else os.fsencode(text)
    return "".join("%02x" % byte for byte in bytearray(data))


def imports():
    """Where this interpreter's finders locate the packages in --find, including editable installs; nothing is imported."""
    found = {}
    for name in sys.argv[sys.argv.index("--find") + 1].split(","):
        for finder in list(sys.meta_path):
            try:
                spec = finder.find_spec(name, None, None)
            except Exception:  # the environment's finders may do anything
                spec = None
            if spec is not None:
                folders = list(spec.submodule_search_locations or [])
                origin = spec.origin if spec.has_location else ""
                found[name] = [in_hex(origin or "")] + [in_hex(one) for one in folders]
                break
    return found


LOADER = ("LD_LIBRARY_PATH", "LD_PRELOAD")
OTHERS = ("PATH", "XLA_FLAGS", "CONDA_PREFIX")


def variables():
    """The variables that determine which libraries are found, as this process has them: a wrapper script may have set some.

    The loader read its own when the process started; what sitecustomize puts into os.environ comes too late.
    """
    found = {}
    with open("/proc/self/environ", "rb") as environ:
        for entry in environ.read().split(b"\0"):
            name, _, value = entry.partition(b"=")
            if name.decode("ascii", "replace") in LOADER:
                found[name.decode("ascii")] = in_hex(value)
    for name in OTHERS:
        if name in os.environ:
            found[name] = in_hex(os.environ[name])
    return found


def environ():
    """The variables in --names as programs have them, once site, .pth files and sitecustomize have run."""
    names = frozenset(sys.argv[sys.argv.index("--names") + 1].split(","))
    return {name: in_hex(value) for name, value in os.environ.items() if name in names}


MOST_STARTED = 64


def started():
    """The files of the modules that the start of Python imported from elsewhere than the standard library, in order."""
    library = os.path.dirname(os.__file__) + "/"
    found = []
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None)
        if not path or name == "__main__" or path.startswith(folder + "/"):
            continue
        outside = not path.startswith(library) or "-packages/" in path[len(library) :]
        if outside or name in ("sitecustomize", "usercustomize"):
            found.append(in_hex(path))
    return found[:MOST_STARTED]


def shadowing():
    """The files that an import finds before the standard library's modules: on sys.path before it, or in --beside, the folder of a script."""
    library = os.path.dirname(os.__file__)
    given = sys.argv[sys.argv.index("--beside") + 1 :][:1] if "--beside" in sys.argv else []
    before = given + [entry for entry in sys.path if entry]
    found = {}
    for entry in before[: before.index(library)]:
        names = os.listdir(entry) if os.path.isdir(entry) and not entry.startswith(library) else []
        for stem, path in [(name.partition(".")[0], os.path.join(entry, name)) for name in names]:
            if stem not in found and standard(library, stem) and importable(path) and not known(stem, path):
                found[stem] = in_hex(path)
    return found


def standard(library, name):
    """Whether the standard library has a module of this name."""
    names = getattr(sys, "stdlib_module_names", ())
    return name in names if names else os.path.exists(os.path.join(library, name + ".py")) or os.path.isdir(os.path.join(library, name))


def importable(path):
    return path.endswith((".py", ".pyc", ".so")) or os.path.isfile(os.path.join(path, "__init__.py"))


def known(name, path):
    """Whether a module comes from elsewhere whatever is on sys.path: it is compiled into Python, or its start has imported it already."""
    import _imp

    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None) != path
    return name in sys.builtin_module_names or _imp.is_frozen(name)


def lacking():
    """The modules of the standard library, or those in --standard before Python 3.10, that an import does not find."""
    names = getattr(sys, "stdlib_module_names", None) or sys.argv[sys.argv.index("--standard") + 1].split(",")
    found = set(sys.builtin_module_names) | set(sys.modules)
    for entry in sys.path:
        if os.path.isdir(entry):
            found.update(name.partition(".")[0] for name in os.listdir(entry))
        elif os.path.exists(entry):
            return []  # an archive may have any of them
    import _imp

    absent = sorted(name for name in names if name not in found and not _imp.is_frozen(name))
    return [name for name in absent if not any(hasattr(finder, "spec_for_" + name) for finder in sys.meta_path)]  # setuptools has distutils


def mapped():
    """The CUDA libraries opened while Python started."""
    found = []
    with open("/proc/self/maps", "rb") as maps:
        for line in maps:
            path = line.rstrip(b"\n").split(None, 5)[5:]
            last = path[0].rpartition(b"/")[2] if path else b""
            if b".so" in last and last.startswith((b"libcu", b"libnv", b"libnccl")) and in_hex(path[0]) not in found:
                found.append(in_hex(path[0]))
    return found


def asked(ask):
    try:
        return ask()
    except Exception:  # Python 2 has no such finders; other systems may have no /proc
        return None


def inside():
    said = {"type": "inside"}
    for name, ask in (
        ("imports", imports),
        ("variables", variables),
        ("environ", environ),
        ("started", started),
        ("shadowing", shadowing),
        ("lacking", lacking),
        ("mapped", mapped),
    ):
        found = asked(ask)
        if found is not None:
            said[name] = found
    if answer.printable_text(sys.executable or "") != sys.executable:
        said["executable_hex"] = in_hex(sys.executable)
    return said


answer.write(facts())
answer.flush()
answer.write(inside())
answer.exit_now()
