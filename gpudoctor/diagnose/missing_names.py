"""Which CUDA libraries a text says are missing, and whose paths it shows."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.expressions import expression

NAMES = "cudart|cublas|cublasLt|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|cudnn"
_SONAME = expression(
    rf"(lib(?:{NAMES})(?:_\w{{1,40}})?\.so\.[\d.]{{1,8}}?)(?:'?[:;] ?(?:dlerror|cannot open shared object)| => not found|\. (?:Error|LD_LIBRARY_PATH):| is not found or cannot)"
)
_SAID_MISSING = expression(
    rf"(?i:\b(?:could not|cannot|can't|unable to|fail(?:s|ed)? to|(?:does|do|did)(?: not|n't)|missing)\b(?:(?!\blib\w{{1,40}}\.so)[^\n]){{0,30}}?)(lib(?:{NAMES})(?:_\w{{1,40}})?\.so\.\d{{1,2}}(?:\.\d{{1,2}})?)(?![\w.]\d|: /)"
)
"""As programs that keep the loader's words to themselves and people say it."""
_DLL = expression(rf"(?<!opened dynamic library )(?<!opened CUDA library )\b({NAMES})(?:_\w{{1,40}})?64_(\d{{1,3}})(?:_\d)?\.dll")
_LATEST_MAJOR_OF_TWO_DIGITS = 20
"""cublas64_11.dll is of CUDA 11, cudart64_90.dll of CUDA 9.0."""
_ON_DISK = expression(r"(/[^\s:;'\"]{1,200}/|(?<![\w/])(?=lib\w{1,40}\.so\.\d{1,2}\.\d{1,3}\.\d))(lib\w{1,40}\.so\.[\d.]{1,8})")
"""A library by its path, or by the whole name of its file, which links and messages of the loader shorten."""


_NOT_OPENED = expression(r"lib\w{1,40}\.so\.[\d.]{1,12}(?=:(?:\s|cannot open|$))|Could not load library lib\w{1,40}\.so\.[\d.]{1,12}")
"""How the loader names what it did not find, by the whole name of its file too."""


def missing(text: str) -> list[str]:
    """Return the libraries that a text says are missing, by their Linux names: libcudart.so.11.0 for cudart64_110.dll."""
    libraries = [f"lib{name}.so.{_dll_version(digits)}" for name, digits in _DLL.findall(text)]
    return list(dict.fromkeys([*_SONAME.findall(text), *_SAID_MISSING.findall(text), *libraries]))


def _dll_version(digits: str) -> str:
    whole = len(digits) == 1 or (len(digits) == 2 and int(digits) < _LATEST_MAJOR_OF_TWO_DIGITS)
    return digits if whole else f"{digits[:-1]}.{digits[-1]}"


_FOLDER_OF = expression(r"(?<=[\w/])(?<!\.so)/?: {1,2}(?=lib\w{1,40}\.so\.[\d.]{1,8}(?!\S)(?! =>))")
"""What stands between a folder and a file that somebody lists below its name."""


def paths(text: str) -> list[tuple[str, str]]:
    """Return the folders and names of libraries that a text shows by their path."""
    return _ON_DISK.findall(_FOLDER_OF.sub("/", text))


def missing_by_path(text: str) -> Iterator[tuple[str, str]]:
    """Yield the folders and names of missing libraries that a text shows by their path, in another place than where it says that they are missing."""
    wanted = set(missing(text))
    yield from ((folder, name) for folder, name in paths(_NOT_OPENED.sub(" ", text)) if name in wanted)


def major(soname: str) -> int:
    """Return the major version in a file name."""
    return int(soname.partition(".so.")[2].partition(".")[0])
