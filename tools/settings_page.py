"""Write docs/settings.md from the settings themselves."""

import sys
from pathlib import Path

from jobferry.settings import DEFAULTS, Setting, every

PAGE = Path(__file__).parent.parent / "docs" / "settings.md"

INTRODUCTION = """# Settings

<!-- Written by tools/settings_page.py from src/jobferry/settings: change it there. -->

Each setting of `jobferry run` can be given in three places. A flag counts more than the environment, the environment more than
the file that `--config` names, and that more than the default.

```yaml
# jobferry.yaml
managedBy: [jobferry.io/dispatcher, kueue.x-k8s.io/multikueue]
requestsInFlight: 16
lease:
  namespace: batch
```

Lists have commas between their items in flags and in the environment, but for lists of tables, which are YAML there, too. An environment variable that is empty counts as not given.
A wrong value ends the start with one line that names the place of it.
"""


def page() -> str:
    """Return the whole page."""
    groups: dict[str, list[Setting]] = {}
    for setting in every():
        groups.setdefault(".".join(setting.path[:-1]), []).append(setting)
    return INTRODUCTION + "".join(_group(name, found) for name, found in groups.items())


def _group(name: str, settings: list[Setting]) -> str:
    about = type(getattr(DEFAULTS, name) if name else DEFAULTS).__doc__
    title = name.title() or "Dispatcher"
    return f"\n## {title}\n\n{about}\n" + "".join(map(_entry, settings))


def _entry(setting: Setting) -> str:
    default = f"`{setting.shown_default}`" if setting.shown_default else "empty"
    return (
        f"\n### `{setting.key}`\n\n{setting.doc}\n\n"
        f"- Takes {setting.reader.takes}; default {default}\n"
        f"- Flag `{setting.flag}`, environment `{setting.variable}`\n"
    )


if __name__ == "__main__":
    PAGE.write_text(page())
    sys.stdout.write(f"Wrote {PAGE.name}.\n")
