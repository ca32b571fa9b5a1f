"""What the name of a file says: whether it is a report, and its node."""

from __future__ import annotations

_PACKED = (".zstd", ".zst", ".gz")
_REPORT = (".ndjson", ".jsonl", ".json")


def names_report(file: str) -> bool:
    """Return whether a file is called as a report is. A broken one is then the node's; a broken log is nobody's."""
    return _without(file, _PACKED).endswith(_REPORT)


def stem_of(file: str) -> str:
    """Return a file's name without folder and suffixes: gpu001.cluster of reports/gpu001.cluster.json.gz."""
    return _without(file.rpartition("/")[2], (*_PACKED, *_REPORT))


def _without(file: str, suffixes: tuple[str, ...]) -> str:
    for suffix in suffixes:
        file = file.removesuffix(suffix)
    return file
