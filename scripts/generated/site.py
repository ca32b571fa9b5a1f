"""The sources of the site: the clone's documents under plain addresses, a page for each rule, exit code and recipe."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Final

from gpudoctor.diagnose.rules import FAMILIES, RULES
from gpudoctor.exit_meanings import EXIT_CODES
from scripts.generated.rule_pages import RULES_FOLDER

REPOSITORY: Final = "https://github.com/gpudoctor/gpudoctor/blob/main/"
RECIPES: Final = "scripts/preflight"
PICTURES: Final = "docs/pictures"
LANGUAGES: Final = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".md": "markdown", ".py": "python", ".toml": "toml"}
"""Of a recipe's file; everything else is highlighted as shell."""
SETTINGS: Final = {
    "site_name": "gpudoctor",
    "site_description": "Find out whether a machine can train on its GPU and, if not, what to fix.",
    "repo_url": "https://github.com/gpudoctor/gpudoctor",
    "theme": {
        "font": False,  # no request to a font service
        "features": [
            "navigation.indexes",
            "navigation.prune",
            "navigation.tabs",
            "navigation.top",
            "search.highlight",
            "content.code.copy",
        ],
        "palette": [
            {"media": "(prefers-color-scheme: light)", "scheme": "default", "toggle": {"icon": "lucide/moon", "name": "Dark"}},
            {"media": "(prefers-color-scheme: dark)", "scheme": "slate", "toggle": {"icon": "lucide/sun", "name": "Light"}},
        ],
    },
    "markdown_extensions": ["tables", {"toc": {"permalink": True}}, "pymdownx.highlight", "pymdownx.superfences"],
}
"""How zensical draws the pages, under the names that it takes from mkdocs.yml."""
_LINK: Final = re.compile(r"\]\((?!https?:|#|mailto:)(?P<path>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def sources(root: Path) -> dict[str, str]:
    """Return the text of each page by its path on the site."""
    places = _places(root)
    pages = {
        there: _relinked((root / here).read_text(), here, there, places, root) for here, there in places.items() if here.endswith(".md")
    }
    pages |= {places[here]: _recipe(here.removeprefix(RECIPES)[1:], root / here) for here in places if not here.endswith(".md")}
    return pages | {f"exit-codes/{code.name}.md": _exit_code(code.label, code.short, code.meaning, code.action) for code in EXIT_CODES}


def pictures(root: Path) -> dict[str, bytes]:
    """Return the pictures that the pages show, by their paths on the site."""
    return {f"pictures/{file.name}": file.read_bytes() for file in (root / PICTURES).iterdir()}


def navigation(root: Path) -> list[dict[str, object]]:
    """Return the site's navigation, as zensical takes it."""
    rules = [{_family(family): [{rule.name: f"rules/{rule.name}.md"} for rule in RULES if rule.family == family]} for family in FAMILIES]
    codes = [{f"Exit code {code.label}": f"exit-codes/{code.name}.md"} for code in EXIT_CODES]
    recipes = [{here.removeprefix(RECIPES)[1:]: there} for here, there in _recipes(root).items() if there != "recipes/index.md"]
    return [
        {"gpudoctor": "index.md"},
        {
            "Guide": [
                {"Check": "check.md"},
                {"Diagnose": "diagnose.md"},
                {"Ticket": "ticket.md"},
                {"Diff": "diff.md"},
                {"Compat": "compat.md"},
                {"Plan": "plan.md"},
                {"Fit": "fit.md"},
                {"X-ray": "xray.md"},
                {"Environments": "envs.md"},
                {"Reports": "report.md"},
                {"For agents": "agents.md"},
            ]
        },
        {"Rules": ["rules/index.md", *rules]},
        {"Exit codes": ["exit-codes/index.md", *codes]},
        {"Recipes": ["recipes/index.md", *recipes]},
        {"Development": [{"Contributing": "contributing.md"}, {"Changelog": "changelog.md"}]},
    ]


def _places(root: Path) -> dict[str, str]:
    """Return where each document of the clone is on the site; both are paths."""
    fixed = {
        "README.md": "index.md",
        "CONTRIBUTING.md": "contributing.md",
        "CHANGELOG.md": "changelog.md",
        "docs/exit-codes.md": "exit-codes/index.md",
        "gpudoctor/manual/agents.md": "agents.md",
        f"{RULES_FOLDER}/README.md": "rules/index.md",
    }
    guides = {f"docs/{file.name}": file.name for file in sorted((root / "docs").glob("*.md"))}
    rules = {f"{RULES_FOLDER}/{rule.family}/{rule.body.__name__}.md": f"rules/{rule.name}.md" for rule in RULES}
    return guides | fixed | rules | _recipes(root)


def _recipes(root: Path) -> dict[str, str]:
    files = sorted(
        path.relative_to(root).as_posix() for path in (root / RECIPES).rglob("*") if path.is_file() and "__pycache__" not in path.parts
    )
    index = f"{RECIPES}/README.md"
    return {
        here: "recipes/index.md" if here == index else f"recipes/{here.removeprefix(RECIPES)[1:].replace('/', '-')}.md" for here in files
    }


def _relinked(text: str, here: str, there: str, places: dict[str, str], root: Path) -> str:
    """Return `text` with its links to the clone's files leading to the site's pages, and all others to the repository."""

    def link(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), found["path"]))
        if (root / target).is_dir():
            target += "/README.md"
        place = target.removeprefix("docs/") if target.startswith(PICTURES) else places.get(target)
        address = REPOSITORY + target if place is None else posixpath.relpath(place, posixpath.dirname(there) or ".")
        return f"]({address}{found['anchor'] or ''})"

    return _LINK.sub(link, text)


def _recipe(name: str, file: Path) -> str:
    return f"# {name}\n\n```{LANGUAGES.get(file.suffix, 'sh')}\n{file.read_text().rstrip()}\n```\n"


def _exit_code(label: str, short: str, meaning: str, action: str) -> str:
    return f"# Exit code {label}: {short}\n\n{meaning}\n\n## What to do\n\n{action}\n\n[All exit codes](index.md)\n"


def _family(name: str) -> str:
    return name.replace("_", " ").capitalize()
