// The style sheet of <roaming-ask>. Modules that are loaded on demand bring their own; they use these variables.

export const STYLE = `
:host {
  --_bg: var(--roaming-bg, var(--md-default-bg-color, var(--pst-color-background, var(--bs-body-bg, Canvas))));
  --_fg: var(--roaming-fg, var(--md-default-fg-color, var(--pst-color-text-base, var(--bs-emphasis-color, CanvasText))));
  --_muted: var(--roaming-muted, color-mix(in srgb, var(--_fg) 76%, var(--_bg)));
  --_line: var(--roaming-border, color-mix(in srgb, var(--_fg) 13%, var(--_bg)));
  --_edge: color-mix(in srgb, var(--_fg) 50%, var(--_bg));
  --_soft: color-mix(in srgb, var(--_fg) 6%, var(--_bg));
  --_code: var(--roaming-code-bg, var(--md-code-bg-color, color-mix(in srgb, var(--_fg) 5%, var(--_bg))));
  --_source: var(--roaming-accent, var(--md-typeset-a-color, var(--bs-link-color, #3451b2)));
  --_accent: var(--_source);
  --_on-accent: #fff;
  --_tint: color-mix(in srgb, var(--_accent) 9%, var(--_bg));
  --_mark: color-mix(in srgb, var(--_accent) 18%, var(--_bg));
  --_raise: var(--_bg);
  --_warn: #8a5300;
  --_danger: var(--roaming-danger, #b3261e);
  --_mono: var(--roaming-mono, var(--md-code-font-family, ui-monospace, Consolas, monospace));
  --_shadow: 0 0 0 1px var(--_line), 0 2px 6px #00000014, 0 16px 40px #00000029;
  --_ease: cubic-bezier(.2, 0, 0, 1);
  --_radius: var(--roaming-radius, 8px);
  --_width: var(--roaming-width, 416px);
  --_tip: color-mix(in srgb, var(--_fg) 100%, var(--_bg));
  all: initial;
  color-scheme: inherit;
  direction: inherit;
  font-family: var(--roaming-font, var(--md-text-font-family, inherit));
  font-size: var(--roaming-font-size, 15px);
  line-height: 1.6;
  transition: overlay .12s allow-discrete;
}
@supports (color: oklch(from red l c h)) and (color: light-dark(#000, #fff)) {
  :host {
    --_accent: light-dark(oklch(from var(--_source) min(l, .5) c h), oklch(from var(--_source) max(l, .74) c h));
    --_on-accent: light-dark(#fff, #14161c);
    --_raise: light-dark(var(--_bg), color-mix(in srgb, #fff 6%, var(--_bg)));
    --_warn: light-dark(#8a5300, #f0b65a);
    --_danger: var(--roaming-danger, light-dark(#b3261e, #ff9d94));
  }
}
:host([hidden]), [hidden], :is(div, p, ul, span, h4):empty:not([role]), dialog:modal .resize { display: none !important }
* { box-sizing: border-box; margin: 0; padding: 0; font: inherit; color: inherit; overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--roaming-focus, var(--_accent)); outline-offset: 2px }
button { cursor: pointer }
:disabled { opacity: .5; cursor: default }
a { color: var(--_accent); text-underline-offset: .2em; text-decoration-thickness: 1px }
ul, ol { padding-inline-start: 1.4em }
h2, h3, h4, strong, th { font-weight: 700 }
.icon { width: 18px; height: 18px; fill: none; stroke: currentColor; stroke-width: 1.6; stroke-linecap: round;
  stroke-linejoin: round; flex: none }
.icon.mirrored:dir(rtl) { scale: -1 1 }
.sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.muted, summary { color: var(--_muted); font-size: .8667em; line-height: 1.54 }
.small { color: var(--_muted); font-size: .8em; line-height: 1.334 }
.label { margin-block: 24px 8px; font-size: .8em; line-height: 1.334; font-weight: 700; color: var(--_muted) }

/* English texts on a right-to-left page keep their full stops at the end */
:is(p, li, h3, h4, strong, span, summary, button, a, td, th):dir(rtl):not(pre *) { unicode-bidi: plaintext; text-align: right }

/* Buttons: outlined, or an icon whose name appears above it */
button:where(:not(.tool)), .button { display: inline-flex; align-items: center; gap: 8px; min-height: 36px; padding: 0 14px;
  border: 1px solid var(--_edge); border-radius: var(--_radius); background: var(--_bg); color: var(--_fg);
  font-size: .9333em; font-weight: 700; text-decoration: none }
button:hover, .button:hover { background: var(--_soft) }
.tool { position: relative; display: grid; place-items: center; flex: none; width: 32px; height: 32px; border: 0;
  border-radius: var(--_radius); background: none; color: var(--_muted) }
.tool:hover { background: var(--_soft); color: var(--_fg) }
.tool[aria-pressed=true] { background: var(--_soft); color: var(--_accent) }
.tool[aria-label]::after { content: attr(aria-label) / ""; display: none; position: absolute; z-index: 2;
  inset-block-end: calc(100% + 6px); padding: 4px 8px; border-radius: 6px; background: var(--_tip); color: var(--_bg);
  font-size: .8em; line-height: 1.334; white-space: nowrap; pointer-events: none; animation: .12s .4s backwards fade }
.tool:is(:hover, :focus-visible)::after { display: block }
.tool.pressed::after { display: none }
.tool:focus-visible::after { animation-delay: 0s }
.foot .tool::after { inset-inline-end: 0 }
.head .tool::after { inset-block: calc(100% + 6px) auto; inset-inline-end: 0 }

/* Rows in a frame: suggestions, sources, results */
.rows { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.rows > * + * { border-block-start: 1px solid var(--_line) }
.rows :focus-visible { outline-offset: -2px; border-radius: 11px }
.pick { display: flex; width: 100%; min-height: 48px; gap: 12px; align-items: center; padding-block: 12px; padding-inline: 16px 12px; border: 0;
  border-radius: 0; background: none; font-size: 1em; font-weight: 400; text-align: start }
.pick span { flex: 1 }
.pick .icon { color: var(--_muted); transition: translate .16s var(--_ease) }
.pick:hover .icon { color: var(--_accent); translate: 2px }
.pick:dir(rtl):hover .icon { translate: -2px }

/* The button that opens the panel, and the bar that leads back to an answer on a phone */
.opener, .parked, dialog { position: fixed; z-index: var(--roaming-z, 3) }
.opener, .parked { inset-block-end: var(--roaming-offset-block, 24px); inset-inline-end: var(--roaming-offset-inline, 24px);
  border: 1px solid var(--_line); background: var(--_raise); box-shadow: 0 1px 2px #0000000d, 0 6px 16px #00000014 }
.opener { min-height: 44px; padding: 0 16px 0 12px; border-radius: 22px; color: var(--_fg); font-weight: 400;
  transition: box-shadow .16s, translate .16s var(--_ease) }
.opener:hover { background: var(--_raise); translate: 0 -1px; box-shadow: 0 2px 4px #0000000f, 0 10px 24px #0000001f }
:is(.opener, .parked button:first-child, h2, .hello) .icon { color: var(--_accent) }
.parked { inset-inline: 16px; inset-block-end: 16px; display: flex; align-items: center; padding: 3px; border-radius: 14px;
  color: var(--_fg) }
.parked button:first-child { flex: 1; gap: 12px; min-height: 44px; border: 0; background: none; font-weight: 400 }

/* The panel: docked below the header; on narrower screens it floats, on a phone it covers the screen */
dialog { inset-block: var(--roaming-top, var(--_top, 0px)) 0; inset-inline: auto 0; width: var(--_width);
  height: var(--roaming-height, auto); max-width: 100%; max-height: none; border: 0 solid var(--_line);
  border-inline-start-width: 1px; flex-direction: column; color: var(--_fg); background: var(--_bg);
  transition: opacity .12s, display .12s allow-discrete, overlay .12s allow-discrete }
dialog[open] { display: flex }
dialog:not([open]) { opacity: 0; pointer-events: none }
dialog.opening { animation: .18s var(--_ease) opening }
.resize { position: absolute; z-index: 2; inset-block: 0; inset-inline-start: -5px; width: 9px; cursor: ew-resize;
  touch-action: none; outline: 0 }
.resize::after { content: ""; position: absolute; inset-block: 0; inset-inline-start: 4px; width: 2px; background: var(--_accent);
  opacity: 0; transition: opacity .12s .08s }
.resize:is(:hover, :focus-visible)::after { opacity: 1 }
.head { position: relative; z-index: 1; display: flex; gap: 4px; align-items: center; flex: none; height: 52px;
  padding-inline: 20px 12px }
.head::after { content: ""; position: absolute; inset-block: 100% auto; inset-inline: 0 12px; height: 12px; pointer-events: none;
  background: linear-gradient(var(--_bg), transparent) }
h2 { flex: 1; display: flex; gap: 8px; align-items: center; min-width: 0 }
h2 span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.log { flex: 1; min-height: 0; overflow: auto; container-type: size; padding: 8px 20px 24px; overscroll-behavior: contain;
  scrollbar-width: thin; scrollbar-color: var(--_line) transparent }
.log:focus-visible { outline-offset: -2px }
.flow { display: flex; flex-direction: column; min-height: 100cqh }
.flow > * { min-width: 0; animation: .2s var(--_ease) rising }
.restored > * { animation: none }
.latest { min-height: 100cqh; align-content: start }

/* Nothing asked yet: just above the input */
.intro { margin-block-start: auto }
.hello > span { display: grid; place-items: center; width: 44px; height: 44px; margin-block: 16px; border-radius: 12px;
  background: var(--_tint) }
.hello span .icon { width: 24px; height: 24px }
.hello h3 { margin-block-end: 8px; font-size: 1.3333em; line-height: 1.4; letter-spacing: -.01em }
.hello p { color: var(--_muted); padding-block-end: 8px }

/* The endpoint cannot be reached */
.notice { display: grid; grid-template-columns: 18px 1fr; gap: 0 12px; padding: 16px; border: 1px solid var(--_line);
  border-radius: 12px; margin-block-end: 16px }
.notice > .icon { margin-block-start: 3px; color: var(--_danger) }
.notice p { margin-block-end: 12px; color: var(--_muted); font-size: .9333em; line-height: 1.43 }

/* The input */
.foot { position: relative; flex: none; padding: 0 20px 12px }
.foot::before { content: ""; position: absolute; inset: -40px 0 auto; height: 40px; pointer-events: none;
  background: linear-gradient(transparent, var(--_bg)) }
.latest-button { position: absolute; inset-block-start: -44px; inset-inline-end: 20px; border-radius: 50%; background: var(--_raise);
  box-shadow: var(--_shadow); color: var(--_fg) }
.latest-button:hover { background: var(--_raise) }
.waiting { padding: 0 4px 8px }
.waiting .undo { min-height: 24px; padding: 0 4px; border: 0; background: none; color: var(--_accent); font-size: 1em; text-decoration: underline }
form { position: relative; padding: 4px; border: 1px solid var(--_edge); border-radius: 12px; background: var(--_bg) }
form:focus-within { border-color: var(--_accent); box-shadow: 0 0 0 1px var(--_accent) }
form:not(:has(textarea:focus)):focus-within { border-color: var(--_edge); box-shadow: none }
textarea { display: block; width: 100%; min-height: 40px; max-height: 144px; padding: 8px 12px 4px; border: 0; outline: 0;
  resize: none; field-sizing: content; background: none }
textarea:focus-visible { outline: 0 }
textarea::placeholder { color: var(--_muted); opacity: 1 }
:host(:dir(rtl)) textarea:placeholder-shown { text-align: right }
.bar { display: flex; align-items: center; gap: 8px; padding-inline-start: 8px }
.chip { display: inline-flex; align-items: center; gap: 6px; min-width: 0; height: 28px; padding-inline-start: 8px;
  border: 1px solid var(--_line); border-radius: var(--_radius); color: var(--_muted); font-size: .8667em }
.chip .icon { width: 16px; height: 16px }
.chip .tool { width: 26px; height: 26px; border-radius: 7px }
.chip .tool::before { content: ""; position: absolute; inset: -3px }
.send { width: 36px; height: 36px; margin-inline-start: auto; border-radius: 9px; background: var(--_accent);
  color: var(--_on-accent) }
.send:hover { background: color-mix(in srgb, var(--_accent) 88%, var(--_fg)); color: var(--_on-accent) }
.send:is(:disabled, .idle) { background: var(--_soft); color: var(--_muted); opacity: 1 }

/* The finder: its field is on top, since nothing is written back */
.finder .foot { order: 1; padding-block: 4px 8px }
.finder .foot::before, .finder .head::after, .finder h2 .icon, .finder :is(.bar, .latest-button) { display: none }
.finder form { display: flex; align-items: center; padding-block: 1px; padding-inline-start: 12px }
.finder .log { order: 2 }
form > .icon { display: none; color: var(--_muted) }
.finder form > .icon { display: block }
.finder .intro { margin-block-start: 0 }
.finder article:not(.linked), .typed.finder article { display: none }
.finder .latest { min-height: 0 }

.row { display: flex; flex-wrap: wrap; gap: .4em; font-size: .875em }
@media (min-width: 1100px) { :host { --_width: var(--roaming-width, clamp(352px, 27.5vw, 416px)) } }
dialog:not(.docked) { box-shadow: 0 0 40px #00000026 }
@media (max-width: 599px) {
  dialog { inset: 0; width: 100%; height: 100dvh; border: 0; padding-block-end: env(safe-area-inset-bottom) }
  .head { height: 56px; padding-inline: 16px 4px }
  .log, .foot { padding-inline: 16px }
  .tool, .send { width: 44px; height: 44px }
  .latest-button { inset-block-start: -52px }
  textarea { font-size: max(16px, 1em) }
  .chip { height: 36px }
  .chip .tool { width: 34px; height: 34px }
  .chip .tool::before { inset: -5px }
  button:where(:not(.tool)), .button { min-height: 44px }
  .opener { inset-block-end: var(--roaming-offset-block, 16px); inset-inline-end: var(--roaming-offset-inline, 16px);
    width: 48px; height: 48px; padding: 0; gap: 0; justify-content: center; border-radius: 24px; font-size: 0 }
  .opener .icon { width: 22px; height: 22px }
  .opener.away:not(:focus-visible) { translate: 0 80px; visibility: hidden; transition: .2s var(--_ease) }
}
@media (max-height: 420px) {
  .head { height: 44px }
  .chip { display: none }
  form { display: flex; align-items: end }
}
@media (hover: none) { .tool:hover:not(:focus-visible)::after { display: none } }
@media (prefers-reduced-motion) { *, ::before, ::after { animation: none !important; transition: none !important } }
@keyframes fade { from { opacity: 0 } }
@keyframes rising { from { opacity: 0; translate: 0 4px } }
@keyframes opening { from { opacity: 0; translate: 12px } }
@media (forced-colors: active) {
  .chip, .tool, .opener, .parked, .hello > span { border: 1px solid }
  .send { forced-color-adjust: none; background: ButtonFace; color: ButtonText; border: 1px solid ButtonText }
  :focus-visible, form:focus-within { outline: 2px solid Highlight }
}
@media print { :host { display: none } }
`;
