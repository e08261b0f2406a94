var b=`
:host {
  --_bg: var(--roaming-bg, var(--md-default-bg-color, var(--color-background-primary, var(--bs-body-bg, Canvas))));
  --_fg: var(--roaming-fg, var(--md-typeset-color, var(--color-foreground-primary, var(--bs-body-color, CanvasText))));
  position: relative;
}
button, a { all: unset; cursor: pointer }
button[aria-haspopup] { display: block }
button:is(:hover, [aria-expanded=true]) { color: var(--roaming-accent, var(--md-accent-fg-color)) }
:focus-visible { outline: 2px solid var(--roaming-focus, currentcolor); outline-offset: 2px; border-radius: 2px }
[role=menu], [role=status] { position: absolute; z-index: 3; inset-block-start: 100%; inset-inline-end: 0;
  box-sizing: border-box; width: max-content; max-width: calc(100vw - 2em); margin-block-start: .3em;
  font: var(--roaming-font-size, 15px)/1.4 var(--roaming-font, var(--md-text-font-family, system-ui, sans-serif));
  color: var(--_fg); background: var(--_bg); text-align: start; letter-spacing: normal; text-transform: none;
  border: 1px solid color-mix(in srgb, var(--_fg) 22%, var(--_bg)); border-radius: .4em; box-shadow: 0 2px 12px #0003 }
[role=menu] { padding: .3em 0 }
[role=status] { padding: .3em .7em }
[role=status]:empty { padding: 0; border: 0; box-shadow: none }
[hidden] { display: none }
[role=menuitem] { display: block; box-sizing: border-box; width: 100%; padding: .4em 1em }
[role=menuitem]:is(:hover, :focus) { background: color-mix(in srgb, var(--_fg) 10%, var(--_bg)) }
:focus-visible[role=menuitem] { outline-offset: -2px }
[role=group] { margin-block-start: .3em; padding-block-start: .3em;
  border-block-start: 1px solid color-mix(in srgb, var(--_fg) 22%, var(--_bg)) }
[role=group] > span { display: block; padding: .2em 1.18em; font-size: .85em }
@media print { :host { display: none } }
`,m;function s(d,e={},...t){let i=document.createElement(d);for(let[o,a]of Object.entries(e))o.startsWith("on")?i.addEventListener(o.slice(2),a):a!==void 0&&i.setAttribute(o,a);return i.append(...t),i}var h=class extends HTMLElement{#o;#t;#a;#n;#r;connectedCallback(){let e=this.querySelector("svg");if(this.shadowRoot||!e||!this.dataset.menu)return;let{name:t,items:i}=this.data=JSON.parse(this.dataset.menu),o=this.attachShadow({mode:"open"});m||(m=new CSSStyleSheet).replaceSync(b),o.adoptedStyleSheets=[m],this.#o=s("button",{type:"button",part:"button",title:t,"aria-label":t,"aria-haspopup":"menu","aria-expanded":"false",onclick:()=>this.#t.hidden?this.#l(0):this.#e(!0),onmousedown:a=>a.preventDefault()},s("slot")),this.#t=s("div",{role:"menu",part:"menu","aria-label":t,tabindex:-1,hidden:""}),this.#t.append(...i.map(a=>this.#s(a))),this.#a=s("span",{role:"status",part:"status"}),o.append(this.#o,this.#t,this.#a),o.addEventListener("keydown",this.#c),o.addEventListener("focusout",({relatedTarget:a})=>o.contains(a)||this.#e()),this.replaceChildren(e)}#s({text:e,href:t,copy:i,group:o,items:a}){if(o){let u=s("span",{"aria-hidden":!0},o);return s("div",{role:"group","aria-label":o},u,...a.map(l=>this.#s(l)))}let n={role:"menuitem",tabindex:-1,part:"item"};if(!t)return s("button",{...n,type:"button",onclick:()=>this.#u(i)},e);let r=/^https?:/.test(t);return s("a",{...n,href:t,target:r?"_blank":void 0,rel:"noopener",onclick:()=>this.#e(r)},e)}get#d(){return[...this.#t.querySelectorAll("[role=menuitem]")]}#l(e){this.#i(""),this.#t.hidden=!1,this.#o.ariaExpanded="true",this.#d.at(e).focus(),this.#n=fetch(this.data.file).then(t=>t.ok?t.text():Promise.reject()),this.#n.catch(()=>{})}#e(e){this.#t.hidden=!0,this.#o.ariaExpanded="false",e&&this.#o.focus()}#c=e=>{let{key:t,ctrlKey:i,metaKey:o,altKey:a}=e;if(i||o||a)return;e.stopPropagation();let n=this.#d,r=n.indexOf(this.shadowRoot.activeElement);if(this.#t.hidden){if(!/^Arrow(Down|Up)$/.test(t))return;this.#l(t==="ArrowUp"?-1:0)}else{if(t==="Tab")return this.#e(!0);if(t==="Escape")this.#e(!0);else if(t===" "&&r>=0)n[r].click();else{let c={ArrowDown:r+1,ArrowUp:r<0?-1:r-1,Home:0,End:-1}[t],u=p=>t.length===1&&p.textContent.toLowerCase().startsWith(t.toLowerCase()),l=c===void 0?[...n.slice(r+1),...n].find(u):n.at(c%n.length);if(!l)return;l.focus()}}e.preventDefault()};async#u(e){let{copied:t,failed:i}=this.data;try{await f(e??await this.#n,this.shadowRoot),this.#e(!0),this.#i(t)}catch{this.#e(!0),this.#i(i)}}#i(e){clearTimeout(this.#r),this.#a.textContent=e,e&&(this.#r=setTimeout(()=>this.#i(""),3e3))}};async function f(d,e){try{return await navigator.clipboard.writeText(d)}catch{}let t=s("textarea",{readonly:""},d);e.append(t),t.select();let i=document.execCommand("copy");if(t.remove(),!i)throw new Error("copy")}customElements.get("roaming-menu")??customElements.define("roaming-menu",h);
