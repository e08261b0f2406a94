// Parts that several modules of the widget share: style sheets and copying.

import { el, icon, tool } from "./roaming-ask.js";

const ENGLISH = {
  copied: "Copied",
};
const COPY =
  "M11.5 9h6a2.5 2.5 0 0 1 2.5 2.5v6a2.5 2.5 0 0 1-2.5 2.5h-6A2.5 2.5 0 0 1 9 17.5v-6A2.5 2.5 0 0 1 11.5 9Z" +
  "M15 5.5A1.5 1.5 0 0 0 13.5 4h-7A2.5 2.5 0 0 0 4 6.5v7A1.5 1.5 0 0 0 5.5 15";
export const TICK = "m5 12.5 4.5 4.5L19 7.5";
const COPIED = 1600; // ms

const sheets = new Map(); // by their text

/** Add a style sheet to a shadow root, once. */
export function adopt(root, style) {
  if (!root) return;
  if (!sheets.has(style)) {
    sheets.set(style, new CSSStyleSheet());
    sheets.get(style).replaceSync(style);
  }
  if (!root.adoptedStyleSheets.includes(sheets.get(style))) root.adoptedStyleSheets.push(sheets.get(style));
}

/** Create an icon button that copies; nothing without a secure context, where there is no clipboard. */
export function copyTool(label, what, { words, say, drawn = icon(COPY) }) {
  if (!navigator.clipboard) return "";
  const button = tool(label, drawn, async () => {
    if (!(await copy(what()))) return;
    const { copied } = { ...ENGLISH, ...words };
    const show = (name, shown) => {
      button.ariaLabel = name;
      button.replaceChildren(shown);
    };
    show(copied, icon(TICK));
    say?.(copied);
    clearTimeout(button.reverts);
    button.reverts = setTimeout(show, COPIED, label, drawn);
  });
  return button;
}

/** Create a copy button with words; nothing without a secure context. */
export function copier(label, what, host) {
  if (!navigator.clipboard) return "";
  const { copied } = { ...ENGLISH, ...host.settings.words };
  const onclick = async () => {
    if (!(await copy(what()))) return;
    button.textContent = copied;
    host._say(copied);
    clearTimeout(button.reverts);
    button.reverts = setTimeout(() => (button.textContent = label), COPIED);
  };
  const button = el("button", { type: "button", class: "button", onclick }, label);
  return button;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // forbidden: do not show "Copied"
  }
}
