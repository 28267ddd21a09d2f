"""Imports every module of Jobferry: with `make lowest`, what the oldest packages lack shows at once."""

import importlib
import pkgutil

import jobferry

names = [each.name for each in pkgutil.walk_packages(jobferry.__path__, "jobferry.")]
for name in names:
    if not name.endswith(".__main__"):
        importlib.import_module(name)
print(f"All {len(names)} modules can be imported.")
