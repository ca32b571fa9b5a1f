"""Tables of nvidia-smi in the layouts of several releases, with invented values, and the ways in which people paste them."""

from __future__ import annotations

from typing import Final

DRIVER_340 = """\
+------------------------------------------------------+
| NVIDIA-SMI 340.29     Driver Version: 340.29         |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  Tesla K40c          On   | 0000:02:00.0     Off |                    0 |
| 35%   62C    P0   138W / 235W |   4160MiB / 11519MiB |     97%      Default |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Compute processes:                                               GPU Memory |
|  GPU       PID  Process name                                     Usage      |
|=============================================================================|
|    0      9412  ./build/tools/caffe                                4096MiB  |
+-----------------------------------------------------------------------------+
"""
DRIVER_367: Final = """\
Tue Nov  1 09:12:33 2016
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 367.48                 Driver Version: 367.48                    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  GeForce GTX 980     Off  | 0000:04:00.0      On |                  N/A |
| 26%   41C    P8    18W / 180W |    301MiB /  4037MiB |      1%      Default |
+-------------------------------+----------------------+----------------------+
|   1  Tesla K80           On   | 0000:85:00.0     Off |                    2 |
| N/A   55C    P0    70W / 149W |  10240MiB / 11439MiB |     99%   E. Process |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                       GPU Memory |
|  GPU       PID  Type  Process name                               Usage      |
|=============================================================================|
|    0      1701    G   /usr/lib/xorg/Xorg                             178MiB |
|    1     20211    C   python                                       10231MiB |
+-----------------------------------------------------------------------------+
"""
DRIVER_470: Final = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |
|                               |                      |               MIG M. |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |
| N/A   29C    P0    51W / 400W |     19MiB / 40536MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-SXM...  On   | 00000000:0F:00.0 Off |                   On |
| N/A   28C    P0    49W / 400W |      0MiB / 40536MiB |     N/A      Default |
|                               |                      |              Enabled |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| MIG devices:                                                                |
+------------------+----------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|
|                  |                      |        ECC|                       |
|==================+======================+===========+=======================|
|  1    2   0   0  |      6MiB / 20096MiB | 42      0 |  3   0    2    0    0 |
|                  |      0MiB / 32767MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |
|        ID   ID                                                   Usage      |
|=============================================================================|
|  No running processes found                                                 |
+-----------------------------------------------------------------------------+
"""
DRIVER_580: Final = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 580.65.06              Driver Version: 580.65.06      CUDA Version: 13.0     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 5070 Ti     Off |   00000000:2D:00.0  On |                  N/A |
| 30%   44C    P8             14W /  300W |     655MiB /  16303MiB |      3%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A            2388      G   /usr/bin/gnome-shell                    301MiB |
|    0   N/A  N/A            9034    C+G   ...rack-uuid=3190708988185955192        112MiB |
|    0   N/A  N/A           51234      C   .../miniforge3/envs/vlm/bin/python3     120MiB |
+-----------------------------------------------------------------------------------------+
"""
WINDOWS: Final = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 560.94                 Driver Version: 560.94         CUDA Version: 12.6     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                  Driver-Model | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA GeForce RTX 4060 ...  WDDM  |   00000000:01:00.0 Off |                  N/A |
| N/A   47C    P8              2W /   95W |       0MiB /   8188MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+
|   1  Tesla P40                     TCC  |   00000000:05:00.0 Off |                    0 |
| N/A   31C    P8             10W /  250W |       9MiB /  23040MiB |      0%      Default |
|                                         |                        |                  N/A |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|    0   N/A  N/A      6532    C+G   ...\\Programs\\Opera GX\\opera.exe            N/A      |
+-----------------------------------------------------------------------------------------+
"""
LOST: Final = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.129.03             Driver Version: 535.129.03   CUDA Version: 12.2     |
|-----------------------------------------+----------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|                                         |                      |               MIG M. |
|=========================================+======================+======================|
|   0  NVIDIA RTX A5000               Off | 00000000:17:00.0 Off |                  Off |
| 30%   38C    P8              15W / 230W |      1MiB / 24564MiB |      0%      Default |
|                                         |                      |                  N/A |
+-----------------------------------------+----------------------+----------------------+
|   1  NVIDIA RTX A5000               Off | 00000000:65:00.0 Off |                 ERR! |
|ERR!  ERR! ERR!             ERR! / ERR!  |      1MiB / 24564MiB |    ERR!         ERR! |
|                                         |                      |                 ERR! |
+-----------------------------------------+----------------------+----------------------+
"""
ALL: Final = {"367": DRIVER_367, "470": DRIVER_470, "580": DRIVER_580, "Windows": WINDOWS, "lost": LOST}
MIG_WITHOUT_INSTANCES: Final = DRIVER_470.replace(
    """\
| GPU  GI  CI  MIG |         Memory-Usage |        Vol|         Shared        |
|      ID  ID  Dev |           BAR1-Usage | SM     Unc| CE  ENC  DEC  OFA  JPG|
|                  |                      |        ECC|                       |
|==================+======================+===========+=======================|
|  1    2   0   0  |      6MiB / 20096MiB | 42      0 |  3   0    2    0    0 |
|                  |      0MiB / 32767MiB |           |                       |
+------------------+----------------------+-----------+-----------------------+
""",
    """\
|  No MIG devices found                                                       |
+-----------------------------------------------------------------------------+
""",
)


def wrapped(table: str) -> str:
    """Return a table whose lines a mail program broke at the last space before column 72."""
    return "\n".join("\n".join(_broken(line)) for line in table.splitlines())


def _broken(line: str) -> tuple[str, ...]:
    end = line.rfind(" ", 0, 72) if len(line) > 72 else -1
    return (line,) if end < 0 else (line[:end].rstrip(), line[end:].lstrip())


def without_borders(table: str) -> str:
    """Return a table that lost its bars and rules."""
    return "\n".join(line.replace("|", " ").strip() for line in table.splitlines() if not line.startswith(("+", "|-", "|=")))


def in_markdown(table: str) -> str:
    """Return a table whose bars are escaped, as in a cell of a Markdown table."""
    return table.replace("|", "\\|")


def quoted(table: str) -> str:
    """Return a table as a reply quotes it."""
    return "".join(f"> {line}\n" for line in table.splitlines())


def indented(table: str) -> str:
    """Return a table as a list item shows it."""
    return "".join(f"      {line}\n" for line in table.splitlines())


def flush_left(table: str) -> str:
    """Return a table whose rows lost their leading spaces."""
    return "\n".join(line.lstrip("| ") for line in table.splitlines())
