import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.go
@pytest.mark.timeout(600)
def test_the_generated_files_are_what_the_tool_makes(tmp_path: Path) -> None:
    go, tool = shutil.which("go"), ROOT / "tools" / "tables"
    if go is None or subprocess.run([go, "mod", "download"], cwd=tool, check=False).returncode:
        pytest.skip("needs Go and the modules that tools/tables names")
    # The flags with which `make kube` builds, so that what it has compiled is used.
    subprocess.run(
        [go, "run", "-trimpath", ".", tmp_path],
        cwd=tool,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
    )

    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*.json")}
    kept = {path: (ROOT / "src" / "jobferry" / path).read_bytes() for path in made}
    assert len(made) == 3
    assert made == kept
