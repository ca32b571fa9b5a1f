"""The name of the node that a file is called by."""

from __future__ import annotations

_SUFFIXES = (".zstd", ".zst", ".gz", ".ndjson", ".jsonl", ".json")


def stem_of(file: str) -> str:
    """Return a file's name without folder and suffixes: gpu001.cluster of reports/gpu001.cluster.json.gz."""
    name = file.rpartition("/")[2]
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix)
    return name
