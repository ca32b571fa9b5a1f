"""Shared by the scripts that query libcuda: loading it, and a CUresult as number, name and message. For Python 3.4 to 3.14."""

import gpudoctor_answer as answer

NAME = "libcuda.so.1"


def load_libcuda():
    """The loaded library; None if the answer already says that there is none."""
    answer.mark("dlopen " + NAME)
    try:
        import ctypes

        return ctypes.CDLL(NAME)
    except ImportError as error:
        answer.write({"type": "unable", "reason": "the interpreter has no ctypes (%s)" % error})
    except OSError as error:
        answer.write(answer.load_failure(NAME, str(error)))
    return None


def status_of_code(cuda, code):
    """A CUresult as number, name and message."""
    import ctypes

    said = []
    for function in ("cuGetErrorName", "cuGetErrorString"):
        text = ctypes.c_char_p()
        try:
            getattr(cuda, function)(code, ctypes.byref(text))
        except AttributeError:
            pass
        said.append(answer.printable_text(text.value) if text.value else "")
    return {"type": "status", "code": code, "name": said[0] or "CUresult %d" % code, "text": said[1]}


def missing_of_code(cuda, function, code):
    """A failed call as a missing value."""
    said = status_of_code(cuda, code)
    return answer.missing("failed", "%s answered %d (%s)" % (function, code, said["name"]))
