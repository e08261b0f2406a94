// Elements, icons and texts, for all modules of <roaming-ask>.

/** Replace names in braces by their values; `n` selects singular or plural. */
export const fill = (text, values) => {
  const forms = `${text}`.split("|");
  return forms.at(values.n === 1 ? 0 : -1).replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all);
};

// Icons: a 24 px grid, 1.6 px strokes. The second path, if there is one, is filled.
const ICONS = {
  ask: [
    "M12 3.5c5 0 9 3.4 9 7.9s-4 7.9-9 7.9c-1 0-2-.1-2.9-.4L4 20.5l1.3-3.8C3.9 15.3 3 13.5 3 11.4c0-4.5 4-7.9 9-7.9Z",
    "M12 6.5c.4 3.1 1.6 4.4 4.8 4.9-3.2.5-4.4 1.8-4.8 4.9-.4-3.1-1.6-4.4-4.8-4.9 3.2-.5 4.4-1.8 4.8-4.9Z",
  ],
  chev: ["m9 6 6 6-6 6"],
  down: ["M12 5v14m6-6-6 6-6-6"],
  find: ["M4.5 11a6.5 6.5 0 1 0 13 0 6.5 6.5 0 0 0-13 0M20 20l-4.3-4.3"],
  go: ["M5 12h14m-5-5 5 5-5 5"],
  info: ["M3.5 12a8.5 8.5 0 1 0 17 0 8.5 8.5 0 0 0-17 0M12 8v5m0 3v.01"],
  new: ["M11 5H6a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-5M9 15l.7-3.2L17.5 4A1.8 1.8 0 0 1 20 6.5l-7.8 7.8Z"],
  next: ["M6 5v6a3 3 0 0 0 3 3h9m-4-4 4 4-4 4"],
  off: ["M4 4l16 16M8.5 6.6a6 6 0 0 1 9 4.4 4 4 0 0 1 2.6 6.5M16 19H8a5 5 0 0 1-1.6-9.7"],
  page: ["M14 3.5H7.5A1.5 1.5 0 0 0 6 5v14a1.5 1.5 0 0 0 1.5 1.5h9A1.5 1.5 0 0 0 18 19V7.5Zm0 0v4h4M9.5 12.5h5m-5 3.5h5"],
  redo: ["M19 12a7 7 0 1 1-2.2-5.1L19 9m0-5v5h-5"],
  ret: ["M19 6v5a3 3 0 0 1-3 3H6m4-4-4 4 4 4"],
  stop: ["", "M9 7h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2Z"],
  up: ["M12 19V5m-6 6 6-6 6 6"],
  x: ["m6 6 12 12M18 6 6 18"],
};
const MIRRORED = ["chev", "go", "next", "ret"]; // in right-to-left pages

/** Create an SVG element. */
export const svg = (tag, attrs, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attrs) node.setAttribute(name, attrs[name]);
  node.append(...children);
  return node;
};

/** Create an icon of path data: one path that is drawn, and one that is filled. */
export function icon(drawn, filled) {
  const fill = filled ? [svg("path", { d: filled, fill: "currentColor", stroke: "none" })] : [];
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": true }, svg("path", { d: drawn }), ...fill);
}

/** Create one of the icons above. */
export function namedIcon(name) {
  const drawn = icon(...ICONS[name]);
  drawn.classList.toggle("mirrored", MIRRORED.includes(name));
  return drawn;
}

const sheets = new Map(); // by their text

/** Add a style sheet to a document or a shadow root, once. */
export function adopt(root, style) {
  const sheet = sheets.get(style) ?? new CSSStyleSheet();
  if (!sheets.has(style)) sheet.replaceSync(style);
  sheets.set(style, sheet);
  if (root && !root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets.push(sheet);
}

export const MODIFIER = /^(Mac|iP)/.test(navigator.platform) ? "metaKey" : "ctrlKey";
/** Whether a letter is pressed with Ctrl or Cmd. With a non-Latin layout the physical key counts. */
export function isShortcut(event, letter) {
  const { key, code, altKey, shiftKey, target } = event;
  if (!event[MODIFIER] || altKey || shiftKey || target.isContentEditable) return false;
  return key.toLowerCase() === letter || (key > "~" && code.slice(3).toLowerCase() === letter);
}
export const SEND_KEY = MODIFIER === "metaKey" ? "⌘ ↵" : "Ctrl ↵";

// Direction overrides could disguise what a text says.
export const plain = (text) => String(text).replace(/[\u202a-\u202e\u2066-\u2069\0-\b]/g, "");

/** Create an element: names with `on…` are listeners, the others attributes unless they are empty. */
export function el(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value) node.setAttribute(name, value === true ? "" : plain(value));
  }
  node.append(...children.filter(Boolean).map((child) => (child.nodeType ? child : plain(child))));
  return node;
}

/** Create a button with an icon; its label is its name and its tooltip, which a press hides until the pointer leaves. */
export function tool(label, drawn, onclick, attrs = {}) {
  const press = ({ type, currentTarget }) => currentTarget.classList.toggle("pressed", type === "pointerdown");
  const listeners = { onclick, onpointerdown: press, onpointerleave: press };
  return el("button", { type: "button", class: "tool", "aria-label": label, ...listeners, ...attrs }, drawn);
}
