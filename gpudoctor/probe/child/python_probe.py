"""What the target interpreter says of itself. Runs under it, with its site-packages and the user's variables: these are what is examined.

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
        return answer.missing("absent", "the C library does not give CS_GNU_LIBC_VERSION")


def kind(base_prefix):
    if sys.prefix != base_prefix:
        return "venv"
    return "conda" if os.path.isdir(os.path.join(sys.prefix, "conda-meta")) else "system"


def headers(base_prefix):
    """Where sysconfig's scheme posix_prefix has them; asking sysconfig itself would load half the standard library."""
    name = "python%d.%d%s" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    path = os.path.join(base_prefix, "include", name, "Python.h")
    if os.path.isfile(path):
        return {"type": "fact", "value": answer.readable(path), "where": "the interpreter's own folder"}
    return answer.missing("absent", "there is no " + answer.readable(path))


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
    if any(answer.readable(entry) != entry for entry in path):  # the escapes are for reading; only the bytes find the folders
        said["path_hex"] = ["".join("%02x" % byte for byte in bytearray(os.fsencode(entry))) for entry in path]
    return said


answer.say(facts())
answer.leave()
