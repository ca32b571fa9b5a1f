"""The site: built by the real generator, and searched in a real browser."""

from __future__ import annotations

import functools
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from gpudoctor.diagnose.rules import RULES
from gpudoctor.exit_meanings import EXIT_CODES
from tests.browser import chromium
from tests.scripts.programs import SCRIPTS

RESULTS = (
    "return [...document.querySelectorAll('*')].flatMap(e => e.shadowRoot ? [...e.shadowRoot.querySelectorAll('a')] : []).map(a => a.href)"
)
"""The links in the search box, which is a component with a tree of its own."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "built"
    done = subprocess.run([sys.executable, SCRIPTS / "site", "-o", folder], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    with chromium() as chrome:
        yield chrome


def search(browser: webdriver.Chrome, address: str, words: str) -> None:
    """Type `words` into the site's search."""
    browser.get(address)
    browser.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "k")
    WebDriverWait(browser, 20).until(lambda chrome: chrome.execute_script("return !!document.activeElement.shadowRoot"))
    browser.switch_to.active_element.send_keys(words)


def first_pages(browser: webdriver.Chrome, address: str) -> list[str]:
    """Return the first three pages that the search shows, which at first are those for the beginning of what was typed."""
    links = browser.execute_script(RESULTS)
    return list(dict.fromkeys(re.sub(r"[?#].*", "", link).removeprefix(address).strip("/") for link in links))[:3]


def test_every_rule_and_exit_code_has_a_page(site: Path) -> None:
    for rule in RULES:
        page = (site / "rules" / rule.name / "index.html").read_text()
        assert f"{rule.code} {rule.name}" in page
        assert 'id="references"' in page
    assert all((site / "exit-codes" / code.name / "index.html").is_file() for code in EXIT_CODES)


def test_every_link_within_the_site_leads_to_a_page(site: Path) -> None:
    broken = []
    for page in site.rglob("*.html"):
        for link in re.findall(r'href="([^"#?:]+)[#?]?[^":]*"', page.read_text()):
            target = (site / link.lstrip("/")) if link.startswith("/") else page.parent / link
            if not target.exists():
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_the_site_asks_no_other_host_for_anything(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not re.search(r'(?:src|<link[^>]+href)="https?://', page.read_text()), page


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("803", "driver-library-mismatch"),
        ("undefined symbol: ncclCommRegister", "nccl-version-conflict"),
        ("no kernel image is available", "gpu-too-new-for-build"),
        ("Torch not compiled with CUDA enabled", "cpu-only-build"),
    ],
)
def test_an_error_message_leads_to_its_page(browser: webdriver.Chrome, address: str, words: str, name: str) -> None:
    search(browser, address, words)
    WebDriverWait(browser, 20).until(lambda chrome: f"rules/{name}" in first_pages(chrome, address), "it is not among the first three")
    browser.get(f"{address}/rules/{name}/")
    assert name in browser.find_element(By.TAG_NAME, "h1").text
