# SPDX-License-Identifier: MIT
"""The report in a real browser: on a phone nothing is cut off, nothing fails.

Headless Chromium loads the page in a window of a phone's width; a script that
is added to a copy of the page measures it and writes what it found into it.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest
from test_tables import folder, results  # noqa: F401  fixtures

from bigleaf_bench import report

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PROBE = """
<script>
window.addEventListener("load", () => {
  const wide = [...document.querySelectorAll("body *")].filter(e =>
    !e.closest(".wide") && !e.closest("svg") &&
    e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName);
  const drawn = [...document.querySelectorAll("svg")].map(e => {
    const box = e.getBoundingClientRect();
    return box.width > 100 && box.height > 80;
  });
  const text = getComputedStyle(document.body).fontSize;
  document.title = JSON.stringify({width: innerWidth, wide, drawn, text,
    page: document.documentElement.scrollWidth, rows: document.querySelectorAll("tr").length});
});
</script>
"""


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if not found:
        pytest.skip("no browser: apt-get install chromium")
    return found


@pytest.mark.parametrize("width", [360, 1280])
def test_report_fits(results, tmp_path, width):  # noqa: F811
    page = report.page(results).replace("</body>", PROBE + "</body>")
    path = tmp_path / "probe.html"
    path.write_text(page, encoding="utf-8")
    # The window of a headless Chromium is no narrower than 500; a frame is.
    frame = tmp_path / "frame.html"
    frame.write_text(f'<iframe src="probe.html" width="{width}" height="800" id="f"></iframe>'
                     '<script>onload = () => setTimeout(() => document.title ='
                     ' document.getElementById("f").contentDocument.title, 500)</script>',
                     encoding="ascii")
    done = subprocess.run(
        [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--allow-file-access-from-files", f"--user-data-dir={tmp_path / 'profile'}",
         "--window-size=1400,900", "--virtual-time-budget=5000", "--dump-dom",
         frame.as_uri()], capture_output=True, text=True, timeout=120, check=False)
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title, done.stderr[-2000:]
    found = json.loads(title[1].replace("&quot;", '"'))
    assert found["width"] == width
    assert found["page"] <= width, f"the page is {found['page']} wide"
    assert found["wide"] == [] and found["drawn"] == [True] * 4
    assert found["rows"] >= 6 and found["text"] == "16px"
