"""How a child answers: one JSON object per line on the descriptor in --answer-fd, and "@..." lines that announce its next step.

For Python 2.7 and 3.4 to 3.14. It writes JSON itself: importing the standard module takes 7 ms, half of what these scripts need.
"""

import os
import sys

_answer_descriptor = int(sys.argv[sys.argv.index("--answer-fd") + 1])
_pending_lines = []
_unescaped_letters = frozenset(chr(code) for code in range(32, 127)) - frozenset('"\\')
"""The characters that JSON leaves unescaped."""


def printable_text(text):
    """The text with undecodable bytes as escapes."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "backslashreplace" if sys.version_info[0] > 2 else "replace")
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except (UnicodeError, LookupError):
        return text.encode("ascii", "backslashreplace").decode("ascii")


def json_string(text):
    """The text as a JSON string in ASCII."""
    if not _unescaped_letters.issuperset(text):
        text = "".join(one if one in _unescaped_letters else json_escape(ord(one)) for one in printable_text(text))
    return '"' + text + '"'


def json_escape(code):
    if code < 0x10000:
        return "\\u%04x" % code
    return "\\u%04x\\u%04x" % (0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF))  # a pair of surrogates


def as_json(value):
    if type(value) is str:  # most values
        return json_string(value)
    if isinstance(value, dict):
        return "{" + ",".join([json_string(key) + ":" + as_json(item) for key, item in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([as_json(item) for item in value]) + "]"
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return "%d" % value
    return json_string(value)


MAX_GPUS = 256
"""More than a driver can have found: a PCI domain has 256 buses, and each GPU takes at least one."""


def missing(cause, reason):
    return {"type": "missing", "cause": cause, "reason": reason}


def problem_with_count(function, count):
    """Why the number of GPUs that a driver library counts is not believed; None if it is credible."""
    if 0 <= count <= MAX_GPUS:
        return None
    return missing("failed", "%s counts %d GPUs, which no machine has" % (function, count))


def write(value):
    """Part of the answer, sent with the next mark or at the end."""
    _pending_lines.append(as_json(value) + "\n")


def mark(doing, *devices):
    """Announce the next step before it can hang, and the numbers of the devices that it asks."""
    _pending_lines.append("@" + doing + "".join("\t%d" % device for device in devices) + "\n")
    flush()


def flush():
    data = "".join(_pending_lines).encode("utf-8")
    del _pending_lines[:]
    while data:
        data = data[os.write(_answer_descriptor, data) :]


def report_crash(kind, error, trace):
    """Report a crash of our own script in place of an answer; the parent does not blame a library or the machine."""
    sys.__excepthook__(kind, error, trace)
    shadowed = issubclass(kind, AttributeError) and str(error).startswith("module '")  # as by a json.py on PYTHONPATH
    if not shadowed and not issubclass(kind, (ImportError, MemoryError, KeyboardInterrupt)):
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = " in %s, line %d" % (os.path.basename(trace.tb_frame.f_code.co_filename), trace.tb_lineno) if trace else ""
        write({"type": "crashed", "reason": kind.__name__ + ": " + printable_text(str(error))[:300] + place})
    flush()


sys.excepthook = report_crash


def exit_now():
    """Exit without the exit handlers of Python and the driver's libraries, which take time and can hang."""
    flush()
    os._exit(0)


def loaded_file(beginning):
    """The file of a loaded library by the beginning of its name, from the process's memory map."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                path = line.split(None, 5)[5:]
                if path and path[0].strip().rsplit(b"/", 1)[-1].startswith(beginning):
                    return printable_text(path[0].strip())
    except (IOError, OSError) as error:
        return missing("failed", "/proc/self/maps: %s" % error)
    return missing("absent", "no such file in /proc/self/maps")


UNLOADABLE = ("wrong ELF class", "invalid ELF header", "file too short", "Exec format error")
"""glibc's messages for a file that this process cannot load."""


def load_failure(name, words):
    """The loader's message as a missing value: absent if it found no library, unloadable if the file fits no process of this kind."""
    words = printable_text(words)
    if (words.startswith(name) and "No such file" in words) or "Error loading shared library " + name + ": No such" in words:
        return missing("absent", words)
    if any(refusal in words for refusal in UNLOADABLE):
        return missing("unloadable", words)
    return missing("denied" if "ermission denied" in words else "failed", words)
