import{el as l,fill as f,icon as x}from"./roaming-ask.js";import{findMatches as w}from"./roaming-finder.js";import{Library as b}from"./roaming-library.js";import{copier as y}from"./roaming-tools.js";var v={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

Its pages are listed at {llms}. Read these sections first, and cite the ones you use by their address:

{sections}
`},_=8,g=20,C=`
.found > p { margin-block: 12px 0 }
.found > .count { margin-block: 0 8px; font-size: .8em; line-height: 1.334; font-weight: 700; color: var(--_muted) }
.hits { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.hit + .hit { border-block-start: 1px solid var(--_line) }
.row-of-hit { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) 32px; gap: 0 8px; align-items: center;
  padding: 12px 8px 12px 16px; transition: background .12s }
.row-of-hit:dir(rtl) { padding: 12px 16px 12px 8px }
.row-of-hit:hover, .row-of-hit:has(a:focus-visible), .current .row-of-hit { background: var(--_soft) }
.row-of-hit::before { content: ""; position: absolute; inset-block: 0; inset-inline-start: 0; width: 2px }
.row-of-hit:has(a:focus-visible)::before, .current .row-of-hit::before { background: var(--_accent) }
.crumb { font-size: .8em; line-height: 1.334; color: var(--_muted) }
.hit h3 { font-size: .9333em; line-height: 1.43; font-weight: 700; white-space: normal }
.hit h3 > a { color: inherit; text-decoration: none; outline: 0 }
.hit h3 > a::after { content: ""; position: absolute; inset: 0 }
.hit .snippet { margin-block-start: 2px; font-size: .8667em; line-height: 1.54; color: var(--_muted); text-wrap: pretty;
  display: -webkit-box; -webkit-line-clamp: 2; -webkit-box-orient: vertical; overflow: clip; overflow-clip-margin: 1px }
.hit mark { background: var(--_mark); color: var(--_fg); text-decoration: none; border-radius: 3px; padding: 1px; margin: 0 -1px }
.hit .peek { position: relative; display: grid; place-items: center; width: 32px; height: 32px; min-height: 32px; padding: 0;
  border: 0; border-radius: var(--_radius); background: none; color: var(--_muted) }
.hit .peek:hover { background: var(--_tint); color: var(--_fg) }
.peek .icon { transition: rotate .12s }
.peek:dir(rtl) .icon { scale: -1 1 }
.peek[aria-expanded=true] .icon { rotate: 90deg }
.peek[aria-expanded=true]:dir(rtl) .icon { rotate: -90deg }
.hit > .open { padding: 12px 16px; border-block-start: 1px solid var(--_line); font-size: .9333em }
.keys { display: none; order: 3; flex: none; gap: 4px 16px; flex-wrap: wrap; padding: 10px 20px;
  border-block-start: 1px solid var(--_line); font-size: .8em; line-height: 1.334; color: var(--_muted) }
.finder .keys { display: flex }
.keys span { display: inline-flex; gap: 4px }
kbd { font: inherit; border: 1px solid color-mix(in srgb, currentColor 36%, transparent); border-radius: 4px; padding: 0 5px }
@media (max-width: 599px), (pointer: coarse) {
  .finder .keys { display: none }
  .row-of-hit { grid-template-columns: minmax(0, 1fr) 44px }
  .hit .peek { width: 44px; height: 44px }
}
@media (forced-colors: active) {
  .current .row-of-hit, .row-of-hit:has(a:focus-visible) { outline: 2px solid Highlight; outline-offset: -2px }
  .hit mark { background: Mark; color: MarkText }
}
`,k=class{#e;#i;#o;#t;constructor(e,s){Object.assign(this,{host:e,into:s}),this.#e=new b(e),s.className="found";let t=new CSSStyleSheet;t.replaceSync(C),e.shadowRoot.adoptedStyleSheets.push(t);let o=(r,...c)=>l("span",{},...c.map(a=>l("kbd",{},a)),this.words[r]),i=e.matches(":dir(rtl)")?"←":"→",h=[o("keyMove","↑","↓"),o("keyOpen","↵"),o("keyRead",i),o("keyClose","Esc")];this.panel.append(l("div",{class:"keys","aria-hidden":"true"},...h)),this.panel.addEventListener("keydown",this.#h,!0);for(let r of["focusin","focusout"])this.panel.addEventListener(r,()=>this.#r())}get words(){return{...v,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#s(){return this.panel.classList.contains("finder")}async list(e){let{words:s}=this,t=this.#i={};if(clearTimeout(this.#o),this.#t=void 0,!e.trim())return this.into.replaceChildren();let o=d=>l("p",{class:"muted"},d),i=this.#e,h=i.finder,r;try{h||this.into.replaceChildren(o(s.loading)),r=await i.find(e)}catch{t===this.#i&&this.into.replaceChildren(o(s.unread));return}let{finder:c}=i;if(c!==h&&this.host._emit("outline",{sections:c.sections.length,digest:c.source.digest}),t!==this.#i)return;if(i.isLarge)return this.into.replaceChildren(o(f(s.many,{n:c.count})));let a=await c.asked(e);if(t!==this.#i)return;let n=r.length?f(s.results,{n:r.length}):s.none;this.into.replaceChildren(...r.length?this.#a(r,a):[o(n)],l("p",{class:"row"},y(s.prompt,()=>this.#d(e.trim(),r),this.host))),this.#r(),this.#o=setTimeout(()=>this.host._say(n),600)}#a(e,s){let{words:t}=this,o=l("p",{class:"count"}),i=this.#t=l("ul",{class:"hits",role:"list"}),r=l("button",{type:"button",onclick:()=>{let n=i.children.length;a(g),i.children[n].querySelector("a")?.focus()}}),c=l("p",{},r),a=n=>{let d=i.children.length;i.append(...e.slice(d,d+n).map(m=>this.#l(m,s)));let p=e.length-i.children.length,u={n:e.length,shown:i.children.length};o.textContent=this.#s?f(p?t.best:t.results,u):t.meanwhile,r.textContent=f(t.more,{n:Math.min(p,g)}),c.hidden=!p};return a(_),[o,i,c]}#l(e,s){let{words:t,host:o}=this,{title:i,path:h,opening:r}=e,c=this.#e.address(e),a=o.settings.anchor({url:c},"");a.append(...this.#n(i,s));let n=l("div",{class:"open answer",hidden:!0}),d=f(t.peek,{title:i}),p=l("button",{type:"button",class:"peek","aria-expanded":"false","aria-label":d});p.append(x("m9 6 6 6-6 6")),p.addEventListener("click",()=>{n.hidden=!n.hidden,p.ariaExpanded=`${!n.hidden}`,!n.hidden&&!n.firstChild&&this.#c(e,c,n)});let u=l("div",{},l("p",{class:"crumb"},h.slice(0,-1).join(" › ")),l("h3",{},a),l("p",{class:"snippet"},...this.#n(r,s)));return l("li",{class:"hit",part:"trail-item"},l("div",{class:"row-of-hit"},u,p),n)}#n(e,s){let t=[],o=0;for(let[i,h]of w(e,s))t.push(e.slice(o,i),l("mark",{},e.slice(i,h))),o=h;return[...t,e.slice(o)].filter(Boolean)}async#c(e,s,t){let{words:o,host:i}=this,{id:h,title:r,path:c}=e;i._emit("section",{id:h,title:r,path:c,url:s,state:"open"}),t.append(o.loading);let a=import("./roaming-markdown.js"),n=await this.#e.text(e).catch(()=>o.unread),{Markdown:d}=await a;t.replaceChildren(),new d(t,{link:i.settings.link,words:o,root:i.shadowRoot,say:p=>i._say(p)}).push(`${n}

`),t.append(l("p",{},i.settings.anchor({url:s},o.page))),i._emit("section",{id:h,title:r,path:c,url:s,state:"read"})}#h=e=>{let{key:s,target:t,isComposing:o,ctrlKey:i,metaKey:h,altKey:r,shiftKey:c}=e;if(!this.#s||!this.#t||o||i||h||r||c)return;let a=this.panel.querySelector("textarea"),n=[...this.#t.querySelectorAll("h3 > a")],d=n.findIndex(m=>m.closest(".hit").contains(t));if(t!==a&&d<0)return;if(s==="Escape"&&a.value)return this.host.prefill(""),a.focus(),e.preventDefault(),e.stopPropagation();let p=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",u=t.closest(".open");if(s==="ArrowDown")n[Math.min(d+1,n.length-1)]?.focus();else if(s==="ArrowUp"&&t!==a)(n[d-1]??a).focus();else if(s==="Enter"&&t===a)n[0]?.click();else if(s===p&&d>=0&&!u)n[d].closest(".hit").querySelector(".peek").click();else{d>=0&&!u&&/^[^\s]$/u.test(s)&&a.focus();return}e.preventDefault(),e.stopPropagation()};#r(){this.#t?.firstElementChild?.classList.toggle("current",this.#s&&this.host.shadowRoot.activeElement?.localName==="textarea")}#d(e,s){let{site:t}=this.#e.finder.source,o=s.slice(0,5).map(({path:h,page:r})=>`- ${h.join(" › ")}: ${t.url}${r.markdown}`),i={site:t.name,question:e,llms:`${t.url}llms.txt`,sections:o.join(`
`)};return f(this.words.promptText,i)}};export{k as View};
