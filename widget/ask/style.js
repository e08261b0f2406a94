// The style sheet of <roaming-ask> with a closed panel. Modules that are loaded on demand bring their own; they use these variables.

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
:host([hidden]), [hidden], :is(div, p, ul, span, h4):empty:not([role], .math *) { display: none !important }
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

@media (max-width: 599px) {
  .tool { width: 44px; height: 44px }
  button:where(:not(.tool)), .button { min-height: 44px }
  .opener { inset-block-end: var(--roaming-offset-block, 16px); inset-inline-end: var(--roaming-offset-inline, 16px);
    width: 48px; height: 48px; padding: 0; gap: 0; justify-content: center; border-radius: 24px; font-size: 0 }
  .opener .icon { width: 22px; height: 22px }
  .opener.away:not(:focus-visible) { translate: 0 80px; visibility: hidden; transition: .2s var(--_ease) }
}
:host([inline]) { display: block; height: 100% }
@media (hover: none) { .tool:hover:not(:focus-visible)::after { display: none } }
@media (prefers-reduced-motion) { *, ::before, ::after { animation: none !important; transition: none !important } }
@keyframes fade { from { opacity: 0 } }
@media (forced-colors: active) {
  .tool, .opener, .parked { border: 1px solid }
  :focus-visible { outline: 2px solid Highlight }
}
@media print { :host { display: none } }
`;
