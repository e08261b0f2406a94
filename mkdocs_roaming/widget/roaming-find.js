import{SEND_KEY as A,adopt as L,el as c,fill as g,icon as C,namedIcon as P}from"./roaming-ask.js";import{findMatches as z}from"./roaming-finder.js";import{Library as O}from"./roaming-library.js";import{copier as $}from"./roaming-tools.js";var N={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",topPages:"Start here",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

Its pages are listed at {llms}. Read these sections first, and cite the ones you use by their address:

{sections}
`},b=8,v=20,q=3,I=600,K=`
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
`,_=class{#e;#t;#i;#s;#n;constructor(t,i){Object.assign(this,{host:t,into:i}),this.#e=new O(t),i.className="found",L(t.shadowRoot,K);let s=(l,...a)=>c("span",{},...a.map(p=>c("kbd",{},p)),this.words[l]),n=t.matches(":dir(rtl)")?"←":"→",e=[s("keyMove","↑","↓"),s("keyOpen","↵"),s("keyRead",n),s("keyClose","Esc")];this.panel.append(c("div",{class:"keys","aria-hidden":"true"},...e)),this.panel.addEventListener("keydown",this.#u,!0);for(let l of["focusin","focusout"])this.panel.addEventListener(l,()=>this.#c())}get words(){return{...N,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#o(){return this.panel.classList.contains("finder")}async list(t,i,s){let{words:n,host:e,into:l}=this,a=this.#e,{path:p,manifest:h}=e.settings.page,o=!t.trim(),r=JSON.stringify([t,i,s,this.#o,h,o&&p]);if(r===this.#t)return;this.#t=r,clearTimeout(this.#i),this.#s=void 0;let d=i&&!o?[this.#l(t.trim())]:[],f=(...x)=>{if(r!==this.#t)return!1;l.contains(e.shadowRoot.activeElement)&&this.panel.querySelector("textarea").focus(),l.replaceChildren(...d,...x)},u=x=>f(o?"":c("p",{class:"muted"},x));if(o&&!this.#o&&!s)return f();let k=a.finder,m=[],w;try{if(k||u(n.loading),o?await a.open():m=await a.find(t),a.isLarge)return u(g(n.many,{n:a.finder.count}));m.length&&(w=await a.finder.asked(t))}catch{u(n.unread),r===this.#t&&(this.#t=void 0);return}let{sections:S,source:E}=a.finder;if(a.finder!==k&&!s&&e._emit("outline",{sections:S.length,digest:E.digest}),o)return f(...this.#h(p));let y=m.length?g(n.results,{n:m.length}):n.none,M=c("p",{class:"row"},$(n.prompt,()=>this.#m(t.trim(),m),e)),T=m.length?this.#p(m,w):[c("p",{class:"muted"},y)];if(f(...T,M)===!1)return;this.#s=l.querySelector(".hits a")??l.querySelector(".pick"),this.#c(),this.#n===r&&this.#s?.click();let R=()=>{e._say(y),this.#d(m,w).catch(()=>{})};this.#i=setTimeout(R,I)}#l(t){let i=()=>this.host.ask(t),s=c("span",{},g(this.words.askRow,{query:t})),n=c("button",{class:"pick",onclick:i},P("ask"),s,c("kbd",{},A));return c("ul",{class:"rows asks"},c("li",{},n))}#h(t){let{words:i}=this,{sections:s}=this.#e.finder,n=s.filter(({page:o,parent:r})=>o.path&&!r),e=new Map;for(let o of n)e.set(o.page.above[0]??o,e.get(o.page.above[0])??o);let l=[...new Set([...e.values(),...n])].slice(0,b),a=s.filter(({page:o,parent:r})=>t&&o.path===t&&r&&!r.parent),p=a.length?a.slice(0,b):n.filter(o=>l.includes(o));return p.length?[c("h3",{class:"label"},a.length?i.onThisPage:i.topPages),c("ul",{class:"hits start",role:"list"},...p.map(o=>this.#r(o)))]:[]}#p(t,i){let{words:s}=this,n=c("p",{class:"count"}),e=c("ul",{class:"hits",role:"list"}),a=c("button",{onclick:()=>{let o=e.children.length;h(v),e.children[o].querySelector("a")?.focus()}}),p=c("p",{},a),h=o=>{let r=e.children.length;e.append(...t.slice(r,r+o).map(u=>this.#r(u,i)));let d=t.length-e.children.length,f={n:t.length,shown:e.children.length};n.textContent=this.#o?g(d?s.best:s.results,f):s.meanwhile,a.textContent=g(s.more,{n:Math.min(d,v)}),p.hidden=!d};return h(b),[n,e,p]}#r(t,i){let{words:s,host:n}=this,{title:e,path:l,opening:a,parent:p}=t,h=this.#e.address(t),o=n.settings.anchor({url:h},"");o.append(...i?this.#a(e,i):[e]);let r=c("div",{class:"open answer",hidden:!0}),d=g(s.peek,{title:e}),f=c("button",{class:"peek","aria-expanded":"false","aria-label":d});f.append(C("m9 6 6 6-6 6")),f.addEventListener("click",()=>{r.hidden=!r.hidden,f.ariaExpanded=`${!r.hidden}`,!r.hidden&&!r.firstChild&&this.#f(t,h,r)});let u=(i||!p)&&c("p",{class:"crumb"},l.slice(0,-1).join(" › ")),k=i&&c("p",{class:"snippet"},...this.#a(a,i)),m=c("div",{},u,c("h3",{},o),k);return c("li",{class:"hit",part:"trail-item"},c("div",{class:"row-of-hit"},m,f),r)}async#d(t,i){let{into:s,words:n,host:e}=this,l=this.#t,a=t.slice(0,q),[{Markdown:p},{cut:h},...o]=await Promise.all([import("./roaming-markdown.js"),import("./roaming-excerpt.js"),...a.map(d=>this.#e.text(d,{subsections:!1}).catch(()=>""))]),r=s.querySelectorAll(".hits > li");for(let[d,f]of o.entries()){if(l!==this.#t||!r[d]||!f.trim())continue;let u=c("div",{class:"passage answer"});r[d].querySelector(".row-of-hit").after(u),r[d].querySelector(".snippet").hidden=!0,new p(u,{link:e.settings.link,words:n,root:e.shadowRoot,say:k=>e._say(k)}).push(`${f}

`),h(u,i,d)}}#a(t,i){let s=[],n=0;for(let[e,l]of z(t,i))s.push(t.slice(n,e),c("mark",{},t.slice(e,l))),n=l;return[...s,t.slice(n)].filter(Boolean)}async#f(t,i,s){let{words:n,host:e}=this,{id:l,title:a,path:p}=t;e._emit("section",{id:l,title:a,path:p,url:i,state:"open"}),s.append(n.loading);let h=import("./roaming-markdown.js"),o=await this.#e.text(t).catch(()=>n.unread),{Markdown:r}=await h;s.replaceChildren(),new r(s,{link:e.settings.link,words:n,root:e.shadowRoot,say:d=>e._say(d)}).push(`${o}

`),s.append(c("p",{},e.settings.anchor({url:i},n.page))),e._emit("section",{id:l,title:a,path:p,url:i,state:"read"})}#u=t=>{let{key:i,target:s,isComposing:n,ctrlKey:e,metaKey:l,altKey:a,shiftKey:p}=t;if(!this.#o||n||e||l||a||p)return;let h=this.panel.querySelector("textarea"),o=[...this.into.querySelectorAll(".pick, .row-of-hit h3 > a")],r=o.findIndex(u=>u.closest("li").contains(s));if(s!==h&&r<0)return;if(i==="Escape"&&h.value&&!this.host.settings.replacesSearch)return this.host.prefill(""),h.focus(),t.preventDefault(),t.stopPropagation();let d=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",f=s.closest(".open, .passage");if(i==="ArrowDown")o[Math.min(r+1,o.length-1)]?.focus();else if(i==="ArrowUp"&&s!==h)(o[r-1]??h).focus();else if(i==="Enter"&&s===h)this.#s?this.#s.click():this.#n=this.#t;else if(i===d&&r>=0&&!f)o[r].closest("li").querySelector(".peek")?.click();else{r>=0&&!f&&/^[^\s]$/u.test(i)&&h.focus();return}t.preventDefault(),t.stopPropagation()};#c(){this.#s?.closest("li")?.classList.toggle("current",this.#o&&this.host.shadowRoot.activeElement?.localName==="textarea")}#m(t,i){let{site:s}=this.#e.finder.source,n=i.slice(0,5).map(({path:l,page:a})=>`- ${l.join(" › ")}: ${s.url}${a.markdown}`),e={site:s.name,question:t,llms:`${s.url}llms.txt`,sections:n.join(`
`)};return g(this.words.promptText,e)}};export{_ as View};
