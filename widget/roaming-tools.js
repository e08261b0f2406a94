// Buttons that copy: with an icon, or with words.

import { el, icon, tool } from "./roaming-ask.js";

const COPY =
  "M11.5 9h6a2.5 2.5 0 0 1 2.5 2.5v6a2.5 2.5 0 0 1-2.5 2.5h-6A2.5 2.5 0 0 1 9 17.5v-6A2.5 2.5 0 0 1 11.5 9Z" +
  "M15 5.5A1.5 1.5 0 0 0 13.5 4h-7A2.5 2.5 0 0 0 4 6.5v7A1.5 1.5 0 0 0 5.5 15";
export const LINK = "M10 14a4 4 0 0 0 5.7 0l3-3A4 4 0 0 0 13 5.3l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3A4 4 0 0 0 11 18.7l1-1";
export const TICK = "m5 12.5 4.5 4.5L19 7.5";
const COPIED = 1600; // ms

export function copyTool(label, what, { words, say, drawn = icon(COPY) }) {
  const button = tool(label, drawn);
  return copying(button, what, say, words.copied, (copied) => {
    button.ariaLabel = copied ?? label;
    button.replaceChildren(copied ? icon(TICK) : drawn);
  });
}

export function copier(label, what, host) {
  const button = el("button", { class: "button" }, label);
  const say = (text) => host._say(text);
  return copying(button, what, say, host.settings.words.copied, (copied) => (button.textContent = copied ?? label));
}

/** Let a button copy; return nothing without a secure context, where there is no clipboard. */
function copying(button, what, say, copied, show) {
  if (!navigator.clipboard) return "";
  let reverts;
  button.addEventListener("click", async () => {
    if (!(await copy(await what()))) return;
    show(copied);
    say?.(copied);
    clearTimeout(reverts);
    reverts = setTimeout(show, COPIED);
  });
  return button;
}

/** Copy a text; return whether that is allowed. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // forbidden: do not show "Copied"
  }
}
