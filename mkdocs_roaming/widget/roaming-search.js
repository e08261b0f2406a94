import{el as i,fill as w,namedIcon as u}from"./roaming-ask.js";var x={askRow:"Ask: {query}",findRow:"Find in all sections: {query}"},y=`
.roaming-search-row { display: flex; align-items: center; gap: 12px; padding: 12px 16px; color: var(--md-default-fg-color);
  background: color-mix(in srgb, var(--md-typeset-a-color) 9%, var(--md-default-bg-color)); font-size: 14px; line-height: 20px }
.roaming-search-row[hidden] { display: none }
.roaming-search-row:is(:hover, :focus-visible) {
  background: color-mix(in srgb, var(--md-typeset-a-color) 18%, var(--md-default-bg-color)) }
.roaming-search-row:focus-visible { outline: 2px solid var(--md-typeset-a-color); outline-offset: -2px }
.roaming-search-row span { flex: 1; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.roaming-search-row svg { flex: none; width: 18px; height: 18px; fill: none; stroke: var(--md-typeset-a-color); stroke-width: 1.6;
  stroke-linecap: round; stroke-linejoin: round; color: var(--md-typeset-a-color) }
.roaming-search-row kbd { border: 1px solid; border-color: color-mix(in srgb, currentColor 36%, transparent); border-radius: 4px;
  padding: 0 5px; font: 12px/16px var(--md-text-font-family, sans-serif); white-space: nowrap }
@media (hover: none), (max-width: 599px) { .roaming-search-row kbd { display: none } }
`,g=/^(Mac|iP)/.test(navigator.platform);function v(t,o,a){let n=o.closest("[data-md-component=search]")?.querySelector("[data-md-component=search-result]");if(!n||n.querySelector(".roaming-search-row"))return;let d=new CSSStyleSheet;d.replaceSync(y),document.adoptedStyleSheets.push(d);let c=u(a()?"ask":"find");c.dataset.mdScore="-1";let l=i("span"),r=i("a",{class:"roaming-search-row"},c,l,i("kbd",{},g?"⌘ ↵":"Ctrl ↵")),m={...x,...t.settings.words},s=()=>{let e=o.value.trim();r.hidden=!e,r.href=`?ask=${encodeURIComponent(e)}`,l.textContent=w(a()?m.askRow:m.findRow,{query:e})},p=e=>{if(!o.value.trim())return;e.preventDefault(),e.stopPropagation();let f=o.value.trim(),h=document.getElementById("__search");h?.checked&&h.click(),o.blur(),a()?t.ask(f):t.prefill(f)};r.addEventListener("click",e=>e.metaKey||e.ctrlKey||e.shiftKey||p(e)),o.addEventListener("keydown",e=>e.key==="Enter"&&(g?e.metaKey:e.ctrlKey)&&p(e)),o.addEventListener("input",s),o.form?.addEventListener("reset",()=>setTimeout(s)),n.prepend(r),s()}export{v as addRow};
