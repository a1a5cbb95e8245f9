import re
import subprocess
import sys
from pathlib import Path

from app.server.preloads import link_header
from app.streamlit_shims import DRAWING, INDEX, SCRIPTS

ROOT = Path(__file__).parents[3]


def test_the_header_names_existing_scripts_that_the_page_does_not_load() -> None:
    names = re.findall(r"<\./static/js/([\w.-]+\.js)>; rel=modulepreload", link_header())
    assert len(names) == len(set(names)) == link_header().count("modulepreload")
    assert all((SCRIPTS / name).is_file() for name in names)
    for kind in DRAWING:
        assert any(name.startswith(f"{kind}.") for name in names), kind  # Streamlit has renamed it
    assert not [name for name in names if name in INDEX.read_text(encoding="utf-8")]
    assert len(link_header()) < 1000  # nginx takes 4 kB of headers in all


def test_the_modules_of_the_page_are_imported_in_the_background_without_slow_libraries() -> None:
    code = (
        "import sys; from app.server import preloads; preloads.import_page().join();"
        "slow = {'torch', 'scipy', 'sklearn'} & set(sys.modules);"
        "sys.exit(3 if slow or not set(preloads.MODULES) <= set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 0
