"""Which CUDA libraries a text says are missing, and whose paths it shows."""

from __future__ import annotations

from collections.abc import Iterator

from gpudoctor.expressions import expression
from gpudoctor.signatures.phrases import LIBRARY_NAMES as NAMES
from gpudoctor.signatures.phrases import LIBRARY_STATED_INSTALLED

_SONAME = expression(
    rf"(lib(?:{NAMES})(?:_\w{{1,40}})?\.so\.[\d.]{{1,8}}?)(?:'?[:;] ?(?:dlerror|cannot open shared object)| => not found|\. (?:Error|LD_LIBRARY_PATH):| is not found or cannot)"
)
_STATED_MISSING = expression(
    rf"(?i:\b(?:could not|cannot|can't|unable to|fail(?:s|ed)? to|(?:does|do|did)(?: not|n't)|missing)\b(?:(?!\blib\w{{1,40}}\.so)[^\n]){{0,30}}?)(lib(?:{NAMES})(?:_\w{{1,40}})?\.so\.\d{{1,2}}(?:\.\d{{1,2}})?)(?![\w.]\d|: /)"
)
"""As programs that keep the loader's words to themselves and people say it."""
_DLL_NAME = expression(rf"(?<!opened dynamic library )(?<!opened CUDA library )\b({NAMES})(?:_\w{{1,40}})?64_(\d{{1,3}})(?:_\d)?\.dll")
_LATEST_MAJOR_OF_TWO_DIGITS = 20
"""cublas64_11.dll is of CUDA 11, cudart64_90.dll of CUDA 9.0."""
_ON_DISK = expression(
    r"(/[^\s:;'\"]{1,200}/|(?<![\w/])(?=lib\w{1,40}\.so\.\d{1,2}\.\d{1,3}\.\d))(lib\w{1,40}\.so\.[\d.]{1,8})"
    rf"|\b([A-Z]:\\[^\n:;'\"]{{1,200}}\\)((?:{NAMES})\w{{1,40}}\.dll)"
)
"""A library by its path, or by the whole name of its file, which links and messages of the loader shorten."""
_STATED_INSTALLED = expression(LIBRARY_STATED_INSTALLED)
_NOT_OPENED = expression(
    r"lib\w{1,40}\.so\.[\d.]{1,12}(?=:(?:\s|cannot open|$))|Could not load library lib\w{1,40}\.so\.[\d.]{1,12}"
    r"|(?i:error loading|(?:could not|cannot|failed to|unable to) (?:load|open|find|locate)|trying to load)\b[^\n]{0,30}?[A-Z]:\\[^\n:;'\"]{1,200}\.dll"
)
"""How the loader names what it did not find, by the whole name of its file too."""


def missing_library_names(text: str) -> list[str]:
    """Return the libraries that a text says are missing, by their Linux names: libcudart.so.11.0 for cudart64_110.dll."""
    named = _DLL_NAME.findall(_STATED_INSTALLED.sub(" ", text)) or _DLL_NAME.findall(text)
    libraries = [_linux_name_of_dll(*found) for found in named]
    return list(dict.fromkeys([*_SONAME.findall(text), *_STATED_MISSING.findall(text), *libraries]))


def linux_name(file: str) -> str:
    """Return the Linux name of a library's file."""
    found = _DLL_NAME.search(file)
    return _linux_name_of_dll(*found.groups()) if found else file


def _linux_name_of_dll(name: str, digits: str) -> str:
    whole = len(digits) == 1 or (len(digits) == 2 and int(digits) < _LATEST_MAJOR_OF_TWO_DIGITS)
    return f"lib{name}.so.{digits if whole else f'{digits[:-1]}.{digits[-1]}'}"


def libraries_stated_installed(text: str) -> Iterator[tuple[str, str]]:
    """Yield the files of libraries that sentences say are there, and what they say."""
    for said in _STATED_INSTALLED.finditer(text):
        yield said["placed"] or said["being"] or said["had"], said[0]


_FOLDER_LISTING = expression(r"(?<=[\w/])(?<!\.so)/?: {1,2}(?=lib\w{1,40}\.so\.[\d.]{1,8}(?!\S)(?! =>))")
"""What stands between a folder and a file that somebody lists below its name."""


def library_paths(text: str) -> list[tuple[str, str]]:
    """Return the folders and names of libraries that a text shows by their path."""
    found = _ON_DISK.findall(_FOLDER_LISTING.sub("/", text))
    return [(folder or windows_folder, name or dll) for folder, name, windows_folder, dll in found]


def missing_libraries_on_disk(text: str) -> Iterator[tuple[str, str]]:
    """Yield the folders and names of missing libraries that a text shows by their path, in another place than where it says that they are missing."""
    wanted = set(missing_library_names(text))
    yield from ((folder, name) for folder, name in library_paths(_NOT_OPENED.sub(" ", text)) if linux_name(name) in wanted)


def soname_major(soname: str) -> int:
    """Return the major version in a file name."""
    return int(soname.partition(".so.")[2].partition(".")[0])
