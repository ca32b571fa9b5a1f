from __future__ import annotations

import msgspec
import pytest

from gpudoctor.findings import Confidence, OutcomeKind
from gpudoctor.snapshot import Blocked
from tests.builders import ABSENT, card, in_docker
from tests.diagnose.rules.asking import findings_of, kinds_of
from tests.diagnose.rules.driver.modules import DENIED, signed, unloaded

RULE = "secure-boot-unsigned-module"


@pytest.mark.parametrize("signature", [True, None])
def test_a_signature_that_may_not_be_trusted_is_possible_only(signature: bool | None) -> None:
    (finding,) = findings_of(RULE, unloaded(signed(signature=signature, lockdown="integrity")))
    assert finding.confidence is Confidence.POSSIBLE
    assert finding.fixes[0].command == "sudo modprobe nvidia"


def test_a_nearer_reason_is_enough() -> None:
    guess = signed(signature=None, secure_boot=True)
    assert findings_of(RULE, unloaded(guess))
    assert not findings_of(RULE, unloaded(guess, card(0, driver="nouveau")))
    blocked = msgspec.structs.replace(guess, blocked=(Blocked("nvidia", "/etc/modprobe.d/x.conf", "blacklist"),))
    assert not findings_of(RULE, unloaded(blocked))


def test_secure_boot_without_enforcement_refuses_nothing() -> None:
    modules = signed(signature=False, secure_boot=True, lockdown="none", signatures_enforced=False)
    assert kinds_of(RULE, unloaded(modules)) == [OutcomeKind.PASSED]


def test_without_uefi_nothing_is_refused() -> None:
    assert kinds_of(RULE, unloaded(signed(signature=False, secure_boot=ABSENT))) == [OutcomeKind.PASSED]


def test_a_hidden_variable_is_ignorance() -> None:
    assert kinds_of(RULE, unloaded(signed(signature=False, secure_boot=DENIED))) == [OutcomeKind.COULD_NOT_TELL]


def test_in_a_container_it_is_the_hosts() -> None:
    snapshot = unloaded(signed(signature=False, secure_boot=True), container=in_docker())
    assert kinds_of(RULE, snapshot) == [OutcomeKind.NOT_APPLICABLE]
