import{SEND_KEY as L,adopt as O,el as r,fill as g,icon as A,namedIcon as C}from"./roaming-ask.js";import{findMatches as N}from"./roaming-finder.js";import{Library as P}from"./roaming-library.js";import{copier as z}from"./roaming-tools.js";var $={results:"{n} section found|{n} sections found",best:"Best {shown} of {n} sections",meanwhile:"Meanwhile, in these docs",more:"Show {n} more",none:"Nothing found. Try other words.",many:"This site has {n} sections: too many to search here. Use the search of the site.",unread:"This cannot be read at the moment.",loading:"Loading…",page:"Open the page",peek:"Read “{title}” here",keyMove:"move",keyOpen:"open",keyRead:"read here",keyClose:"close",topPages:"Start here",prompt:"Copy a prompt for your own AI",promptText:`Answer this question from the documentation of {site}: {question}

Its pages are listed at {llms}. Read these sections first, and cite the ones you use by their address:

{sections}
`},I=5,y=8,v=20,K=3,U=600,j=`
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
`,_=class{#e;#t;#o;#s;#n;constructor(t,o){Object.assign(this,{host:t,into:o}),this.#e=new P(t),o.className="found",O(t.shadowRoot,j);let i=(a,...c)=>r("span",{},...c.map(p=>r("kbd",{},p)),this.words[a]),n=t.matches(":dir(rtl)")?"←":"→",s=[i("keyMove","↑","↓"),i("keyOpen","↵"),i("keyRead",n),...this.host.isInline?[]:[i("keyClose","Esc")]];this.panel.append(r("div",{class:"keys","aria-hidden":"true"},...s)),this.panel.addEventListener("keydown",this.#u,!0);for(let a of["focusin","focusout"])this.panel.addEventListener(a,()=>this.#c())}get words(){return{...$,...this.host.settings.words}}get panel(){return this.into.closest("dialog")}get#i(){return this.panel.classList.contains("finder")}async list(t,o,i){let{words:n,host:s,into:a}=this,c=this.#e,{path:p,manifest:d}=s.settings.page,l=!t.trim(),e=JSON.stringify([t,o,i,this.#i,d,l&&p]);if(e===this.#t)return;this.#t=e,clearTimeout(this.#o),this.#s=void 0;let h=o&&!l?[this.#l(t.trim())]:[],f=(...x)=>{if(e!==this.#t)return!1;a.contains(s.shadowRoot.activeElement)&&this.panel.querySelector("textarea").focus(),a.replaceChildren(...h,...x)},u=x=>f(l?"":r("p",{class:"muted"},x));if(l&&!this.#i&&!i)return f();let w=c.finder,m=[],k;try{if(w||u(n.loading),l?await c.open():m=await c.find(t),c.isLarge)return u(g(n.many,{n:c.finder.count}));m.length&&(k=await c.finder.asked(t))}catch{u(n.unread),e===this.#t&&(this.#t=void 0);return}let{sections:S,source:E}=c.finder;if(c.finder!==w&&!i&&s._emit("outline",{sections:S.length,digest:E.digest}),l)return f(...this.#h(p));let b=m.length?g(n.results,{n:m.length}):n.none,M=r("p",{class:"row"},z(n.prompt,()=>this.#m(t.trim(),m),s)),R=m.length?this.#p(m,k):[r("p",{class:"muted"},b)];if(f(...R,M)===!1)return;this.#s=a.querySelector(".hits a")??a.querySelector(".pick"),this.#c(),this.#n===e&&this.#s?.click();let T=()=>{s._say(b),this.#d(m,k).catch(()=>{})};this.#o=setTimeout(T,U),!(!await c.understand(t).catch(()=>!1)||e!==this.#t||a.contains(s.shadowRoot.activeElement))&&(this.#t=void 0,await this.list(t,o,i))}#l(t){let o=()=>this.host.ask(t),i=r("span",{},g(this.words.askRow,{query:t})),n=r("button",{class:"pick",onclick:o},C("ask"),i,r("kbd",{},L));return r("ul",{class:"rows asks"},r("li",{},n))}#h(t){let{words:o}=this,{sections:i}=this.#e.finder,n=i.filter(({page:e,parent:h})=>e.path&&!h),s=new Map;for(let e of n)s.set(e.page.above[0]??e,s.get(e.page.above[0])??e);let a=this.#i?y:I,c=[...new Set([...s.values(),...n])].slice(0,a),p=i.filter(({page:e,parent:h})=>t&&e.path===t&&h&&!h.parent),d=p.length?p.slice(0,a):n.filter(e=>c.includes(e));return d.length?[r("h3",{class:"label"},p.length?o.onThisPage:o.topPages),r("ul",{class:"hits start",role:"list"},...d.map(e=>this.#r(e)))]:[]}#p(t,o){let{words:i}=this,n=r("p",{class:"count"}),s=r("ul",{class:"hits",role:"list"}),c=r("button",{onclick:()=>{let l=s.children.length;d(v),s.children[l].querySelector("a")?.focus()}}),p=r("p",{},c),d=l=>{let e=s.children.length;s.append(...t.slice(e,e+l).map(u=>this.#r(u,o)));let h=t.length-s.children.length,f={n:t.length,shown:s.children.length};n.textContent=this.#i?g(h?i.best:i.results,f):i.meanwhile,c.textContent=g(i.more,{n:Math.min(h,v)}),p.hidden=!h};return d(y),[n,s,p]}#r(t,o){let{words:i,host:n}=this,{title:s,path:a,opening:c,parent:p}=t,d=this.#e.address(t),l=n.settings.anchor({url:d},"");l.append(...o?this.#a(s,o):[s]);let e=r("div",{class:"open answer",hidden:!0}),h=g(i.peek,{title:s}),f=r("button",{class:"peek","aria-expanded":"false","aria-label":h});f.append(A("m9 6 6 6-6 6")),f.addEventListener("click",()=>{e.hidden=!e.hidden,f.ariaExpanded=`${!e.hidden}`,!e.hidden&&!e.firstChild&&this.#f(t,d,e)});let u=(o||!p)&&r("p",{class:"crumb"},a.slice(0,-1).join(" › ")),w=o&&r("p",{class:"snippet"},...this.#a(c,o)),m=r("div",{},u,r("h3",{},l),w);return r("li",{class:"hit",part:"trail-item"},r("div",{class:"row-of-hit"},m,f),e)}async#d(t,o){let{into:i,words:n,host:s}=this,a=this.#t,c=t.slice(0,K),[{Markdown:p},{cut:d},...l]=await Promise.all([import("./roaming-markdown.js"),import("./roaming-excerpt.js"),...c.map(h=>this.#e.text(h,{subsections:!1}).catch(()=>""))]),e=i.querySelectorAll(".hits > li");for(let[h,f]of l.entries()){if(a!==this.#t||!e[h]||!f.trim())continue;let u=r("div",{class:"passage answer"});e[h].querySelector(".row-of-hit").after(u),e[h].querySelector(".snippet").hidden=!0,new p(u,{link:s.settings.link,words:n,root:s.shadowRoot,say:w=>s._say(w)}).push(`${f}

`),d(u,o,h)}}#a(t,o){let i=[],n=0;for(let[s,a]of N(t,o))i.push(t.slice(n,s),r("mark",{},t.slice(s,a))),n=a;return[...i,t.slice(n)].filter(Boolean)}async#f(t,o,i){let{words:n,host:s}=this,{id:a,title:c,path:p}=t;s._emit("section",{id:a,title:c,path:p,url:o,state:"open"}),i.append(n.loading);let d=import("./roaming-markdown.js"),l=await this.#e.text(t).catch(()=>n.unread),{Markdown:e}=await d;i.replaceChildren(),new e(i,{link:s.settings.link,words:n,root:s.shadowRoot,say:h=>s._say(h)}).push(`${l}

`),i.append(r("p",{},s.settings.anchor({url:o},n.page))),s._emit("section",{id:a,title:c,path:p,url:o,state:"read"})}#u=t=>{let{key:o,target:i,isComposing:n,ctrlKey:s,metaKey:a,altKey:c,shiftKey:p}=t;if(!this.#i||n||s||a||c||p)return;let d=this.panel.querySelector("textarea"),l=[...this.into.querySelectorAll(".pick, .row-of-hit h3 > a")],e=l.findIndex(u=>u.closest("li").contains(i));if(i!==d&&e<0)return;if(o==="Escape"&&d.value&&!this.host.settings.replacesSearch)return this.host.prefill(""),d.focus(),t.preventDefault(),t.stopPropagation();let h=this.host.matches(":dir(rtl)")?"ArrowLeft":"ArrowRight",f=i.closest(".open, .passage");if(o==="ArrowDown")l[Math.min(e+1,l.length-1)]?.focus();else if(o==="ArrowUp"&&i!==d)(l[e-1]??d).focus();else if(o==="Enter"&&i===d)this.#s?this.#s.click():this.#n=this.#t;else if(o===h&&e>=0&&!f)l[e].closest("li").querySelector(".peek")?.click();else{e>=0&&!f&&/^[^\s]$/u.test(o)&&d.focus();return}t.preventDefault(),t.stopPropagation()};#c(){this.#s?.closest("li")?.classList.toggle("current",this.#i&&this.host.shadowRoot.activeElement?.localName==="textarea")}#m(t,o){let{site:i}=this.#e.finder.source,n=new URL(i.url,this.host.settings.page.base).href,s=o.slice(0,5).map(({path:c,page:p})=>`- ${c.join(" › ")}: ${n}${p.markdown}`),a={site:i.name,question:t,llms:`${n}llms.txt`,sections:s.join(`
`)};return g(this.words.promptText,a)}};export{_ as View};
