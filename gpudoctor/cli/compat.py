"""`gpudoctor compat`: judges a combination that is not there yet and ends as its report says."""

from __future__ import annotations

from gpudoctor.cli import output
from gpudoctor.cli.deliver import Delivery, deliver
from gpudoctor.findings import Policy
from gpudoctor.plan.model import Combination


def carry_out(combination: Combination, policy: Policy, compat: str | None, form: Delivery) -> int:
    """The exit code. Raises GpudoctorError where the combination cannot be understood or the report not be written."""
    from gpudoctor.plan import examine  # noqa: PLC0415 -- the options are right before the rules are loaded

    output.check(form.output)
    return deliver(examine(combination, policy, compat), "compat", form)
