"""Whatever a machine's names and logs hold, a ticket shows it as text: in a browser, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selenium import webdriver
from selenium.webdriver.common.by import By

from gpudoctor.report import markdown as report_markdown
from gpudoctor.report import terminal
from gpudoctor.report.build import build_report
from gpudoctor.report.model import Report
from gpudoctor.report.ticket.markdown import MAX_LETTERS
from tests.browser import chromium
from tests.redact.planted import examination
from tests.report.test_markup import READER
from tests.report.ticket.tickets import of_machine, written

HOSTILE = {
    "script": "<script>document.title='owned'</script>",
    "image": '<img src=x onerror="document.title=1">',
    "end of everything": "]]></code></pre></details></style></title><h1>owned</h1>",
    "comment": "<!-- <b>",
    "attribute": "\"' autofocus onfocus=alert(1) x=",
    "fence": "```\n</details>\n````\n# owned\n~~~",
    "link": "[owned](https://evil.example.net) ![owned](https://evil.example.net/x.png) <https://evil.example.net> [x]: https://evil.example.net",
    "bare link": "see https://evil.example.net/x, www.evil.example.net, evil.example.net, ftp://evil.example.net and a@evil.example.net",
    "javascript": "[owned](javascript:alert(1))",
    "table": "a | b\n| --- |\n\n> quote\n\n1. one\n- two\n+ three\n***\n___\n===",
    "emphasis": "*a* **b** _c_ __d__ ~~e~~ `f` \\",
    "entity": "&lt;script&gt; &#x3c; &copy;",
    "template": "{{ 7 * 7 }} {% for x in y %} ${7*7}",
    "colour": "\x1b[31mred\x1b]8;;https://evil.example.net\x07link\x1b]8;;\x07",
    "direction": "\u202egpj.exe\u202c \u2066x\u2069 \u200f",
    "nothing": "a\x00b\x08\x7f\ufeff",
    "long": "A" * 10_000,
    "wide": "名" * 10_000,
    "deep": "<" * 5000,
    "ticks": "`" * 500,
}
LINKS = re.compile(r"https://github\.com/gpudoctor/gpudoctor/blob/main/gpudoctor/diagnose/rules/[\w/]+\.md")
STRUCTURE = {"details", "/details", "summary", "/summary"}


def links_and_markup(text: str) -> tuple[list[str], list[str]]:
    """Return the targets of links and images that a renderer finds, and the names of HTML tags outside code."""
    targets, tags = [], []
    for token in READER.parse(text):
        for one in (token, *(token.children or ())):
            targets += [str(value) for name, value in one.attrs.items() if name in {"href", "src"}]
            if one.type in {"html_block", "html_inline"}:
                tags += re.findall(r"<(/?[a-z!][\w-]*)", one.content, re.IGNORECASE)
    return targets, tags


def check_markdown(text: str) -> None:
    targets, tags = links_and_markup(text)
    assert [target for target in targets if not LINKS.fullmatch(target)] == []
    assert set(tags) <= STRUCTURE
    assert tags.count("details") == tags.count("/details")
    assert len(text.encode("utf-8", "backslashreplace")) <= MAX_LETTERS
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", HOSTILE)
def test_markdown_shows_no_markup_of_the_machine(kind: str, gaps: bool) -> None:
    check_markdown(written(examination(HOSTILE[kind], gaps=gaps))["markdown"])


@pytest.mark.parametrize("form", [terminal.render, report_markdown.render], ids=["terminal", "markdown"])
@pytest.mark.parametrize("kind", HOSTILE)
def test_the_report_itself_shows_none_either(kind: str, form: Callable[[Report], str]) -> None:
    text = form(build_report(examination(HOSTILE[kind], gaps=False)))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    if form is report_markdown.render:
        targets, tags = links_and_markup(text)
        assert [target for target in targets if not LINKS.fullmatch(target)] == []
        assert set(tags) <= STRUCTURE


@pytest.mark.untraced
@given(text=st.text(alphabet=st.sampled_from("<>[]()`*_~|\\!&#;:/ \n\t-+=1.ahtps\"'{}%\u202e\x1b\x00"), max_size=60))
@settings(max_examples=80, deadline=None)
def test_no_text_becomes_markup(text: str) -> None:
    check_markdown(written(examination(text, gaps=False))["markdown"])


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    with chromium() as chrome:
        yield chrome


def open_page(browser: webdriver.Chrome, folder: Path, text: str) -> None:
    (folder / "ticket.html").write_bytes(text.encode("utf-8", "backslashreplace"))
    browser.get((folder / "ticket.html").as_uri())


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_browser_shows_no_markup_of_the_machine(browser: webdriver.Chrome, tmp_path: Path, kind: str) -> None:
    open_page(browser, tmp_path, written(examination("harmless", gaps=False))["html"])
    count = "return [...document.querySelectorAll('*')].map(e => e.localName + [...e.attributes].map(a => a.name)).sort().join()"
    harmless = set(browser.execute_script(count).split(","))
    open_page(browser, tmp_path, written(examination(HOSTILE[kind], gaps=False))["html"])
    assert set(browser.execute_script(count).split(",")) <= harmless | {"line", "class", "x1", "x2", "y1", "y2"}
    assert "owned" not in browser.title.partition(":")[0]
    assert browser.execute_script("return document.scripts.length") == 0
    targets = [link.get_attribute("href") for link in browser.find_elements(By.TAG_NAME, "a")]
    assert [target for target in targets if not LINKS.fullmatch(str(target))] == []
    logged = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert [one for one in logged if one["level"] == "SEVERE"] == []


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["eight-one-lost", "seen-at-work", "driver-470-tensorflow-cuda-12"])
def test_a_page_fits_its_window_and_is_readable(browser: webdriver.Chrome, tmp_path: Path, name: str, scheme: str, width: int) -> None:
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    )
    open_page(browser, tmp_path, written(of_machine(name))["html"])
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert min(contrasts(browser)) >= 4.5
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 380) is (scheme == "light")


def contrasts(browser: webdriver.Chrome) -> list[float]:
    """Return the contrast of every text with what is behind it, by WCAG 2.2: https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    return [float(one) for one in browser.execute_script(CONTRASTS)]


CONTRASTS = """
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => { const [r, g, b] = numbers(colour).map(c => c / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = element => { for (let e = element; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
  if (numbers(c)[3] !== 0) return c; } return 'rgb(255, 255, 255)'; };
return [...document.body.querySelectorAll('*')].filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
  .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); });
"""


def test_paper_shows_what_a_screen_folds_and_no_appendix(browser: webdriver.Chrome, tmp_path: Path) -> None:
    open_page(browser, tmp_path, written(of_machine("no-driver-at-all"))["html"])
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    folded = "return getComputedStyle(document.querySelector('details:not(.appendix)'), '::details-content').contentVisibility"
    facts, json = browser.find_elements(By.CSS_SELECTOR, ".appendix")
    assert (browser.execute_script(folded), facts.is_displayed(), json.is_displayed()) == ("visible", False, False)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert (browser.execute_script(folded), facts.is_displayed(), json.is_displayed()) == ("hidden", True, True)
