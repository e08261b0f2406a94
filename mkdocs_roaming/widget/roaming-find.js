import{SEND_KEY as T,adopt as L,el as a,fill as m,icon as R,namedIcon as C}from"./roaming-ask.js";import{findMatches as z}from"./roaming-finder.js";import{Library as O}from"./roaming-library.js";import{copier as A}from"./roaming-tools.js";var N={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",topPages:"Start here",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

Its pages are listed at {llms}. Read these sections first, and cite the ones you use by their address:

{sections}
`},b=8,y=20,$=`
.found > p { margin-block: 12px 0 }
.found > .count { margin-block: 0 8px; font-size: .8em; line-height: 1.334; font-weight: 700; color: var(--_muted) }
.hits { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.hit + .hit { border-block-start: 1px solid var(--_line) }
.row-of-hit { position: relative; display: grid; grid-template-columns: minmax(0, 1fr) 32px; gap: 0 8px; align-items: center;
  padding-block: 12px; padding-inline: 16px 8px; transition: background .12s }
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
.asks .pick { background: var(--_tint); font-size: .9333em; font-weight: 700 }
.asks .pick:is(:hover, :focus-visible, .current > *) { background: var(--_mark) }
.asks .icon { color: var(--_accent) }
.asks kbd { font-size: .8571em; font-weight: 400 }
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
`,v=class{#t;#n;#e;#o;#s;#r;constructor(t,i){Object.assign(this,{host:t,into:i}),this.#t=new O(t),i.className="found",L(t.shadowRoot,$);let e=(r,...h)=>a("span",{},...h.map(d=>a("kbd",{},d)),this.words[r]),o=t.matches(":dir(rtl)")?"←":"→",s=[e("keyMove","↑","↓"),e("keyOpen","↵"),e("keyRead",o),e("keyClose","Esc")];this.panel.append(a("div",{class:"keys","aria-hidden":"true"},...s)),this.panel.addEventListener("keydown",this.#u,!0);for(let r of["focusin","focusout"])this.panel.addEventListener(r,()=>this.#l())}get words(){return{...N,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#i(){return this.panel.classList.contains("finder")}async list(t,i){let{words:e,host:o,into:s}=this,r=this.#t,{path:h,manifest:d}=o.settings.page,l=!t.trim(),n=JSON.stringify([t,i,this.#i,d,l&&h]);if(n===this.#e)return;this.#e=n,clearTimeout(this.#o),this.#s=void 0;let c=i&&!l?[this.#h(t.trim())]:[],f=(...w)=>{if(n!==this.#e)return!1;s.contains(o.shadowRoot.activeElement)&&this.panel.querySelector("textarea").focus(),s.replaceChildren(...c,...w)},p=w=>f(l?"":a("p",{class:"muted"},w));if(l&&!this.#i)return f();let g=r.finder,u=[],k;try{if(g||p(e.loading),await(this.#n??=r.open().finally(()=>this.#n=void 0)),r.isLarge)return p(m(e.many,{n:r.finder.count}));l||(u=await r.finder.find(t)),u.length&&(k=await r.finder.asked(t))}catch{p(e.unread),n===this.#e&&(this.#e=void 0);return}let{sections:_,source:S}=r.finder;if(r.finder!==g&&o._emit("outline",{sections:_.length,digest:S.digest}),l)return f(...this.#d(h));let x=u.length?m(e.results,{n:u.length}):e.none,E=a("p",{class:"row"},A(e.prompt,()=>this.#g(t.trim(),u),o)),M=u.length?this.#p(u,k):[a("p",{class:"muted"},x)];f(...M,E)!==!1&&(this.#s=s.querySelector(".hits a")??s.querySelector(".pick"),this.#l(),this.#r===n&&this.#s?.click(),this.#o=setTimeout(()=>o._say(x),600))}#h(t){let i=()=>this.host.ask(t),e=a("span",{},m(this.words.askRow,{query:t})),o=a("button",{class:"pick",onclick:i},C("ask"),e,a("kbd",{},T));return a("ul",{class:"rows asks"},a("li",{},o))}#d(t){let{words:i}=this,{sections:e}=this.#t.finder,o=e.filter(({page:n,parent:c})=>n.path&&!c),s=new Map;for(let n of o)s.set(n.page.above[0]??n,s.get(n.page.above[0])??n);let r=[...new Set([...s.values(),...o])].slice(0,b),h=e.filter(({page:n,parent:c})=>t&&n.path===t&&c&&!c.parent),d=h.length?h.slice(0,b):o.filter(n=>r.includes(n));return d.length?[a("h3",{class:"label"},h.length?i.onThisPage:i.topPages),a("ul",{class:"hits start",role:"list"},...d.map(n=>this.#a(n)))]:[]}#p(t,i){let{words:e}=this,o=a("p",{class:"count"}),s=a("ul",{class:"hits",role:"list"}),h=a("button",{onclick:()=>{let n=s.children.length;l(y),s.children[n].querySelector("a")?.focus()}}),d=a("p",{},h),l=n=>{let c=s.children.length;s.append(...t.slice(c,c+n).map(g=>this.#a(g,i)));let f=t.length-s.children.length,p={n:t.length,shown:s.children.length};o.textContent=this.#i?m(f?e.best:e.results,p):e.meanwhile,h.textContent=m(e.more,{n:Math.min(f,y)}),d.hidden=!f};return l(b),[o,s,d]}#a(t,i){let{words:e,host:o}=this,{title:s,path:r,opening:h,parent:d}=t,l=this.#t.address(t),n=o.settings.anchor({url:l},"");n.append(...i?this.#c(s,i):[s]);let c=a("div",{class:"open answer",hidden:!0}),f=m(e.peek,{title:s}),p=a("button",{class:"peek","aria-expanded":"false","aria-label":f});p.append(R("m9 6 6 6-6 6")),p.addEventListener("click",()=>{c.hidden=!c.hidden,p.ariaExpanded=`${!c.hidden}`,!c.hidden&&!c.firstChild&&this.#f(t,l,c)});let g=(i||!d)&&a("p",{class:"crumb"},r.slice(0,-1).join(" › ")),u=i&&a("p",{class:"snippet"},...this.#c(h,i)),k=a("div",{},g,a("h3",{},n),u);return a("li",{class:"hit",part:"trail-item"},a("div",{class:"row-of-hit"},k,p),c)}#c(t,i){let e=[],o=0;for(let[s,r]of z(t,i,this.#t.finder.language))e.push(t.slice(o,s),a("mark",{},t.slice(s,r))),o=r;return[...e,t.slice(o)].filter(Boolean)}async#f(t,i,e){let{words:o,host:s}=this,{id:r,title:h,path:d,tokens:l}=t;s._emit("section",{id:r,title:h,path:d,url:i,tokens:l,state:"open"}),e.append(o.loading);let n=import("./roaming-markdown.js"),c=await this.#t.text(t).catch(()=>o.unread),{Markdown:f}=await n;e.replaceChildren(),new f(e,{link:s.settings.link,words:o,root:s.shadowRoot,say:p=>s._say(p)}).push(`${c}

`),e.append(a("p",{},s.settings.anchor({url:i},o.page))),s._emit("section",{id:r,title:h,path:d,url:i,tokens:l,state:"read"})}#u=t=>{let{key:i,target:e,isComposing:o,ctrlKey:s,metaKey:r,altKey:h,shiftKey:d}=t;if(!this.#i||o||s||r||h||d)return;let l=this.panel.querySelector("textarea"),n=[...this.into.querySelectorAll(".pick, .row-of-hit h3 > a")],c=n.findIndex(g=>g.closest("li").contains(e));if(e!==l&&c<0)return;if(i==="Escape"&&l.value&&!this.host.settings.replacesSearch)return this.host.prefill(""),l.focus(),t.preventDefault(),t.stopPropagation();let f=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",p=e.closest(".open");if(i==="ArrowDown")n[Math.min(c+1,n.length-1)]?.focus();else if(i==="ArrowUp"&&e!==l)(n[c-1]??l).focus();else if(i==="Enter"&&e===l)this.#s?this.#s.click():this.#r=this.#e;else if(i===f&&c>=0&&!p)n[c].closest("li").querySelector(".peek")?.click();else{c>=0&&!p&&/^[^\s]$/u.test(i)&&l.focus();return}t.preventDefault(),t.stopPropagation()};#l(){this.#s?.closest("li")?.classList.toggle("current",this.#i&&this.host.shadowRoot.activeElement?.localName==="textarea")}#g(t,i){let{site:e}=this.#t.finder.source,o=i.slice(0,5).map(({path:r,page:h})=>`- ${r.join(" › ")}: ${e.url}${h.markdown}`),s={site:e.name,question:t,llms:`${e.url}llms.txt`,sections:o.join(`
`)};return m(this.words.promptText,s)}};export{v as View};
