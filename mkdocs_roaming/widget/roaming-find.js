import{SEND_KEY as R,adopt as A,el as c,fill as g,icon as L,namedIcon as C}from"./roaming-ask.js";import{findMatches as P}from"./roaming-finder.js";import{Library as z}from"./roaming-library.js";import{copier as O}from"./roaming-tools.js";var $={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",topPages:"Start here",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

Its pages are listed at {llms}. Read these sections first, and cite the ones you use by their address:

{sections}
`},x=8,y=20,N=3,q=600,I=`
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
.passage { padding: 4px 16px 12px; font-size: .8667em }
.hit:has(.peek[aria-expanded=true]) .passage { display: none }
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
`,v=class{#e;#t;#i;#s;#n;constructor(t,o){Object.assign(this,{host:t,into:o}),this.#e=new z(t),o.className="found",A(t.shadowRoot,I);let e=(a,...h)=>c("span",{},...h.map(d=>c("kbd",{},d)),this.words[a]),n=t.matches(":dir(rtl)")?"←":"→",s=[e("keyMove","↑","↓"),e("keyOpen","↵"),e("keyRead",n),e("keyClose","Esc")];this.panel.append(c("div",{class:"keys","aria-hidden":"true"},...s)),this.panel.addEventListener("keydown",this.#u,!0);for(let a of["focusin","focusout"])this.panel.addEventListener(a,()=>this.#c())}get words(){return{...$,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#o(){return this.panel.classList.contains("finder")}async list(t,o){let{words:e,host:n,into:s}=this,a=this.#e,{path:h,manifest:d}=n.settings.page,l=!t.trim(),i=JSON.stringify([t,o,this.#o,d,l&&h]);if(i===this.#t)return;this.#t=i,clearTimeout(this.#i),this.#s=void 0;let r=o&&!l?[this.#l(t.trim())]:[],p=(...w)=>{if(i!==this.#t)return!1;s.contains(n.shadowRoot.activeElement)&&this.panel.querySelector("textarea").focus(),s.replaceChildren(...r,...w)},f=w=>p(l?"":c("p",{class:"muted"},w));if(l&&!this.#o)return p();let u=a.finder,m=[],k;try{if(u||f(e.loading),l?await a.open():m=await a.find(t),a.isLarge)return f(g(e.many,{n:a.finder.count}));m.length&&(k=await a.finder.asked(t))}catch{f(e.unread),i===this.#t&&(this.#t=void 0);return}let{sections:_,source:S}=a.finder;if(a.finder!==u&&n._emit("outline",{sections:_.length,digest:S.digest}),l)return p(...this.#h(h));let b=m.length?g(e.results,{n:m.length}):e.none,E=c("p",{class:"row"},O(e.prompt,()=>this.#m(t.trim(),m),n)),M=m.length?this.#p(m,k):[c("p",{class:"muted"},b)];if(p(...M,E)===!1)return;this.#s=s.querySelector(".hits a")??s.querySelector(".pick"),this.#c(),this.#n===i&&this.#s?.click();let T=()=>{n._say(b),this.#d(m,k).catch(()=>{})};this.#i=setTimeout(T,q)}#l(t){let o=()=>this.host.ask(t),e=c("span",{},g(this.words.askRow,{query:t})),n=c("button",{class:"pick",onclick:o},C("ask"),e,c("kbd",{},R));return c("ul",{class:"rows asks"},c("li",{},n))}#h(t){let{words:o}=this,{sections:e}=this.#e.finder,n=e.filter(({page:i,parent:r})=>i.path&&!r),s=new Map;for(let i of n)s.set(i.page.above[0]??i,s.get(i.page.above[0])??i);let a=[...new Set([...s.values(),...n])].slice(0,x),h=e.filter(({page:i,parent:r})=>t&&i.path===t&&r&&!r.parent),d=h.length?h.slice(0,x):n.filter(i=>a.includes(i));return d.length?[c("h3",{class:"label"},h.length?o.onThisPage:o.topPages),c("ul",{class:"hits start",role:"list"},...d.map(i=>this.#r(i)))]:[]}#p(t,o){let{words:e}=this,n=c("p",{class:"count"}),s=c("ul",{class:"hits",role:"list"}),h=c("button",{onclick:()=>{let i=s.children.length;l(y),s.children[i].querySelector("a")?.focus()}}),d=c("p",{},h),l=i=>{let r=s.children.length;s.append(...t.slice(r,r+i).map(u=>this.#r(u,o)));let p=t.length-s.children.length,f={n:t.length,shown:s.children.length};n.textContent=this.#o?g(p?e.best:e.results,f):e.meanwhile,h.textContent=g(e.more,{n:Math.min(p,y)}),d.hidden=!p};return l(x),[n,s,d]}#r(t,o){let{words:e,host:n}=this,{title:s,path:a,opening:h,parent:d}=t,l=this.#e.address(t),i=n.settings.anchor({url:l},"");i.append(...o?this.#a(s,o):[s]);let r=c("div",{class:"open answer",hidden:!0}),p=g(e.peek,{title:s}),f=c("button",{class:"peek","aria-expanded":"false","aria-label":p});f.append(L("m9 6 6 6-6 6")),f.addEventListener("click",()=>{r.hidden=!r.hidden,f.ariaExpanded=`${!r.hidden}`,!r.hidden&&!r.firstChild&&this.#f(t,l,r)});let u=(o||!d)&&c("p",{class:"crumb"},a.slice(0,-1).join(" › ")),m=o&&c("p",{class:"snippet"},...this.#a(h,o)),k=c("div",{},u,c("h3",{},i),m);return c("li",{class:"hit",part:"trail-item"},c("div",{class:"row-of-hit"},k,f),r)}async#d(t,o){let{into:e,words:n,host:s}=this,a=this.#t,h=t.slice(0,N),[{Markdown:d},{cut:l},...i]=await Promise.all([import("./roaming-markdown.js"),import("./roaming-excerpt.js"),...h.map(p=>this.#e.text(p,{subsections:!1}).catch(()=>""))]),r=e.querySelectorAll(".hits > li");for(let[p,f]of i.entries()){if(a!==this.#t||!r[p]||!f.trim())continue;let u=c("div",{class:"passage answer"});r[p].querySelector(".row-of-hit").after(u),r[p].querySelector(".snippet").hidden=!0,new d(u,{link:s.settings.link,words:n,root:s.shadowRoot,say:m=>s._say(m)}).push(`${f}

`),l(u,o,p)}}#a(t,o){let e=[],n=0;for(let[s,a]of P(t,o))e.push(t.slice(n,s),c("mark",{},t.slice(s,a))),n=a;return[...e,t.slice(n)].filter(Boolean)}async#f(t,o,e){let{words:n,host:s}=this,{id:a,title:h,path:d}=t;s._emit("section",{id:a,title:h,path:d,url:o,state:"open"}),e.append(n.loading);let l=import("./roaming-markdown.js"),i=await this.#e.text(t).catch(()=>n.unread),{Markdown:r}=await l;e.replaceChildren(),new r(e,{link:s.settings.link,words:n,root:s.shadowRoot,say:p=>s._say(p)}).push(`${i}

`),e.append(c("p",{},s.settings.anchor({url:o},n.page))),s._emit("section",{id:a,title:h,path:d,url:o,state:"read"})}#u=t=>{let{key:o,target:e,isComposing:n,ctrlKey:s,metaKey:a,altKey:h,shiftKey:d}=t;if(!this.#o||n||s||a||h||d)return;let l=this.panel.querySelector("textarea"),i=[...this.into.querySelectorAll(".pick, .row-of-hit h3 > a")],r=i.findIndex(u=>u.closest("li").contains(e));if(e!==l&&r<0)return;if(o==="Escape"&&l.value&&!this.host.settings.replacesSearch)return this.host.prefill(""),l.focus(),t.preventDefault(),t.stopPropagation();let p=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",f=e.closest(".open, .passage");if(o==="ArrowDown")i[Math.min(r+1,i.length-1)]?.focus();else if(o==="ArrowUp"&&e!==l)(i[r-1]??l).focus();else if(o==="Enter"&&e===l)this.#s?this.#s.click():this.#n=this.#t;else if(o===p&&r>=0&&!f)i[r].closest("li").querySelector(".peek")?.click();else{r>=0&&!f&&/^[^\s]$/u.test(o)&&l.focus();return}t.preventDefault(),t.stopPropagation()};#c(){this.#s?.closest("li")?.classList.toggle("current",this.#o&&this.host.shadowRoot.activeElement?.localName==="textarea")}#m(t,o){let{site:e}=this.#e.finder.source,n=o.slice(0,5).map(({path:a,page:h})=>`- ${a.join(" › ")}: ${e.url}${h.markdown}`),s={site:e.name,question:t,llms:`${e.url}llms.txt`,sections:n.join(`
`)};return g(this.words.promptText,s)}};export{v as View};
