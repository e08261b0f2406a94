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
`,k=class{#e;#i;#o;#t;constructor(e,s){Object.assign(this,{host:e,into:s}),this.#e=new b(e),s.className="found";let i=new CSSStyleSheet;i.replaceSync(C),e.shadowRoot.adoptedStyleSheets.push(i);let o=(n,...c)=>l("span",{},...c.map(a=>l("kbd",{},a)),this.words[n]),t=e.matches(":dir(rtl)")?"←":"→",h=[o("keyMove","↑","↓"),o("keyOpen","↵"),o("keyRead",t),o("keyClose","Esc")];this.panel.append(l("div",{class:"keys","aria-hidden":"true"},...h)),this.panel.addEventListener("keydown",this.#h,!0);for(let n of["focusin","focusout"])this.panel.addEventListener(n,()=>this.#r())}get words(){return{...v,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#s(){return this.panel.classList.contains("finder")}async list(e){let{words:s}=this,i=this.#i={};if(clearTimeout(this.#o),this.#t=void 0,!e.trim())return this.into.replaceChildren();let o=r=>l("p",{class:"muted"},r),t=this.#e,h=t.finder;try{h||this.into.replaceChildren(o(s.loading)),await t.open()}catch{i===this.#i&&this.into.replaceChildren(o(s.unread));return}let{finder:n}=t;if(n!==h&&this.host._emit("outline",{sections:n.sections.length,digest:n.source.digest}),i!==this.#i)return;if(t.isLarge)return this.into.replaceChildren(o(f(s.many,{n:n.count})));let c=n.find(e),a=c.length?f(s.results,{n:c.length}):s.none;this.into.replaceChildren(...c.length?this.#a(c,n.asked(e)):[o(a)],l("p",{class:"row"},y(s.prompt,()=>this.#d(e.trim(),c),this.host))),this.#r(),this.#o=setTimeout(()=>this.host._say(a),600)}#a(e,s){let{words:i}=this,o=l("p",{class:"count"}),t=this.#t=l("ul",{class:"hits",role:"list"}),n=l("button",{type:"button",onclick:()=>{let r=t.children.length;a(g),t.children[r].querySelector("a")?.focus()}}),c=l("p",{},n),a=r=>{let d=t.children.length;t.append(...e.slice(d,d+r).map(m=>this.#l(m,s)));let p=e.length-t.children.length,u={n:e.length,shown:t.children.length};o.textContent=this.#s?f(p?i.best:i.results,u):i.meanwhile,n.textContent=f(i.more,{n:Math.min(p,g)}),c.hidden=!p};return a(_),[o,t,c]}#l(e,s){let{words:i,host:o}=this,{title:t,path:h,opening:n}=e,c=this.#e.address(e),a=o.settings.anchor({url:c},"");a.append(...this.#n(t,s));let r=l("div",{class:"open answer",hidden:!0}),d=f(i.peek,{title:t}),p=l("button",{type:"button",class:"peek","aria-expanded":"false","aria-label":d});p.append(x("m9 6 6 6-6 6")),p.addEventListener("click",()=>{r.hidden=!r.hidden,p.ariaExpanded=`${!r.hidden}`,!r.hidden&&!r.firstChild&&this.#c(e,c,r)});let u=l("div",{},l("p",{class:"crumb"},h.slice(0,-1).join(" › ")),l("h3",{},a),l("p",{class:"snippet"},...this.#n(n,s)));return l("li",{class:"hit",part:"trail-item"},l("div",{class:"row-of-hit"},u,p),r)}#n(e,s){let i=[],o=0;for(let[t,h]of w(e,s,this.#e.finder.language))i.push(e.slice(o,t),l("mark",{},e.slice(t,h))),o=h;return[...i,e.slice(o)].filter(Boolean)}async#c(e,s,i){let{words:o,host:t}=this,{id:h,title:n,path:c,tokens:a}=e;t._emit("section",{id:h,title:n,path:c,url:s,tokens:a,state:"open"}),i.append(o.loading);let r=import("./roaming-markdown.js"),d=await this.#e.text(e).catch(()=>o.unread),{Markdown:p}=await r;i.replaceChildren(),new p(i,{link:t.settings.link,words:o,root:t.shadowRoot,say:u=>t._say(u)}).push(`${d}

`),i.append(l("p",{},t.settings.anchor({url:s},o.page))),t._emit("section",{id:h,title:n,path:c,url:s,tokens:a,state:"read"})}#h=e=>{let{key:s,target:i,isComposing:o,ctrlKey:t,metaKey:h,altKey:n,shiftKey:c}=e;if(!this.#s||!this.#t||o||t||h||n||c)return;let a=this.panel.querySelector("textarea"),r=[...this.#t.querySelectorAll("h3 > a")],d=r.findIndex(m=>m.closest(".hit").contains(i));if(i!==a&&d<0)return;if(s==="Escape"&&a.value)return this.host.prefill(""),a.focus(),e.preventDefault(),e.stopPropagation();let p=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",u=i.closest(".open");if(s==="ArrowDown")r[Math.min(d+1,r.length-1)]?.focus();else if(s==="ArrowUp"&&i!==a)(r[d-1]??a).focus();else if(s==="Enter"&&i===a)r[0]?.click();else if(s===p&&d>=0&&!u)r[d].closest(".hit").querySelector(".peek").click();else{d>=0&&!u&&/^[^\s]$/u.test(s)&&a.focus();return}e.preventDefault(),e.stopPropagation()};#r(){this.#t?.firstElementChild?.classList.toggle("current",this.#s&&this.host.shadowRoot.activeElement?.localName==="textarea")}#d(e,s){let{site:i}=this.#e.finder.source,o=s.slice(0,5).map(({path:h,page:n})=>`- ${h.join(" › ")}: ${i.url}${n.markdown}`),t={site:i.name,question:e,llms:`${i.url}llms.txt`,sections:o.join(`
`)};return f(this.words.promptText,t)}};export{k as View};
