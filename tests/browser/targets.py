"""Touch targets: whether a tap at the centre and at the edges of each reaches it."""

TARGETS = "a[href], button:enabled, summary, input, textarea, [role=menuitem]"

MISSED = """
(host, targets) => {
  const root = host.shadowRoot;
  const missed = [];
  for (const target of root.querySelectorAll(targets)) {
    if (!target.checkVisibility({ visibilityProperty: true, opacityProperty: true })) continue;
    target.scrollIntoView({ block: "center", behavior: "instant" });
    for (const { left, right, top, bottom, width, height } of target.getClientRects()) {
      if (width < 3 || height < 3) continue; // for screen readers only
      const [x, y] = [(left + right) / 2, (top + bottom) / 2];
      const points = { center: [x, y], left: [left + 1, y], right: [right - 1, y], top: [x, top + 1], bottom: [x, bottom - 1] };
      for (const [name, point] of Object.entries(points)) {
        const hit = root.elementFromPoint(...point);
        if (hit?.closest(targets) !== target) missed.push(`${name} of ${target.ariaLabel || target.textContent}: ${hit?.outerHTML.slice(0, 80)}`);
      }
    }
  }
  return missed;
}
"""
"""Returns what is hit instead of the targets in the shadow root of an element."""
