import{SEND_KEY as T,adopt as L,el as a,fill as g,icon as R,namedIcon as C}from"./roaming-ask.js";import{findMatches as z}from"./roaming-finder.js";import{Library as O}from"./roaming-library.js";import{copier as A}from"./roaming-tools.js";var N={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",topPages:"Start here",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

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
`,v=class{#t;#e;#o;#s;#n;constructor(t,i){Object.assign(this,{host:t,into:i}),this.#t=new O(t),i.className="found",L(t.shadowRoot,$);let e=(r,...h)=>a("span",{},...h.map(d=>a("kbd",{},d)),this.words[r]),n=t.matches(":dir(rtl)")?"←":"→",s=[e("keyMove","↑","↓"),e("keyOpen","↵"),e("keyRead",n),e("keyClose","Esc")];this.panel.append(a("div",{class:"keys","aria-hidden":"true"},...s)),this.panel.addEventListener("keydown",this.#f,!0);for(let r of["focusin","focusout"])this.panel.addEventListener(r,()=>this.#c())}get words(){return{...N,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#i(){return this.panel.classList.contains("finder")}async list(t,i){let{words:e,host:n,into:s}=this,r=this.#t,{path:h,manifest:d}=n.settings.page,l=!t.trim(),o=JSON.stringify([t,i,this.#i,d,l&&h]);if(o===this.#e)return;this.#e=o,clearTimeout(this.#o),this.#s=void 0;let c=i&&!l?[this.#l(t.trim())]:[],p=(...w)=>{if(o!==this.#e)return!1;s.contains(n.shadowRoot.activeElement)&&this.panel.querySelector("textarea").focus(),s.replaceChildren(...c,...w)},f=w=>p(l?"":a("p",{class:"muted"},w));if(l&&!this.#i)return p();let m=r.finder,u=[],k;try{if(m||f(e.loading),await r.open(),r.isLarge)return f(g(e.many,{n:r.finder.count}));l||(u=await r.find(t)),u.length&&(k=await r.finder.asked(t))}catch{f(e.unread),o===this.#e&&(this.#e=void 0);return}let{sections:_,source:S}=r.finder;if(r.finder!==m&&n._emit("outline",{sections:_.length,digest:S.digest}),l)return p(...this.#h(h));let x=u.length?g(e.results,{n:u.length}):e.none,E=a("p",{class:"row"},A(e.prompt,()=>this.#u(t.trim(),u),n)),M=u.length?this.#d(u,k):[a("p",{class:"muted"},x)];p(...M,E)!==!1&&(this.#s=s.querySelector(".hits a")??s.querySelector(".pick"),this.#c(),this.#n===o&&this.#s?.click(),this.#o=setTimeout(()=>n._say(x),600))}#l(t){let i=()=>this.host.ask(t),e=a("span",{},g(this.words.askRow,{query:t})),n=a("button",{class:"pick",onclick:i},C("ask"),e,a("kbd",{},T));return a("ul",{class:"rows asks"},a("li",{},n))}#h(t){let{words:i}=this,{sections:e}=this.#t.finder,n=e.filter(({page:o,parent:c})=>o.path&&!c),s=new Map;for(let o of n)s.set(o.page.above[0]??o,s.get(o.page.above[0])??o);let r=[...new Set([...s.values(),...n])].slice(0,b),h=e.filter(({page:o,parent:c})=>t&&o.path===t&&c&&!c.parent),d=h.length?h.slice(0,b):n.filter(o=>r.includes(o));return d.length?[a("h3",{class:"label"},h.length?i.onThisPage:i.topPages),a("ul",{class:"hits start",role:"list"},...d.map(o=>this.#r(o)))]:[]}#d(t,i){let{words:e}=this,n=a("p",{class:"count"}),s=a("ul",{class:"hits",role:"list"}),h=a("button",{onclick:()=>{let o=s.children.length;l(y),s.children[o].querySelector("a")?.focus()}}),d=a("p",{},h),l=o=>{let c=s.children.length;s.append(...t.slice(c,c+o).map(m=>this.#r(m,i)));let p=t.length-s.children.length,f={n:t.length,shown:s.children.length};n.textContent=this.#i?g(p?e.best:e.results,f):e.meanwhile,h.textContent=g(e.more,{n:Math.min(p,y)}),d.hidden=!p};return l(b),[n,s,d]}#r(t,i){let{words:e,host:n}=this,{title:s,path:r,opening:h,parent:d}=t,l=this.#t.address(t),o=n.settings.anchor({url:l},"");o.append(...i?this.#a(s,i):[s]);let c=a("div",{class:"open answer",hidden:!0}),p=g(e.peek,{title:s}),f=a("button",{class:"peek","aria-expanded":"false","aria-label":p});f.append(R("m9 6 6 6-6 6")),f.addEventListener("click",()=>{c.hidden=!c.hidden,f.ariaExpanded=`${!c.hidden}`,!c.hidden&&!c.firstChild&&this.#p(t,l,c)});let m=(i||!d)&&a("p",{class:"crumb"},r.slice(0,-1).join(" › ")),u=i&&a("p",{class:"snippet"},...this.#a(h,i)),k=a("div",{},m,a("h3",{},o),u);return a("li",{class:"hit",part:"trail-item"},a("div",{class:"row-of-hit"},k,f),c)}#a(t,i){let e=[],n=0;for(let[s,r]of z(t,i))e.push(t.slice(n,s),a("mark",{},t.slice(s,r))),n=r;return[...e,t.slice(n)].filter(Boolean)}async#p(t,i,e){let{words:n,host:s}=this,{id:r,title:h,path:d}=t;s._emit("section",{id:r,title:h,path:d,url:i,state:"open"}),e.append(n.loading);let l=import("./roaming-markdown.js"),o=await this.#t.text(t).catch(()=>n.unread),{Markdown:c}=await l;e.replaceChildren(),new c(e,{link:s.settings.link,words:n,root:s.shadowRoot,say:p=>s._say(p)}).push(`${o}

`),e.append(a("p",{},s.settings.anchor({url:i},n.page))),s._emit("section",{id:r,title:h,path:d,url:i,state:"read"})}#f=t=>{let{key:i,target:e,isComposing:n,ctrlKey:s,metaKey:r,altKey:h,shiftKey:d}=t;if(!this.#i||n||s||r||h||d)return;let l=this.panel.querySelector("textarea"),o=[...this.into.querySelectorAll(".pick, .row-of-hit h3 > a")],c=o.findIndex(m=>m.closest("li").contains(e));if(e!==l&&c<0)return;if(i==="Escape"&&l.value&&!this.host.settings.replacesSearch)return this.host.prefill(""),l.focus(),t.preventDefault(),t.stopPropagation();let p=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",f=e.closest(".open");if(i==="ArrowDown")o[Math.min(c+1,o.length-1)]?.focus();else if(i==="ArrowUp"&&e!==l)(o[c-1]??l).focus();else if(i==="Enter"&&e===l)this.#s?this.#s.click():this.#n=this.#e;else if(i===p&&c>=0&&!f)o[c].closest("li").querySelector(".peek")?.click();else{c>=0&&!f&&/^[^\s]$/u.test(i)&&l.focus();return}t.preventDefault(),t.stopPropagation()};#c(){this.#s?.closest("li")?.classList.toggle("current",this.#i&&this.host.shadowRoot.activeElement?.localName==="textarea")}#u(t,i){let{site:e}=this.#t.finder.source,n=i.slice(0,5).map(({path:r,page:h})=>`- ${r.join(" › ")}: ${e.url}${h.markdown}`),s={site:e.name,question:t,llms:`${e.url}llms.txt`,sections:n.join(`
`)};return g(this.words.promptText,s)}};export{v as View};
