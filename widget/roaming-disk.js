// Says why there is no widget on a page that was opened from a disk (file://): browsers load modules only over HTTP.
// Builds for disks load this script. It is no module, and does nothing on a server.

(() => {
  const STYLE = `
    button { position: fixed; inset-block-end: 24px; inset-inline-end: 24px; z-index: 3; min-height: 44px; padding: 0 16px; border: 0;
      border-radius: 22px; font: inherit; color: Canvas; background: CanvasText; cursor: pointer }
    p { inset: auto 24px 80px auto; max-width: 20em; margin: 0; padding: 12px 16px; border: 1px solid; border-radius: 12px;
      color: CanvasText; background: Canvas }
    :host { all: initial; color-scheme: inherit; font: 15px/1.6 system-ui, sans-serif }
    @media print { :host { display: none } }
  `;
  const element = document.querySelector("roaming-ask");
  if (location.protocol !== "file:" || !element) return;
  const { label, note } = document.currentScript.dataset;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  const text = Object.assign(document.createElement("p"), { popover: "auto", textContent: note });
  text.role = "status";
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: label, popoverTargetElement: text });
  const root = element.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  root.append(button, text);
  addEventListener("click", ({ target }) => target.closest("[data-roaming-open]") && text.showPopover());
})();
