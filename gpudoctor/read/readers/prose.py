"""Reads versions in lines that begin like a field and have no colon: "CUDA 11.8, cuDNN 8.6", "Driver 535.54"."""

from __future__ import annotations

from gpudoctor.read.readers.reader import Reader, StatementForm
from gpudoctor.read.statements import Directness

READER = Reader(
    "prose",
    forms=(
        StatementForm(
            "toolkit",
            r"(?i)^\W{0,4}cuda(?: toolkit)?(?: version)?\s{1,4}v?(?P<value>\d{1,2}\.\d)(?:\.\d{1,4})?(?![^\n]{0,80}(?:smi|driver))",
            Directness.PROSE,
        ),
        StatementForm("cudnn", r"(?i)\bcudnn(?: version)?\W{1,4}v?(?P<value>\d\.\d(?:\.\d{1,3})?)\b", Directness.PROSE),
        StatementForm("jetpack", r"\b(?i:jetpack)(?: SDK)?[ -]?v?(?P<value>[4-7]\.\d(?:\.\d)?)\b", Directness.PROSE),
        StatementForm(
            "driver",
            r"(?i)^\W{0,4}(?:nvidia |gpu )?driver(?: version)?\s{1,4}(?P<value>\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b(?![^\n]{0,200}\b\d{3}\.\d)",
            Directness.PROSE,
        ),
        StatementForm(
            "gpu",
            r"(?i)^\W{0,4}(?:gpu|graphics card)(?: model| name)?\s{1,4}(?P<value>(?:nvidia|geforce|rtx|gtx|tesla|quadro|a100|h100|v100)\b.{0,50})",
            Directness.PROSE,
        ),
    ),
)
