var A=(h,t)=>`${h}`.split("|").at(t.n===1?0:-1).replace(/\{(\w+)\}/g,(i,s)=>t[s]??i),tt={ask:["M12 3.5c5 0 9 3.4 9 7.9s-4 7.9-9 7.9c-1 0-2-.1-2.9-.4L4 20.5l1.3-3.8C3.9 15.3 3 13.5 3 11.4c0-4.5 4-7.9 9-7.9Z","M12 6.5c.4 3.1 1.6 4.4 4.8 4.9-3.2.5-4.4 1.8-4.8 4.9-.4-3.1-1.6-4.4-4.8-4.9 3.2-.5 4.4-1.8 4.8-4.9Z"],chev:["m9 6 6 6-6 6"],down:["M12 5v14m6-6-6 6-6-6"],find:["M4.5 11a6.5 6.5 0 1 0 13 0 6.5 6.5 0 0 0-13 0M20 20l-4.3-4.3"],go:["M5 12h14m-5-5 5 5-5 5"],info:["M3.5 12a8.5 8.5 0 1 0 17 0 8.5 8.5 0 0 0-17 0M12 8v5m0 3v.01"],new:["M11 5H6a2 2 0 0 0-2 2v11a2 2 0 0 0 2 2h11a2 2 0 0 0 2-2v-5M9 15l.7-3.2L17.5 4A1.8 1.8 0 0 1 20 6.5l-7.8 7.8Z"],next:["M6 5v6a3 3 0 0 0 3 3h9m-4-4 4 4-4 4"],off:["M4 4l16 16M8.5 6.6a6 6 0 0 1 9 4.4 4 4 0 0 1 2.6 6.5M16 19H8a5 5 0 0 1-1.6-9.7"],page:["M14 3.5H7.5A1.5 1.5 0 0 0 6 5v14a1.5 1.5 0 0 0 1.5 1.5h9A1.5 1.5 0 0 0 18 19V7.5Zm0 0v4h4M9.5 12.5h5m-5 3.5h5"],redo:["M19 12a7 7 0 1 1-2.2-5.1L19 9m0-5v5h-5"],ret:["M19 6v5a3 3 0 0 1-3 3H6m4-4-4 4 4 4"],stop:["","M9 7h6a2 2 0 0 1 2 2v6a2 2 0 0 1-2 2H9a2 2 0 0 1-2-2V9a2 2 0 0 1 2-2Z"],up:["M12 19V5m-6 6 6-6 6 6"],x:["m6 6 12 12M18 6 6 18"]},et=["chev","go","next","ret"],L=(h,t,...e)=>{let i=document.createElementNS("http://www.w3.org/2000/svg",h);for(let s in t)i.setAttribute(s,t[s]);return i.append(...e),i};function F(h,t){let e=t?[L("path",{d:t,fill:"currentColor",stroke:"none"})]:[];return L("svg",{class:"icon",viewBox:"0 0 24 24","aria-hidden":!0},L("path",{d:h}),...e)}function d(h){let t=F(...tt[h]);return t.classList.toggle("mirrored",et.includes(h)),t}var B=new Map;function k(h,t){let e=B.get(t)??new CSSStyleSheet;B.has(t)||e.replaceSync(t),B.set(t,e),h&&!h.adoptedStyleSheets.includes(e)&&h.adoptedStyleSheets.push(e)}var _=/^(Mac|iP)/.test(navigator.platform)?"metaKey":"ctrlKey";function U(h,t){let{key:e,code:i,altKey:s,shiftKey:n,target:o}=h;return!h[_]||s||n||o.isContentEditable?!1:e.toLowerCase()===t||e>"~"&&i.slice(3).toLowerCase()===t}var it=_==="metaKey"?"⌘ ↵":"Ctrl ↵",y=h=>String(h).replace(/[\u202a-\u202e\u2066-\u2069\0-\b]/g,"");function a(h,t={},...e){let i=document.createElement(h);for(let[s,n]of Object.entries(t))s.startsWith("on")?i.addEventListener(s.slice(2),n):n&&i.setAttribute(s,n===!0?"":y(n));return i.append(...e.filter(Boolean).map(s=>s.nodeType?s:y(s))),i}function g(h,t,e,i={}){let s=({type:o,currentTarget:r})=>r.classList.toggle("pressed",o==="pointerdown");return a("button",{type:"button",class:"tool","aria-label":h,...{onclick:e,onpointerdown:s,onpointerleave:s},...i},t)}var m=":root[data-roaming-docked]",j=":root[data-roaming-docked=narrow]",st=`
@media screen and (min-width: 1100px) {
  ${m} body { padding-inline-end: var(--roaming-inset) }
  ${m} :is(body > :is(.md-header, .navbar, [data-md-component=announce], .bd-header, .bd-header-announcement),
    #__docusaurus > :is(.navbar, .theme-announcement-bar)) { width: auto; margin-inline-end: calc(-1 * var(--roaming-inset)) }
  ${m} .wy-grid-for-nav { width: calc(100% - var(--roaming-inset)) }
  ${m} .wy-nav-content { padding-inline: 1.618em }
  ${m} .md-sidebar { width: 190px }
  ${m} .VPDoc .content { padding-inline: 0 }
  ${m} .nav-wide-wrapper { display: none }
  ${m} .nav-wrapper { display: block }
  ${m} :is(div.document, .page > .main, .main > .content, .VPDoc .content) { box-sizing: border-box; min-width: 0; max-width: 100% }
  ${j} :is(.md-sidebar--secondary, .VPDoc .aside, .toc-drawer, .bd-sidebar-secondary, .right-sidebar-container,
    .col:has(> .theme-doc-toc-desktop)) { display: none }
  ${j} .right-sidebar-container ~ .main-pane { width: 100% }
  ${j} .col[class*=docItemCol] { max-width: 100% !important }
}
`,nt="[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)",ot=560,rt=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)",at=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)",b=".md-header [data-roaming-open][aria-expanded]",lt=`
${b} { z-index: 0; display: flex; flex: none; align-items: center; gap: 8px; height: 36px;
  margin-inline-start: 8px; padding-inline: 12px 8px; border-radius: 4px; font: 700 14px/20px var(--md-text-font-family);
  box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 36%, transparent); transition: background .12s }
${b}:is(:hover, [aria-expanded=true]) { opacity: 1; background: color-mix(in srgb, currentColor 12%, transparent) }
${b} kbd { display: inline-block; min-width: 38px; padding: 0 5px; border-radius: 4px; text-align: center;
  font: 12px/16px var(--md-text-font-family); box-shadow: inset 0 0 0 1px color-mix(in srgb, currentColor 36%, transparent); white-space: nowrap }
${b}[hidden] { display: none }
@media (max-width: 59.98em) {
  ${b} { width: 44px; height: 44px; justify-content: center; margin: 0; padding: 0; box-shadow: none }
  ${b} svg { width: 22px; height: 22px }
  ${b} :is(b, kbd) { display: none }
}
@media (forced-colors: active) { ${b} { border: 1px solid } }
`,q=()=>document.querySelectorAll(b);k(document,lt);function R(){let h=[...document.querySelectorAll(nt)].map(t=>{let{top:e,bottom:i,left:s,right:n,width:o}=t.getBoundingClientRect(),{position:r,direction:l}=getComputedStyle(t),c=l==="rtl"?s<32:n>innerWidth-32;return/sticky|fixed/.test(r)&&e<200&&o>innerWidth/2&&c?i:0});return Math.max(0,...h)}function w(h,t=""){let e=document.documentElement,i=`${h}px`;if((e.style.getPropertyValue("--roaming-inset")||"0px")===i&&(e.dataset.roamingDocked??"")===t)return;k(document,st);let n=R(),o=c=>c.getBoundingClientRect().top,r=scrollY&&[...document.querySelectorAll(at)].find(c=>o(c)>=n),l=r&&o(r);h?e.dataset.roamingDocked=t:delete e.dataset.roamingDocked,e.style.setProperty("--roaming-inset",i),r&&scrollBy({top:o(r)-l,behavior:"instant"})}function V(h){let t=[...document.querySelectorAll(rt)].filter(l=>l.checkVisibility());if(!t.some(l=>l.matches("p, li")&&l.clientWidth>=ot))return!1;let e=R(),{left:i,right:s}=h.getBoundingClientRect(),n=document.createRange(),o=l=>{let c=getComputedStyle(l).overflowX!=="visible";return n.selectNodeContents(l),[...(c?l:n).getClientRects()].find(({width:p})=>p>8)},r=t.map(l=>[l,o(l)]).filter(([,l])=>l?.top>=e&&l.bottom<innerHeight);return r.some(([,{left:l,right:c}])=>l<s&&c>i)?!1:r.slice(0,r.length/2).every(([l,{left:c,right:p,top:f,height:E}])=>[c+1,p-1].every(C=>{let u=document.elementFromPoint(C,f+E/2);return l.contains(u)||u?.closest("dialog, [role=dialog]")}))}function z(h){h.popover="manual",h.togglePopover?.(!0)}var S=matchMedia("(min-width: 1100px)"),x=matchMedia("(max-width: 599.98px)"),O=`roaming:${new URL("../",import.meta.url)}:panel`,M=class{#t;#i;constructor(t,e){this.#t=W(t),this.isShared=t==="local",this.#i=`roaming:${e}`,this.state=T(this.#t,O)??{}}remember(t){this.#n(O,Object.assign(this.state,t))}get turns(){return T(this.#t,this.#i)}get cleared(){return T(this.#t,`${this.#i}:cleared`)??-1}set cleared(t){this.#n(`${this.#i}:cleared`,t)}keepTurns(t){return this.#n(this.#i,t)}#n(t,e){try{return this.#t?.setItem(t,JSON.stringify(e)),!0}catch{}}};function W(h){try{return{session:()=>sessionStorage,local:()=>localStorage}[h]?.()}catch{}}function T(h,t){try{return JSON.parse(h.getItem(t))}catch{}}var H=T(W("session"),O)??T(W("local"),O);H?.open&&S.matches&&w(H.inset??0,H.level);var Y=`
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
`;var J={title:"Ask {site}",docs:"these docs",button:"Ask the docs",findTitle:"Find in {site}",findButton:"Find in the docs",close:"Close",clear:"Clear",reset:"Start over",cleared:"Conversation cleared.",undo:"Undo",hello:"What would you like to do?",intro:"Answers come from these docs. Every statement links to its section.",findIntro:"Type a few words: the sections that fit open right here.",suggested:"Suggested questions",askRow:"Ask: {query}",findRow:"Find in all sections: {query}",onThisPage:"On this page",outline:"Reading the outline",slow:"Still reading…",tokens:"~{n} tokens",copied:"Copied",placeholder:"Ask a question",followUp:"Ask a follow-up",findPlaceholder:"Find a section",send:"Send",stop:"Stop",next:"Next: {question}",width:"Width of the panel",log:"Conversation",latest:"Jump to latest",here:"About this page",everywhere:"Ask about all pages",back:"Back to the answer",backToFind:"Back to the results",legal:"Written by a model from these docs. Check the sources.",down:"No answer: the service can’t be reached",kept:"Your question is kept below. The panel comes back with the connection.",retry:"Try again",online:"You can ask again.",lost:"The connection was lost. Please ask again."},ht=["de","es","fr","ja","zh"],N=class{words=J;#t;#i;#n;#e;#s=new Set;constructor(t){this.#t=t}get mode(){return this.#t.getAttribute("mode")||"auto"}get endpoint(){let t=this.#t.getAttribute("endpoint");return t&&new URL(t.replace(/\/?$/,"/"),document.baseURI)}get onlyFinds(){return this.mode==="finder"||this.mode==="auto"&&!this.endpoint}get replacesSearch(){return this.#t.getAttribute("replace-search")==="on"}get language(){return(this.#t.closest("[lang]")?.lang||"en").toLowerCase().split("-")[0]}get page(){let t=document.querySelector("template[data-roaming-page]");this.#i!==t&&([this.#i,this.#n,this.#e]=[t,document.baseURI,location.pathname]);let e={...t?.dataset??{path:location.pathname}},i=this.#t.getAttribute("manifest")||e.manifest||new URL("manifest.json",import.meta.url),s=new URL(i,this.#n),n=new URL("../",s);return this.#e!==location.pathname&&(delete e.suggestions,e.path=decodeURI(location.pathname.slice(n.pathname.length))),{...e,manifest:s,base:n}}async loadWords(){let t=async s=>(await this.#t.fetch(s)).json(),e=this.#t.getAttribute("strings"),{language:i}=this;try{ht.includes(i)&&(this.words={...J,...await t(new URL(`ask.${i}.json`,import.meta.url))}),e&&(this.words={...this.words,...e[0]==="{"?JSON.parse(e):await t(e)})}catch{}}allow(t){this.#s.add(t)}link=t=>{let{base:e,site:i}=this.page;if(!URL.canParse(t,e))return;let s=new URL(t,e);i&&s.href.startsWith(i)&&(s=new URL(s.href.slice(i.length),e));let n=[location.origin,...(this.#t.getAttribute("allow-links")??"").split(" ").filter(Boolean)];if((this.#s.has(t)||n.some(r=>`${s.href}/`.startsWith(r.replace(/\/?$/,"/"))))&&/^https?:$/.test(s.protocol)&&!s.username)return s.href};anchor({url:t},e){let i=t&&this.link(t);return a(i?"a":"span",{href:i},e)}};var G=320,Z=640,ct=4,dt=48,pt=":is(h1, h2, p, li):not(table *, header *)",$=class{#t;#i;#n;#e={};#s=!1;constructor(t,e,i){this.#t=t,this.#i=e,this.#n=i;let{words:s}=t.settings,n=g(s.close,d("x"),()=>t.close(),{part:"close"}),o=this.#e;o.title=a("span"),o.reset=g(s.reset,d("new"),()=>t.reset(),{part:"reset"}),o.leave=g(s.button,d("ask"),i.leave),o.polite=a("div",{class:"sr",role:"status"}),o.alert=a("div",{class:"sr",role:"alert"}),this.element=a("dialog",{part:"panel",onkeydown:i.escape,oncancel:i.escape},this.#l(s),a("div",{class:"head",part:"header"},a("h2",{part:"title"},d("ask"),o.title),o.leave,o.reset,n),this.#o(s),this.#c(s),o.polite,o.alert),t.shadowRoot.append(this.element);let r=()=>(this.dock(),t._draw());new ResizeObserver(r).observe(document.body)}#o(t){let e=this.#e;e.intro=a("div",{part:"suggestions",class:"intro"}),e.notice=a("div"),this.hits=a("div"),e.flow=a("div",{class:"flow"},e.intro,e.notice,this.hits);let i=()=>this.#s=!1,s={class:"log",part:"log",tabindex:"0",role:"region","aria-label":t.log,"aria-busy":"true"};return e.log=a("div",{...s,onscroll:this.#u,onwheel:i,ontouchmove:i},e.flow),new ResizeObserver(this.#u).observe(e.flow),e.log}#c(t){let e=this.#e,{submit:i,typed:s,changed:n,everywhere:o}=this.#n;this.input=a("textarea",{part:"input",rows:1,maxlength:4e3,enterkeyhint:"send",dir:"auto",onkeydown:s,oninput:n}),e.jump=g(t.latest,d("down"),this.#g,{class:"tool latest-button",hidden:!0}),e.waiting=a("p",{class:"small waiting"}),e.undone=a("p",{class:"small waiting"});let r=g(t.everywhere,d("x"),o);e.chip=a("span",{class:"chip",part:"chip"},d("page"),t.here,r),e.send=a("button",{part:"send",class:"tool send"}),e.clear=g(t.clear,d("x"),()=>this.#t.prefill(""),{class:"tool clear",hidden:!0});let l=a("div",{class:"bar"},e.chip,e.send),c=a("form",{part:"form",onsubmit:i},d("find"),this.input,e.clear,l);return a("div",{class:"foot"},e.jump,e.waiting,e.undone,c)}#l(t){let e=()=>this.#t.matches(":dir(rtl)"),i=o=>{let r=Math.round(Math.min(Z,Math.max(G,o)));this.#i.remember({width:r}),this.#r(r),this.dock()},{width:s}=this.#i.state;s&&this.#r(s);let n=this.#e.edge=a("div",{class:"resize",role:"separator",tabindex:"0","aria-orientation":"vertical","aria-label":t.width,"aria-valuemin":G,"aria-valuemax":Z,onpointerdown:({pointerId:o})=>n.setPointerCapture(o),onpointermove:({pointerId:o,clientX:r})=>{n.hasPointerCapture(o)&&i(e()?r:document.documentElement.clientWidth-r)},onkeydown:({key:o})=>{let r={ArrowLeft:32,ArrowRight:-32}[o];r&&i(this.element.offsetWidth+(e()?-r:r))}});return n}#r(t){this.#t.style.setProperty("--roaming-width",`${t}px`)}get isOpen(){return this.element.open}show(t){this.element.classList.toggle("opening",t),this.stayBelowHeader(),x.matches?this.element.showModal():this.element.open=!0,this.dock(),t&&this.input.focus()}close(){this.element.close(),this.#t.popover=null,this.dock()}dock=()=>{let{element:t,isOpen:e}=this,{state:i}=this.#i,s=S.matches&&e?t.offsetWidth:0,n=innerWidth-s,o=n===i.room&&i.level?[i.level]:["","narrow"],r=p=>(w(s,p),this.#a(),V(t)&&!this.#p().flat().some(f=>f.matches(pt))),l=s?o.find(r):void 0,c=l!==void 0;c||w(0),e&&(this.#e.edge.ariaValueNow=t.offsetWidth,this.#a(),t.classList.toggle("docked",c),this.#i.remember({inset:c?s:0,level:l,room:n}),this.#d())};stayBelowHeader(){this.#a()&&this.#d()}#a(){let{style:t}=this.#t,e=t.getPropertyValue("--_top");return t.setProperty("--_top",`${R()}px`),t.getPropertyValue("--_top")!==e}#d(){(!R()||this.#p().some(t=>t.indexOf(this.#t)>0))&&z(this.#t)}#p(){let{left:t,right:e,top:i,bottom:s}=this.element.getBoundingClientRect(),n=[];for(let o=t+12;o<e;o+=(e-t-40)/3)for(let r=i+26;r<s;r+=60)n.push(document.elementsFromPoint(o,r));return n}covers(t){let{left:e,right:i,top:s,bottom:n}=t.getBoundingClientRect(),o=this.element.getBoundingClientRect();return e>=o.left&&i<=o.right&&s>=o.top&&n<=o.bottom}add(t){let{flow:e,notice:i}=this.#e;for(let s of e.querySelectorAll(".latest"))s.classList.remove("latest");t.classList.add("latest"),i.before(t)}showTurn(t){let{log:e}=this.#e;this.#s=!1,e.scrollTop=t.offsetTop-e.firstChild.offsetTop}beginRestoring(){this.#e.flow.classList.add("restored")}endRestoring(){this.#e.log.ariaBusy="false"}get place(){return this.#e.log.scrollTop}set place(t){this.#e.log.scrollTop=t??this.#e.log.scrollHeight}#u=()=>{let{log:t,jump:e}=this.#e,{scrollHeight:i,scrollTop:s,clientHeight:n}=t;this.#s&&(t.scrollTop=i),e.hidden=this.#s||i-s-n<dt};#g=()=>{let{log:t}=this.#e;this.#s=this.#n.isRunning(),t.scrollTop=t.scrollHeight,this.#u(),t.focus()};say(t,e){(e?this.#e.alert:this.#e.polite).textContent=t}showNext(t){let{waiting:e}=this.#e;e.textContent=t?A(this.#t.settings.words.next,{question:y(t)}):"",this.say(e.textContent)}offerUndo(t){let{cleared:e,undo:i}=this.#t.settings.words,n=t&&a("button",{type:"button",class:"undo",onclick:()=>{this.offerUndo(),t(),this.input.focus()}},i);this.#e.undone.replaceChildren(...t?[`${e} `,n]:[]),this.say(t?`${e} ${i}`:"")}get waits(){return this.#e.send.disabled}set waits(t){this.#e.send.disabled=t}draw({onlyFinds:t,finds:e,runs:i,isDown:s,isHere:n,turns:o}){let{words:r,page:l}=this.#t.settings,{title:c,reset:p,leave:f,chip:E,clear:C,intro:u}=this.#e,X=A(e?r.findTitle:r.title,{site:y(l.title||r.docs)});this.element.classList.toggle("finder",e),c.textContent=this.element.ariaLabel=X,p.hidden=e&&!t||!(o||s),this.element.classList.toggle("typed",!!this.input.value.trim()),f.hidden=t||!e,this.input.placeholder=this.input.ariaLabel=e?r.findPlaceholder:o?r.followUp:r.placeholder,E.hidden=!n,C.hidden=!e||!this.input.value,this.#f(i,r),this.#h(e,t,r),u.hidden=e?this.input.value.trim():o||s,this.#m(s&&!e,r)}#f(t,e){let{send:i}=this.#e,s=t?e.stop:e.send;i.classList.toggle("idle",!t&&!this.input.value.trim()),i.ariaLabel!==s&&(i.ariaLabel=s,i.replaceChildren(d(t?"stop":"up")))}#h(t,e,i){let{intro:s}=this.#e,n=JSON.parse(this.#t.settings.page.suggestions??"[]").slice(0,ct),o=JSON.stringify([t,e,n]);if(s.dataset.key===o)return;s.dataset.key=o;let r=c=>a("li",{},a("button",{class:"pick",onclick:()=>e?this.#t.prefill(c):this.#t.ask(c)},a("span",{},c),d("go"))),l=[a("span",{},d("ask")),a("h3",{},i.hello)];s.replaceChildren(a("div",{class:"hello"},...t?[]:l,a("p",{},t?i.findIntro:i.intro)),...n.length?[a(t?"h3":"h4",{class:"label"},i.suggested)]:[],a("ul",{class:"rows"},...n.map(r)))}#m(t,e){let{notice:i}=this.#e;if(!t==!i.firstChild)return;let s=[a("strong",{},e.down),a("p",{},e.kept)],o=a("button",{onclick:()=>this.#t.ask(this.input.value)},d("redo"),e.retry);i.replaceChildren(...t?[a("div",{class:"notice",part:"error"},d("off"),a("div",{},...s,o))]:[])}};var D=async()=>(await import(new URL("roaming-turn.js",import.meta.url))).Turn,P=(...h)=>h.filter(Boolean).join(`
`),I=class{turns=[];#t;#i;#n;#e;#s;#o;#c;#l;#r;constructor(t,e,i){this.#t=t,this.#i=e,this.#n=i,this.#s=this.#w().finally(()=>e.endRestoring())}get isRunning(){return!!this.#o}get isDown(){return!!this.#r}get last(){return this.#l||this.turns.at(-1)?.question}async ask(t){let{input:e}=this.#i;if(this.endOutage(),e.value.trim()===t&&(e.value=""),this.#o?.signal.aborted&&await this.#c,this.#o)return this.queue(P(this.#l,t));await(this.#c=this.#u(t))}queue(t){this.#l=t,this.#i.showNext(t)}stop(){this.#o?.abort()}reset(){this.stop(),this.queue();let{turns:t}=this,{cleared:e}=this.#n,i=t.at(-1),s=this.#i.input.value||i?.empty!==!1&&i?.question;this.endOutage(),this.#a([],Date.now());let n=()=>{this.#i.input.value||=s||"",this.#a(t,e)};this.#i.offerUndo(i&&n)}#a(t,e){for(let{article:i}of this.turns)i.remove();this.turns=[];for(let i of t)this.#h(i);this.#n.cleared=e,this.keep(),this.#t._draw()}keep(){let t=this.#d();this.#n.keepTurns(t)||this.#n.keepTurns(t.slice(-6))}#d(){let{turns:t,isShared:e,cleared:i}=this.#n;for(let r of this.turns)r.at??=Date.now()+Math.random();let s=this.turns.map(({question:r,parts:l,code:c,at:p})=>({question:r,parts:l,code:c,at:p}));if(!e)return s;let n=(t??[]).filter(({at:r})=>!s.some(l=>l.at===r)),o=({at:r=0,parts:l,code:c})=>r>i&&!(c&&!l.length);return[...n,...s].filter(o).sort((r,l)=>r.at-l.at)}async sync(){await this.#s;let t=this.#e??=await D();if(this.#o)return;let e=this.#d();`${e.map(({at:i})=>i)}`!=`${this.turns.map(({at:i})=>i)}`&&this.#a(e.map(i=>this.turns.find(({at:s})=>s===i.at)??this.#b(t,i)),this.#n.cleared)}async show(t,e){await this.#s,await this.#c;let i=this.#b(this.#e??=await D(),{question:t,parts:e});this.#h(i),this.keep(),this.#t._draw(),this.#i.showTurn(i.article)}async probe(){if(!this.#r)return;clearTimeout(this.#r);let t=new URL("healthz",this.#t.settings.endpoint),e=await this.#t.fetch(t,{cache:"no-store"}).catch(()=>{});if(this.#r){if(!e||e.status>=500)return this.#p();this.endOutage(),this.#i.say(this.#t.settings.words.online)}}endOutage(){this.#r&&(this.#r=clearTimeout(this.#r),this.#t._draw())}#p(){this.#r=setTimeout(()=>this.probe(),6e4)}async#u(t){let{signal:e}=this.#o=new AbortController,i,s;try{await this.#s;let l=this.#e??=await D(),c=this.#t._describe(t,this.turns.map(p=>p.signed).filter(Boolean).slice(-6));i=new l(this.#t,t),this.#i.offerUndo(),this.#h(i),this.#m(),this.#t._draw(),this.#i.showTurn(i.article),this.#t._emit("ask",{question:t}),s=await i.run(c,e)}catch{s={code:"lost"}}if(this.stop(),this.#o=void 0,i&&!this.turns.includes(i))return i.finish(s,!1);let n=this.#l;n&&this.queue();let o=s?.code==="down"&&this.#t.settings.mode==="auto";if(!i||o)return this.#g(i,P(t,n));let r=this.#f(i,s);r&&(this.#i.input.value||=P(t,n),this.#t.shadowRoot.activeElement&&this.#i.input.focus()),this.keep(),this.#t._draw(),this.#n.isShared&&this.sync(),n&&!r&&this.#t.ask(n)}#g(t,e){let{words:i}=this.#t.settings;return t&&(this.turns.pop().article.remove(),this.#p()),this.#i.say(t?i.down:i.lost,!0),this.#t.prefill(P(e,this.#i.input.value))}#f(t,e){try{return t.finish(e)}catch{return t.status=void 0,t.finish({code:"lost"})}}#h(t){this.#i.add(t.article),this.turns.push(t)}#m(){for(let{empty:t,article:e}of this.turns)t&&e.remove();this.turns=this.turns.filter(({empty:t})=>!t)}#b(t,{question:e,parts:i,code:s,at:n}){let o=new t(this.#t,e);o.at=n;for(let r of i)o.part(r);return o.finish(s&&{code:s},!1),o}async#w(){let t=this.#n.turns;if(t?.length)try{this.#i.beginRestoring();let e=this.#e=await D();for(let i of t)this.#h(this.#b(e,i));this.#t._draw(),this.#i.place=this.#n.state.place}catch{}}};var ut=4e3,gt="input, textarea, select, [contenteditable]",v=h=>import(new URL(h,import.meta.url)),K=class extends HTMLElement{static observedAttributes=["open","mode","endpoint"];settings=new N(this);_ready;_isClosing=!1;#t;#i;#n;#e;#s;#o;#c;#l;#r;#a;#d;#p=0;open(t=!0){if(this.#i||this._ready?.then(()=>this.open()),!(!this.#i||this.settings.mode==="off"||this.#e?.isOpen)){for(this.#f(),this.#o=document.activeElement;this.#o?.shadowRoot?.activeElement;)this.#o=this.#o.shadowRoot.activeElement;this.#e.show(t),this.toggleAttribute("open",!0),this.#t.remember({open:!0,parked:!1}),this._draw(),this._emit("open")}}close(){if(!this.#e?.isOpen)return;let t=this.shadowRoot.activeElement;this._isClosing=!0,this.#e.close(),this.removeAttribute("open"),this.#t.remember({open:!1,...x.matches||{finding:!1}}),this._draw(),this.#h();let e=this.#o?.isConnected&&this.#o!==document.body?this.#o:this.#i;t&&e.focus({preventScroll:!0}),this._isClosing=!1,this._emit("close")}async prefill(t){await this._ready,this.open(),this.#e&&(this.#e.input.value=t??this.#e.input.value,this.#e.input.focus(),this._draw())}async search(t){await this._ready,this.#t.remember({finding:!0}),await this.prefill(t),t===void 0&&this.#e?.input.select()}async ask(t){if(await this._ready,t=String(t).trim().slice(0,ut),this.#t.remember({finding:!1}),this.open(),this._draw(),!(!t||!this.#e||this.#e.waits)){if(this.settings.onlyFinds)return this.prefill(t);await this.#s.ask(t)}}stop(){this.#s?.stop()}reset(){this.#s?this.#s.reset():this.#t?.keepTurns([]),this.#t?.remember({everywhere:void 0,finding:!1}),this.#e&&this.prefill("")}request(t,e){return this._post("v1/ask",t,e)}fetch(...t){return globalThis.fetch(...t)}_emit(t,e={}){return this.dispatchEvent(new CustomEvent(`roaming:${t}`,{detail:e,bubbles:!0,composed:!0,cancelable:!0}))}_post(t,e,i){let s={"content-type":"application/json",accept:"text/event-stream"},n=new URL(t,this.settings.endpoint);return this.fetch(n,{method:"POST",redirect:"error",headers:s,body:JSON.stringify(e),signal:i})}_say(t,e){this.#e?.say(t,e)}_wait(t){this.#e.waits=t}_toggle(t){if(this.#e?.isOpen&&(this.#x===t||this.settings.onlyFinds))return this.close();if(t)return this.search();this.#t.remember({finding:t}),this.prefill()}async _show(t,e){await this._ready,this.#t.remember({finding:!1}),this.open(!1),await this.#s?.show(t,e)}_describe(t,e){let{page:i,language:s}=this.settings,n=JSON.parse(this.getAttribute("scope"));return{question:t,page:this.#E?i.path:void 0,lang:s,turns:e,scope:n}}_draw(){let{words:t,onlyFinds:e,mode:i,replacesSearch:s}=this.settings,n=!!this.#e?.isOpen,o=this.#t.state.parked&&x.matches,r=this.#x;this.#i.replaceChildren(d(e?"find":"ask"),a("span",{},e?t.findButton:t.button)),this.#n.firstChild.replaceChildren(d(r?"find":"ask"),r?t.backToFind:t.back);let l=[...q()];for(let u of l)u.hidden=e;let c=e&&s?[...document.querySelectorAll("[for=__search]")]:l,p=(x.matches||!e)&&c.some(u=>u.checkVisibility());this.#i.hidden=n||o||p||i==="off";for(let u of[this.#i,...l])u.ariaExpanded=n&&r===e;if(this.#n.hidden=!o||n,!this.#s)return;let{isDown:f,isRunning:E,turns:C}=this.#s;this.#e.draw({onlyFinds:e,finds:r,runs:E,isDown:f,isHere:this.#E,turns:C.length}),this.#a=r||f?this.#e.input.value:"",(this.#a||r||this.#r)&&this.#z(r&&!e&&!f)}connectedCallback(){this.#v(),this._ready??=this.#u();let{signal:t}=this.#c=new AbortController,e=(i,s,n=globalThis)=>i.split(" ").forEach(o=>n.addEventListener(o,s,{signal:t,passive:o==="scroll"}));e("keydown",this.#T),e("click",this.#R),e("focusin",this.#L),e("scroll resize",this.#A),e("online",()=>this.#s?.probe()),e("pagehide",()=>this.#C()),e("hashchange",this.#w),e("selectionchange",()=>this.#b(t),document),e("storage",()=>this.#t?.isShared&&this.#s?.sync()),e("change",this.#v,S),e("change",this.#v,x),this._ready.then(()=>this.#k()),this.settings.replacesSearch&&v("roaming-search.js").then(({takeOver:i})=>i(this,t),()=>{})}disconnectedCallback(){this.stop(),this.#c.abort(),this.#l?.abort(),w(0)}attributeChangedCallback(t,e,i){this.#i&&(this.settings.mode==="off"||t==="open"&&i===null?this.close():t==="open"&&this.open(),t==="mode"&&this.#k(),this._draw())}async#u(){let{settings:t}=this;this.#t=new M(this.getAttribute("persist")??"session",t.page.base);let{open:e=this.hasAttribute("open"),parked:i}=this.#t.state;(!e||!S.matches||t.mode==="off")&&w(0),await t.loadWords();let s=this.attachShadow({mode:"open"});k(s,Y),s.addEventListener("click",this.#O),this.#g(s),this._draw(),this.#h(),i&&this.#y(!0),e&&!x.matches&&this.open(!1),this.#m();let n=new URLSearchParams(location.search).get("ask");n&&this.prefill(n),this.#w()}#g(t){let{words:e}=this.settings;for(let s of q()){s.ariaLabel=s.title=e.button;let n=s.querySelector("kbd");n&&_==="metaKey"&&(n.textContent=n.textContent.replace("Ctrl ","⌘"))}let i={class:"opener",part:"button","aria-haspopup":"dialog","aria-expanded":"false"};this.#i=a("button",{onclick:()=>this._toggle(!1),...i}),this.#n=a("div",{class:"parked",part:"back",hidden:!0},a("button",{onclick:()=>this.open()}),g(e.close,d("x"),()=>this.#y(!1))),t.append(this.#i,this.#n)}#f(){if(!this.#e){this.#e=new $(this,this.#t,{escape:this.#_,typed:this.#M,changed:()=>this._draw(),leave:()=>this._toggle(!1),submit:t=>{t.preventDefault(),this.#s.isRunning?this.stop():this.#S()},everywhere:()=>{this.#t.remember({everywhere:this.settings.page.path}),this._draw(),this.#e.input.focus()},isRunning:()=>this.#s.isRunning});for(let t of["keydown","keypress","keyup"])this.#e.element.addEventListener(t,e=>e.ctrlKey||e.metaKey||e.stopPropagation());this.#e.input.value=this.#t.state.draft??"",this.#s=new I(this,this.#e,this.#t)}}#h(){let{left:t,top:e,width:i,height:s}=this.#i.getBoundingClientRect(),n=i&&document.elementFromPoint(t+i/2,e+s/2);n&&n!==this&&z(this)}async#m(){try{sessionStorage.getItem("roaming:passage")&&(await v("roaming-passage.js")).arrive(this)}catch{}}#b(t){getSelection().isCollapsed||this.#d===t||this.getAttribute("selection")==="off"||(this.#d=t,this._ready.then(()=>v("roaming-selection.js")).then(({watch:e})=>e(this,t),()=>{}))}#w=()=>{location.hash.startsWith("#roaming=")&&v("roaming-link.js").then(({open:t})=>t(this),()=>{})};#k(){this.#l?.abort();let t=document.modelContext??navigator.modelContext;if(!t?.registerTool||!this.isConnected||this.settings.mode==="off")return;let{signal:e}=this.#l=new AbortController;v("roaming-webmcp.js").then(({registerTools:i})=>i(this,t,e),()=>{})}#C(){this.#s?.isRunning&&this.#s.keep(),this.#e&&this.#t.remember({draft:this.#e.input.value,place:this.#e.place})}#v=()=>{if(!this.#e?.isOpen)return this.#i&&this._draw();this.#e.element.close(),this.#e.show(!1),this._draw()};#T=t=>{let e=(this.getAttribute("shortcut")??"i").toLowerCase();if(!t.defaultPrevented){if(t.key==="Escape")return this.#e?.isOpen&&!t.target.closest?.(gt)&&this.#_(t);!U(t,e)||this.settings.mode==="off"||(t.preventDefault(),this._toggle(!1))}};#R=t=>{let e=t.target.closest?.("[data-roaming-open]");if(!e||t.defaultPrevented)return;t.preventDefault();let i=e.dataset.roamingOpen||void 0;if(!i&&e.ariaExpanded)return this._toggle(!1);this.#t.remember({finding:!1}),this.prefill(i)};#L=({target:t})=>{let{mode:e,replacesSearch:i}=this.settings;t.matches?.("[data-md-component=search-query]")&&this.#i&&e!=="off"&&!i&&v("roaming-search.js").then(({addRow:s})=>s(this,t),()=>{}),!(t===this||!this.#e?.isOpen||!t.getBoundingClientRect)&&this.#e.covers(t)&&this.close()};#A=()=>{let t=scrollY-this.#p;t&&this.#i?.classList.toggle("away",t>0),this.#p=scrollY,this.#e?.stayBelowHeader()};#y(t){this.#t.remember({parked:t}),this._draw()}#O=t=>{let e=t.target.closest("a")?.href.replace(/#?:~:.*/,"");if(!e||t.metaKey||t.ctrlKey||t.shiftKey||t.altKey)return;let i=new URL(e).origin===location.origin,s=this._emit("navigate",{url:e});if((i||!s)&&t.preventDefault(),!i||!s)return;let n=a("a",{href:e,hidden:!0});this.append(n),x.matches&&(this.close(),this.#y(!0)),n.click(),n.remove()};#M=t=>{let{key:e,isComposing:i,keyCode:s,shiftKey:n}=t,{last:o}=this.#s;if(!(i||s===229)){if(e==="Enter"&&t[_])this.ask(this.#e.input.value);else if(e==="Enter"&&!n)this.#S();else if(e==="ArrowUp"&&!this.#e.input.value&&o&&!this.#x)this.#s.queue(),this.prefill(o);else return;t.preventDefault()}};#_=t=>{(t.key??"Escape")!=="Escape"||t.isComposing||(t.preventDefault(),this.#s.isRunning&&!this.#x&&t.cancelable?this.stop():this.close())};#S(){let{input:t}=this.#e;t.value.trim()?this.#x||this.ask(t.value):t.focus()}get#x(){return this.settings.onlyFinds||!!this.#t.state.finding}get#E(){let{path:t}=this.settings.page;return t!==void 0&&this.getAttribute("page-context")!=="off"&&this.#t.state.everywhere!==t}async#z(t){try{let{View:e}=this.#r?{}:await v("roaming-find.js");this.#r??=new e(this,this.#e.hits),await this.#r.list(this.#a,t)}catch{this.#e.hits.textContent=this.settings.words.lost}}};customElements.get("roaming-ask")??customElements.define("roaming-ask",K);var Q=()=>{document.querySelector('script[src*="roaming-ask"]')&&!document.querySelector("roaming-ask")&&document.body.append(a("roaming-ask"))};document.readyState==="loading"?addEventListener("DOMContentLoaded",Q):Q();export{_ as MODIFIER,K as RoamingAsk,it as SEND_KEY,k as adopt,a as el,A as fill,F as icon,U as isShortcut,d as namedIcon,y as plain,L as svg,g as tool};
