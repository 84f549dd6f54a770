#!/usr/bin/env python3
"""Opens pages in headless Chromium, on a desk and on a telephone, in light and in dark.

Usage: look_at_pages.py CHROMIUM FOLDER COMMAND... COMMAND writes the pages into a folder, which stands for each {} in it. With "-"
for FOLDER nothing is kept; else the pages and their screenshots (in seen/) are left there to be looked at.

What must hold: nothing is wider than the window, on a desk the page has at most six screens, no two texts of a picture overlap and
none leaves it, no text is smaller than 8 pixels, text stands out from its background, no panel is too low to be read, what is drawn
is not stretched, on a telephone no table hides a column, the themes differ, and the page's own policy is broken by nothing.
"""

import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

WINDOWS = {"desk": (1280, 900), "phone": (390, 844)}
THEMES = {"light": [], "dark": ["--blink-settings=preferredColorScheme=0"]}

# Runs in a copy of the page that lets it: the page itself forbids scripts.
PROBE = r"""
<script>
const look = () => {
  const problems = [];
  const shown = element => { const box = element.getBoundingClientRect(); return box.width > 0 && box.height > 0; };
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width + 1)
    problems.push(`the page is ${document.documentElement.scrollWidth} pixels wide, the window ${width}`);
  const screens = document.documentElement.scrollHeight / innerHeight;
  if (width > 500 && screens > 6) problems.push(`the page is ${screens.toFixed(1)} screens long`);
  const luminance = colour => {
    const parts = colour.match(/[\d.]+/g).slice(0, 3).map(part => part / 255)
      .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  const background = element => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (!/, 0\)$/.test(colour) && colour !== "transparent") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  for (const element of document.querySelectorAll("h1, h2, h3, p, td, th, li, dd, dt, figcaption, summary, pre, small")) {
    if (!shown(element) || !element.textContent.trim()) continue;
    const ratio = contrast(getComputedStyle(element).color, background(element));
    if (ratio < 4.5) problems.push(`contrast ${ratio.toFixed(2)}: ${element.textContent.trim().slice(0, 40)}`);
  }
  for (const panel of document.querySelectorAll("#stage, #details"))
    if (shown(panel) && panel.clientHeight < 60) problems.push(`${panel.id || panel.className} is ${panel.clientHeight} pixels high`);
  for (const canvas of document.querySelectorAll("canvas"))
    for (const [drawn, seen] of [[canvas.width, canvas.clientWidth], [canvas.height, canvas.clientHeight]])
      if (Math.abs(drawn - seen * devicePixelRatio) > 1) problems.push(`${canvas.id} is drawn for ${drawn} pixels and has ${seen}`);
  if (width < 500)
    for (const table of document.querySelectorAll("table"))
      if (shown(table) && !table.closest("figure") && table.parentElement.scrollWidth > table.parentElement.clientWidth + 1)
        problems.push(`a table hides columns: ${table.textContent.trim().slice(0, 40)}`);
  document.querySelectorAll("svg").forEach((svg, number) => {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter(text => shown(text) && !"●".includes(text.textContent.trim()));
    if (texts.length < 4) problems.push(`picture ${number} has hardly any text`);
    const boxes = texts.map(text => [text.textContent.trim(), text.getBoundingClientRect()]);
    boxes.forEach(([text, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        problems.push(`picture ${number}: "${text}" leaves it`);
      const ratio = contrast(getComputedStyle(texts[i]).fill, background(svg));
      if (ratio < 4.5) problems.push(`picture ${number}: contrast ${ratio.toFixed(2)} of "${text}"`);
      const size = parseFloat(getComputedStyle(texts[i]).fontSize) * frame.width / svg.viewBox.baseVal.width;
      if (size < 8) problems.push(`picture ${number}: "${text}" is ${size.toFixed(1)} pixels high`);
      boxes.slice(i + 1).forEach(([other, more]) => {
        const across = Math.min(box.right, more.right) - Math.max(box.left, more.left);
        const down = Math.min(box.bottom, more.bottom) - Math.max(box.top, more.top);
        if (across > 1 && down > 3) problems.push(`picture ${number}: "${text}" and "${other}" overlap`);
      });
    });
  });
  const found = {problems, background: getComputedStyle(document.body).backgroundColor, pictures: document.querySelectorAll("svg").length};
  (window.frameElement?.ownerDocument ?? document).documentElement.setAttribute("data-found", JSON.stringify(found));
};
// A canvas is 300 pixels wide until it is drawn, which takes real time, while timers run ahead of it: each turn costs some.
const lookWhenDrawn = (turns = 2000) => {
  for (let i = 0; i < 1e6; ++i) Math.sqrt(i);
  if (turns && document.getElementById("overview")?.width === 300) setTimeout(lookWhenDrawn, 1, turns - 1); else setTimeout(look, 100);
};
addEventListener("load", () => lookWhenDrawn());
</script>
"""


def browse(chromium, page, size, theme, arguments):
    with tempfile.TemporaryDirectory(prefix="lockstep-profile-") as profile:
        command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--disable-extensions", "--enable-logging=stderr", f"--user-data-dir={profile}",
                   "--disable-background-networking", "--disable-component-update", "--disable-sync", "--allow-file-access-from-files",
                   "--virtual-time-budget=10000", "--force-device-scale-factor=1", f"--window-size={size[0]},{size[1]}",
                   *THEMES[theme], *arguments, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)


def framed(page, size, seen):
    """Headless windows are at least 500 pixels wide, so a narrow one is a frame in a page."""
    frame = seen / f"{page.stem}.frame.html"
    frame.write_text(f'<body style="margin:0"><iframe src="{page.as_uri()}" style="border:0;width:{size[0]}px;height:{size[1]}px">')
    return frame


def console_errors(log):
    return [line for line in log.splitlines() if ":CONSOLE" in line and "frame-ancestors" not in line]


def found_in(chromium, page, seen, window, theme):
    probed = seen / f"{page.stem}.{window}.{theme}.html"
    text = page.read_text().replace("default-src 'none'", "script-src 'unsafe-inline'", 1)
    probed.write_text(text.replace("</head>", PROBE + "</head>", 1))
    size = WINDOWS[window]
    dom = browse(chromium, framed(probed, size, seen) if window == "phone" else probed, size, theme, ["--dump-dom"]).stdout
    found = re.search(r'<html[^>]* data-found="([^"]*)"', dom)
    if not found:
        return {"problems": ["the page was not looked at: the probe did not run"], "background": "", "pictures": 0}
    return json.loads(html.unescape(found.group(1)))


def look(chromium, page):
    problems = []
    seen = page.parent / "seen"
    seen.mkdir(exist_ok=True)
    for window, size in WINDOWS.items():
        backgrounds = set()
        for theme in THEMES:
            found = found_in(chromium, page, seen, window, theme)
            backgrounds.add(found["background"])
            problems += [f"{page.name}, {window}, {theme}: {problem}" for problem in found["problems"]]
            if 'class="pictures"' in page.read_text() and page.stem != "empty" and found["pictures"] < 4:
                problems.append(f"{page.name}, {window}, {theme}: only {found['pictures']} pictures")
            shot = seen / f"{page.stem}.{window}.{theme}.png"
            done = browse(chromium, framed(page, size, seen) if window == "phone" else page, size, theme, [f"--screenshot={shot}"])
            problems += [f"{page.name}, {window}, {theme}: {error}" for error in console_errors(done.stderr)]
            if not shot.exists() or shot.stat().st_size < 5000:
                problems.append(f"{page.name}, {window}, {theme}: the screenshot is empty")
        if len(backgrounds) != len(THEMES):
            problems.append(f"{page.name}, {window}: light and dark look the same, {backgrounds}")
    return problems


def main():
    chromium, kept, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="lockstep-pages-") as scratch:
        folder = pathlib.Path(scratch if kept == "-" else kept).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([part.replace("{}", str(folder)) for part in command], check=True, stdout=subprocess.DEVNULL)
        pages = sorted(folder.glob("*.html"))
        problems = [problem for page in pages for problem in look(chromium, page)]
    if not pages:
        problems = ["no page was written"]
    for problem in problems:
        print(problem)
    print(f"{len(pages)} pages, {len(WINDOWS)} windows, {len(THEMES)} themes: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
