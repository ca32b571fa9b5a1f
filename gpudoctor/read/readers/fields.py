"""Reads "key: value" lines that people write into the fields of an issue form."""

from __future__ import annotations

from gpudoctor.read.readers.reader import RELEASE, VERSION, Form, Reader
from gpudoctor.read.statements import Rank

READER = Reader(
    "field",
    forms=(
        Form(
            "toolkit",
            r"(?i)^\W{0,4}cuda(?:[ /]{1,3}cudnn)?(?: toolkit)?(?: version)?\W{0,4}(?:cuda )?(?P<value>\d{1,2}\.\d)(?:\.\d{1,4})?(?![^\n]{0,80}(?:smi|driver))",
            Rank.PROSE,
        ),
        Form("cudnn", r"(?i)\bcudnn(?: version)?\W{1,4}v?(?P<value>\d\.\d(?:\.\d{1,3})?)\b", Rank.PROSE),
        Form("driver", rf"(?i)^\W{{0,4}}(?:nvidia |gpu )?driver(?: version)?\W{{1,4}}{VERSION}", Rank.PROSE),
        Form(
            "gpu",
            r"(?i)^\W{0,4}(?:gpu|graphics card)(?: model| name)?\W{1,4}(?P<value>(?:nvidia|geforce|rtx|gtx|tesla|quadro|a100|h100|v100)\b.{0,50})",
            Rank.PROSE,
        ),
        Form(
            "os",
            r"(?i)^\W{0,4}(?:os|operating system|platform)(?: platform and distribution.{0,40})?\W{1,4}(?P<value>(?:linux|ubuntu|debian|windows|mac ?os|centos|rhel|red hat|fedora|arch).{0,60})",
            Rank.PROSE,
        ),
        Form("python", r"(?i)^\W{0,4}python(?: version)?\W{1,4}v?(?P<value>[23]\.\d{1,2}(?:\.\d{1,2})?)\b", Rank.PROSE),
        Form(
            "package",
            r"(?i)^\W{0,4}(?P<name>torch|pytorch|tensorflow(?:-gpu|-cpu)?|jax|jaxlib)(?: version)?\W{1,4}v?" + RELEASE,
            Rank.PROSE,
        ),
    ),
)
