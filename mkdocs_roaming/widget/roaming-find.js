import{el as r,fill as m,icon as v,namedIcon as _}from"./roaming-ask.js";import{findMatches as S}from"./roaming-finder.js";import{Library as M}from"./roaming-library.js";import{copier as C}from"./roaming-tools.js";var T={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",onThisPage:"On this page",topPages:"Start here",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

Its pages are listed at {llms}. Read these sections first, and cite the ones you use by their address:

{sections}
`},E=/^(Mac|iP)/.test(navigator.platform),x=8,b=20,L=`
.found > p { margin-block: 12px 0 }
.found > .label:first-child { margin-block-start: 8px }
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
.asks { margin-block-end: 16px }
.asks .row-of-hit { grid-template-columns: auto minmax(0, 1fr) auto; gap: 12px; padding-inline-end: 16px; background: var(--_tint) }
.asks .row-of-hit:is(:hover, :has(a:focus-visible)), .asks .current .row-of-hit { background: var(--_mark) }
.asks .icon { color: var(--_accent) }
.asks h3 { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.asks kbd { font-size: .8em; line-height: 1.334 }
.hit > .open { padding: 12px 16px; border-block-start: 1px solid var(--_line); font-size: .9333em }
.keys { display: none; order: 3; flex: none; gap: 4px 16px; flex-wrap: wrap; padding: 10px 20px;
  border-block-start: 1px solid var(--_line); font-size: .8em; line-height: 1.334; color: var(--_muted) }
.finder .keys { display: flex }
.keys span { display: inline-flex; gap: 4px }
kbd { font: inherit; border: 1px solid color-mix(in srgb, currentColor 36%, transparent); border-radius: 4px; padding: 0 5px }
@media (max-width: 599px), (pointer: coarse) {
  .finder .keys, .asks kbd { display: none }
  .row-of-hit { grid-template-columns: minmax(0, 1fr) 44px }
  .hit .peek { width: 44px; height: 44px }
}
@media (forced-colors: active) {
  .current .row-of-hit, .row-of-hit:has(a:focus-visible) { outline: 2px solid Highlight; outline-offset: -2px }
  .hit mark { background: Mark; color: MarkText }
}
`,y=class{#t;#e;#o;#s;#n;constructor(t,i){Object.assign(this,{host:t,into:i}),this.#t=new M(t),i.className="found";let s=new CSSStyleSheet;s.replaceSync(L),t.shadowRoot.adoptedStyleSheets.push(s);let o=(p,...h)=>r("span",{},...h.map(a=>r("kbd",{},a)),this.words[p]),e=t.matches(":dir(rtl)")?"←":"→",c=[o("keyMove","↑","↓"),o("keyOpen","↵"),o("keyRead",e),o("keyClose","Esc")];this.panel.append(r("div",{class:"keys","aria-hidden":"true"},...c)),this.panel.addEventListener("keydown",this.#f,!0);for(let p of["focusin","focusout"])this.panel.addEventListener(p,()=>this.#l())}get words(){return{...T,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#i(){return this.panel.classList.contains("finder")}async list(t,i){let{words:s,host:o}=this,e=this.#t,{path:c,manifest:p}=o.settings.page,h=JSON.stringify([t,i,this.#i,c,p]);if(h===this.#e)return;this.#e=h,clearTimeout(this.#o),this.#s=void 0;let a=!t.trim(),n=i&&!a?[this.#c(t.trim())]:[],l=(...w)=>h===this.#e&&this.into.replaceChildren(...n,...w),d=w=>l(a?"":r("p",{class:"muted"},w));if(a&&!this.#i)return l();let f=e.finder;try{f||d(s.loading),await e.open()}catch{d(s.unread),h===this.#e&&(this.#e=void 0);return}let{finder:u}=e;if(u!==f&&o._emit("outline",{sections:u.sections.length,digest:u.source.digest}),e.isLarge)return d(m(s.many,{n:u.count}));if(a)return l(...this.#h(c));let g=await u.find(t);if(h!==this.#e)return;let k=g.length?m(s.results,{n:g.length}):s.none;g.length?l(...this.#p(g,u.asked(t))):d(k),this.into.append(r("p",{class:"row"},C(s.prompt,()=>this.#u(t.trim(),g),o))),this.#s=this.into.querySelector(".hits:not(.asks) a")??this.into.querySelector(".asks a"),this.#l(),this.#n===h&&this.#s?.click(),this.#o=setTimeout(()=>o._say(k),600)}#c(t){let i=e=>{e.metaKey||e.ctrlKey||e.shiftKey||(e.preventDefault(),e.stopPropagation(),this.host.ask(t))},s=r("a",{href:`?ask=${encodeURIComponent(t)}`,onclick:i},m(this.words.askRow,{query:t})),o=r("div",{class:"row-of-hit"},_("ask"),r("h3",{},s),r("kbd",{},E?"⌘ ↵":"Ctrl ↵"));return r("ul",{class:"hits asks",role:"list"},r("li",{class:"hit"},o))}#h(t){let{words:i}=this,{sections:s}=this.#t.finder,o=s.filter(n=>t&&n.page.path===t&&n.parent&&!n.parent.parent),e=s.filter(n=>n===n.page.sections[0]&&n.page.path),c=new Map;for(let n of e)c.set(n.page.above[0]??n,c.get(n.page.above[0])??n);let p=[...new Set([...c.values(),...e])].slice(0,x),h=o.length?o.slice(0,x):e.filter(n=>p.includes(n));return h.length?[r("h4",{class:"label"},o.length?i.onThisPage:i.topPages),r("ul",{class:"hits start",role:"list"},...h.map(n=>this.#r(n)))]:[]}#p(t,i){let{words:s}=this,o=r("p",{class:"count"}),e=r("ul",{class:"hits",role:"list"}),p=r("button",{type:"button",onclick:()=>{let n=e.children.length;a(b),e.children[n].querySelector("a")?.focus()}}),h=r("p",{},p),a=n=>{let l=e.children.length;e.append(...t.slice(l,l+n).map(u=>this.#r(u,i)));let d=t.length-e.children.length,f={n:t.length,shown:e.children.length};o.textContent=this.#i?m(d?s.best:s.results,f):s.meanwhile,p.textContent=m(s.more,{n:Math.min(d,b)}),h.hidden=!d};return a(x),[o,e,h]}#r(t,i){let{words:s,host:o}=this,{title:e,path:c,opening:p,parent:h}=t,a=this.#t.address(t),n=o.settings.anchor({url:a},"");n.append(...i?this.#a(e,i):[e]);let l=r("div",{class:"open answer",hidden:!0}),d=m(s.peek,{title:e}),f=r("button",{type:"button",class:"peek","aria-expanded":"false","aria-label":d});f.append(v("m9 6 6 6-6 6")),f.addEventListener("click",()=>{l.hidden=!l.hidden,f.ariaExpanded=`${!l.hidden}`,!l.hidden&&!l.firstChild&&this.#d(t,a,l)});let u=(i||!h)&&r("p",{class:"crumb"},c.slice(0,-1).join(" › ")),g=i&&r("p",{class:"snippet"},...this.#a(p,i)),k=r("div",{},u,r("h3",{},n),g);return r("li",{class:"hit",part:"trail-item"},r("div",{class:"row-of-hit"},k,f),l)}#a(t,i){let s=[],o=0;for(let[e,c]of S(t,i,this.#t.finder.language))s.push(t.slice(o,e),r("mark",{},t.slice(e,c))),o=c;return[...s,t.slice(o)].filter(Boolean)}async#d(t,i,s){let{words:o,host:e}=this,{id:c,title:p,path:h,tokens:a}=t;e._emit("section",{id:c,title:p,path:h,url:i,tokens:a,state:"open"}),s.append(o.loading);let n=import("./roaming-markdown.js"),l=await this.#t.text(t).catch(()=>o.unread),{Markdown:d}=await n;s.replaceChildren(),new d(s,{link:e.settings.link,words:o,root:e.shadowRoot,say:f=>e._say(f)}).push(`${l}

`),s.append(r("p",{},e.settings.anchor({url:i},o.page))),e._emit("section",{id:c,title:p,path:h,url:i,tokens:a,state:"read"})}#f=t=>{let{key:i,target:s,isComposing:o,ctrlKey:e,metaKey:c,altKey:p,shiftKey:h}=t;if(!this.#i||o||e||c||p||h)return;let a=this.panel.querySelector("textarea"),n=[...this.into.querySelectorAll(".row-of-hit h3 > a")],l=n.findIndex(u=>u.closest("li").contains(s));if(s!==a&&l<0)return;if(i==="Escape"&&a.value&&!this.host.settings.replacesSearch)return this.host.prefill(""),a.focus(),t.preventDefault(),t.stopPropagation();let d=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",f=s.closest(".open");if(i==="ArrowDown")n[Math.min(l+1,n.length-1)]?.focus();else if(i==="ArrowUp"&&s!==a)(n[l-1]??a).focus();else if(i==="Enter"&&s===a)this.#s?this.#s.click():this.#n=this.#e;else if(i===d&&l>=0&&!f)n[l].closest("li").querySelector(".peek")?.click();else{l>=0&&!f&&/^[^\s]$/u.test(i)&&a.focus();return}t.preventDefault(),t.stopPropagation()};#l(){this.#s?.closest("li")?.classList.toggle("current",this.#i&&this.host.shadowRoot.activeElement?.localName==="textarea")}#u(t,i){let{site:s}=this.#t.finder.source,o=i.slice(0,5).map(({path:c,page:p})=>`- ${c.join(" › ")}: ${s.url}${p.markdown}`),e={site:s.name,question:t,llms:`${s.url}llms.txt`,sections:o.join(`
`)};return m(this.words.promptText,e)}};export{y as View};
