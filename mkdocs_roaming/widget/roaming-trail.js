import{adopt as y,el as r,fill as c,icon as _,namedIcon as m,plain as C,svg as u}from"./roaming-ask.js";import{TICK as z}from"./roaming-tools.js";var f={outlineOf:"Reading the outline · {n} section|Reading the outline · {n} sections",current:"Reading",progress:"{n} of {all} sections",opened:"Read {n} section|Read {n} sections",whole:"Read all {n} sections",counted:"{text}, cited {n}",useless:"{text}, none answers this",open:"reading",read:"read",cited:"cited",unused:"not used",missing:"not there",too_big:"too long"},p=24,M=`
summary { display: flex; align-items: center; gap: 8px; min-height: 32px; margin-inline: -8px; padding: 4px 8px;
  border-radius: 8px; font-size: .867em; line-height: 1.54; color: var(--_muted); list-style: none; cursor: pointer;
  transition: background .12s }
summary::-webkit-details-marker { display: none }
summary:hover { background: var(--_soft) }
.trail b { font-weight: 700; color: var(--_fg) }
.trail .counted { flex: 1 }
.trail time { font-variant-numeric: tabular-nums }
summary > .icon { width: 16px; height: 16px; transition: rotate .12s }
[open] > summary > .icon, [open] > summary > .icon.mirrored:dir(rtl) { rotate: 90deg }
[open] > summary > .icon.mirrored:dir(rtl) { rotate: -90deg }
.ring { flex: none; width: 14px; height: 14px; border: 2px solid var(--_line); border-block-start-color: var(--_accent);
  border-radius: 50%; animation: .9s linear infinite ring }
@keyframes ring { to { transform: rotate(1turn) } }
.beads { flex: none; height: 10px; margin-inline-end: 2px; overflow: visible }
.beads:dir(rtl) { scale: -1 1 }
.beads path { stroke: var(--_edge); stroke-width: 1.5; opacity: .6 }
.beads circle { fill: var(--_bg); stroke: var(--_edge); stroke-width: 1.3; transition: fill .2s, stroke .2s }
.beads .on { fill: var(--_accent); stroke: var(--_accent) }
.rest { margin-inline: -4px 2px; font-size: .846em; font-variant-numeric: tabular-nums }
.tree { list-style: none; padding: 4px 0 0; padding-inline-start: 6px; font-size: .867em; line-height: 1.54 }
.tree ul { list-style: none; padding: 0 }
.tree .group { display: flex; align-items: center; gap: 8px; min-height: 28px; color: var(--_muted); font-size: .923em }
.tree .group .icon { width: 14px; height: 14px }
.tree .row { position: relative; display: flex; align-items: center; gap: 8px; min-height: 32px; font-size: 1em }
.tree ul .row { padding-inline-start: 28px }
.trail[open] .row { animation: .2s var(--_ease) appear }
.tree ul .row::before { content: ""; position: absolute; inset-block: -4px 16px; inset-inline-start: 6px; width: 14px;
  border: 0 solid var(--_line); border-block-end-width: 1px; border-inline-start-width: 1px; border-end-start-radius: 8px }
.tree ul .row + .row::before { inset-block-start: -25px }
.tree .row > :first-child { flex: 1; min-width: 0; padding-block: 6px; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; color: inherit; text-decoration: none; border-radius: 4px }
.tree .row > a:hover { text-decoration: underline }
.tree .state { display: flex; align-items: center; gap: 6px; color: var(--_muted); font-size: .923em; white-space: nowrap }
.tree .state .icon { width: 14px; height: 14px }
.tree [data-state=open] > :first-child { font-weight: 700 }
.tree [data-state=open] > .state { color: var(--_accent) }
.tree [data-state=open] > .state::after { content: ""; width: 6px; height: 6px; border-radius: 50%; background: currentColor;
  animation: 1.4s ease-in-out infinite pulse }
.tree :is([data-state=unused], [data-state=missing], [data-state=too_big]) > :first-child { color: var(--_muted) }
.number { display: inline-block; min-width: 18px; padding: 0 5px; border-radius: 5px; font-size: 11px; line-height: 18px;
  font-weight: 700; font-variant-numeric: tabular-nums; text-align: center; color: var(--_accent); background: var(--_tint) }
@keyframes pulse { 50% { opacity: .3 } }
@keyframes appear { from { opacity: 0; transform: translateY(4px) } }
@media (max-width: 599px) {
  summary, .tree .row { min-height: 44px }
  .tree .row > :first-child { padding-block: 12px }
  .tree ul .row::before { inset-block: -4px 22px }
  .tree ul .row + .row::before { inset-block-start: -31px }
}
@media (prefers-reduced-motion) { .trail *, .trail .state::after { animation: none !important; transition: none !important }
  .ring { border-style: dotted } }
@media (forced-colors: active) { .beads .on { fill: Highlight; stroke: Highlight } .number { border: 1px solid } }
`,w=class{#n;#r;#o=r("ul",{class:"tree"});#i=r("summary");#s=new Map;#l=new Map;#d;#a;#t="outline";#c=!1;constructor(t){this.#n=t,this.#r={...f,...t.settings.words},y(t.shadowRoot,M),this.element=r("details",{class:"trail",part:"trail",open:!0},this.#i,this.#o),this.#i.addEventListener("click",()=>this.#c=!0),this.#e()}get count(){return this.#s.size}start(){let t=Date.now(),e=r("time",{"aria-hidden":"true"}),s=setTimeout(()=>this.#t!=="writing"&&this.#e(this.#r.slow),5e3),n=setInterval(()=>{if(!this.element.isConnected)return this.#a.stop();let o=Math.floor((Date.now()-t)/1e3),l=String(o%60).padStart(2,"0");e.textContent=o?`${Math.floor(o/60)}:${l}`:""},1e3);this.#a={time:e,stop:()=>(clearInterval(n),clearTimeout(s))},this.#e()}outline({sections:t,whole:e}){this.#d={sections:t,whole:e},this.#e()}section(t,e){this.#t==="outline"&&(this.#t="reading");let i=this.#s.get(t.id)?.row??this.#p(t);this.#s.set(t.id,{section:t,row:i,number:e}),this.#h(t,i,e),this.#e()}fold(){if(this.#t==="writing")return;this.#t="writing",this.#a?.stop();let t=this.#n.shadowRoot.activeElement;!this.#c&&!this.#o.contains(t)&&(this.element.open=!1),this.#e()}finish({sections:t,answered:e}){this.fold(),this.#t="done";for(let{section:s,row:i,number:n}of this.#s.values())this.#h(s,i,n);this.element.hidden=!this.count&&!this.#d?.whole,this.#e(void 0,t,e)}show(){this.element.open=!0,this.#i.focus()}#p(t){let e=t.path.slice(0,-1).join(" › ");if(!this.#l.has(e)){let i=e?r("ul"):this.#o;e&&this.#o.append(r("li",{},r("span",{class:"group"},m("page"),e),i)),this.#l.set(e,i)}let s=r("li",{class:"row",part:"trail-item"},this.#n.settings.anchor(t,t.title),r("span",{class:"state"}));return this.#l.get(e).append(s),s}#h(t,e,s){let i=this.#r,n=["read","cited"].includes(t.state),o=s?"cited":n?this.#t==="done"?"unused":"read":t.state,l=i[Object.hasOwn(f,o)?o:"read"],a=this.#n.hasAttribute("show-usage")&&t.tokens&&` · ${c(i.tokens,{n:t.tokens})}`;e.dataset.state=o,e.lastChild.replaceChildren(C(`${l}${a||""}`)),s?e.lastChild.append(r("span",{class:"number"},s)):o==="read"&&e.lastChild.append(_(z))}#e(t,e,s=!0){let i=this.#r,{sections:n=0,whole:o}=this.#d??{},l=d=>r("span",{class:"counted"},d);if(this.#t==="outline"||this.#t==="reading"){let{time:d}=this.#a??{},b=t??(this.#t==="reading"?i.current:n?c(i.outlineOf,{n}):i.outline),v=this.#t==="reading"&&n>0?c(i.progress,{n:this.count,all:n}):" ",k=this.#i.querySelector(".ring")??r("span",{class:"ring",role:"presentation"});return this.#i.replaceChildren(k,r("b",{},b),l(v),...d?[d]:[])}let a=[...this.#s.values()].filter(({number:d})=>d).length,h=o?c(i.whole,{n}):c(i.opened,{n:e??this.count}),x=this.#t!=="done"||!a&&s?h:c(a?i.counted:i.useless,{text:h,n:a}),g=this.count?[this.#u()]:[];this.count>p&&g.push(r("span",{class:"rest","aria-hidden":"true"},`+${this.count-p}`)),this.#i.replaceChildren(...g,l(x),m("chev"))}#u(){let t=[...this.#s.values()],e=p-t.filter(({number:a})=>a).length,s=t.filter(({number:a})=>a||e-- >0).slice(0,p),i=Math.min(12,120/s.length),n=i*(s.length-1)+10,o=s.map(({number:a},h)=>u("circle",{cx:5+h*i,cy:5,r:Math.min(3.5,i*.36),...a&&{class:"on"}})),l=u("path",{d:`M5 5h${n-10}`});return u("svg",{class:"beads",width:n,height:10,viewBox:`0 0 ${n} 10`,"aria-hidden":!0},l,...o)}};export{w as Trail};
