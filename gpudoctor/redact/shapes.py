"""Patterns for secrets: tokens with known prefixes, and values after a revealing name. Each is linear in its text.

detect-secrets 1.5.0 knows the same prefixes; why it is no dependency stands in pyproject.toml.
"""

from __future__ import annotations

import re

import msgspec

from gpudoctor.redact.pseudonyms import REMOVED_MARK, RemovedKind


class SecretShape(msgspec.Struct, frozen=True):
    """What a secret looks like. Every text that `pattern` matches has at least `shortest` characters and contains one of `hints`; `kept` replaces a match."""

    hints: tuple[str, ...]
    pattern: str
    source: str
    kept: str = REMOVED_MARK
    shortest: int = 0
    folded: bool = False
    """The hints are lower case, as is the text searched for them."""
    kind: RemovedKind = RemovedKind.SECRET


def _token_shape(prefix: str, rest: str, source: str, *hints: str) -> SecretShape:
    """A token that stands alone, recognised by its prefix."""
    return SecretShape(hints or (prefix,), rf"(?<![A-Za-z0-9]){prefix}{rest}", source)


_GITHUB = "https://docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github"
_GITLAB = "https://docs.gitlab.com/security/tokens/#token-prefixes"
_AWS = "https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-unique-ids"
_GITLEAKS = "https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml"

_ANNOUNCEMENT = (
    r"((?:pass(?:word|wd|phrase)|secret|token|credentials?|api[_-]?key|access[_-]?key(?:[_-]?id)?|account[_-]?key|shared[_-]?access[_-]?key"
    r"|private[_-]?key|authorization)[\"']?[ \t]{0,8}[=:][ \t]{0,8}[\"']?)"
)
"""A name that announces a secret, up to the value: token=, "api_key": "..."."""
_ANNOUNCED_VALUE = r"""(?:(?<=")[^"\n]{1,4096}(?=")|(?<=')[^'\n]{1,4096}(?=')|(?:(?:bearer|basic)[ \t]{1,8})?[^\s"',;&]+)"""

BASE64_SHAPE = SecretShape(
    ("",),
    r"(?<![\w.+/=@%-])(?!/)(?=[a-z0-9+/]{0,99}[A-Z])(?=[A-Z0-9+/]{0,99}[a-z])(?=[A-Za-z+/]{0,99}[0-9])[A-Za-z0-9+/]{40,}={0,2}(?![\w.+/@%-])",
    "a base64 key, such as AWS's secret access keys (40 letters) and Azure's (88): https://docs.aws.amazon.com/IAM/latest/UserGuide/id_credentials_access-keys.html",
    shortest=40,
)

SECRET_SHAPES = (
    SecretShape(
        ("PRIVATE KEY",),
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?!-----)[\s\S])*(?:-----END [A-Z0-9 ]{0,60}-----)?",
        "https://www.rfc-editor.org/rfc/rfc7468",
    ),
    SecretShape(
        ("://",),
        r"(?<=://)[^/\s]+@",
        "https://www.rfc-editor.org/rfc/rfc3986#section-3.2.1",
        f"{REMOVED_MARK}@",
        kind=RemovedKind.CREDENTIALS,
    ),
    SecretShape(
        ("pass", "secret", "token", "credential", "key", "authorization"),
        "(?i)" + _ANNOUNCEMENT + _ANNOUNCED_VALUE,
        "https://github.com/Yelp/detect-secrets, plugin keyword",
        r"\1***",
        folded=True,
    ),
    SecretShape(
        ("--pass", "--secret", "--token", "--api", "--auth"),
        r"(?i)(--(?:password|passwd|secret|token|api-?key|auth-token)[ \t]{1,8})[^\s-]\S*",
        "https://github.com/Yelp/detect-secrets, plugin keyword",
        r"\1***",
        folded=True,
    ),
    SecretShape(
        ("bearer ",),
        r"(?i)\b(bearer )[\w.~+/=-]{12,}",
        "https://www.rfc-editor.org/rfc/rfc6750#section-2.1",
        r"\1***",
        folded=True,
    ),
    SecretShape(("eyJ",), r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?", "https://www.rfc-editor.org/rfc/rfc7519#section-3"),
    SecretShape(
        ("sig=",),
        r"(\bsig=)[\w%+/=-]{8,}",
        "https://learn.microsoft.com/en-us/rest/api/storageservices/create-service-sas",
        r"\1***",
    ),
    _token_shape("gh[pousr]_", "[A-Za-z0-9]{16,}", _GITHUB, "gh"),
    _token_shape("github_pat_", r"\w{16,}", _GITHUB),
    _token_shape(r"gl[a-z]{2,6}-", r"[\w-]{16,}", _GITLAB, "gl"),
    _token_shape("hf_", "[A-Za-z0-9]{16,}", "https://huggingface.co/docs/hub/security-tokens"),
    _token_shape("api_org_", "[A-Za-z0-9]{16,}", _GITLEAKS),
    _token_shape("sk-", r"[\w-]{16,}", "https://platform.openai.com/docs/api-reference/authentication"),
    _token_shape("[rsp]k_(?:live|test)_", "[A-Za-z0-9]{10,}", "https://docs.stripe.com/keys", "k_"),
    _token_shape("nvapi-", r"[\w-]{16,}", "https://docs.nvidia.com/ngc/latest/ngc-user-guide.html"),
    _token_shape("AIza", r"[\w-]{30,}", "https://cloud.google.com/docs/authentication/api-keys"),
    _token_shape("ya29.", r"[\w-]{16,}", _GITLEAKS),
    _token_shape("GOCSPX-", r"[\w-]{16,}", _GITLEAKS),
    _token_shape("dckr_[op]at_", r"[\w-]{16,}", "https://docs.docker.com/security/access-tokens/", "dckr_"),
    _token_shape("glsa_", r"\w{16,}", "https://grafana.com/docs/grafana/latest/administration/service-accounts/"),
    _token_shape("glc_", r"[A-Za-z0-9+/=]{16,}", _GITLEAKS),
    _token_shape("npm_", "[A-Za-z0-9]{20,}", _GITLEAKS),
    _token_shape("pypi-", r"[\w-]{16,}", _GITLEAKS),
    _token_shape(r"SG\.", r"[\w-]{16,}\.[\w-]{16,}", "https://www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys", "SG."),
    _token_shape("SK", "[0-9a-f]{32}(?![0-9A-Za-z])", "https://www.twilio.com/docs/iam/api-keys"),
    _token_shape("xox[a-z]-", r"[\w-]{10,}", "https://docs.slack.dev/authentication/tokens", "xox"),
    _token_shape("xapp-", r"[\w-]{10,}", "https://docs.slack.dev/authentication/tokens"),
    _token_shape("wandb_v1_", r"\w{16,}", "https://docs.wandb.ai/support/find_api_key"),
    _token_shape("A(?:KIA|SIA|BIA|CCA)", "[A-Z0-9]{16}(?![A-Z0-9])", _AWS, "AKIA", "ASIA", "ABIA", "ACCA"),
    BASE64_SHAPE,
)

_WORD_FORM = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}|[0-9]{1,4}")


def is_repository_path(text: str) -> bool:
    """Return whether a text with slashes consists of words and short numbers, as a path in a repository: a key of that length has single letters."""
    return "/" in text and not _WORD_FORM.sub("", text).strip("/")
