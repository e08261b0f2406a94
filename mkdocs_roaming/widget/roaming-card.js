import{adopt as u,el as n}from"./roaming-ask.js";var b={onAnotherPage:"On another page",goThere:"go to the passage"},x=150,f=250,v=`
.card { position: fixed; inset: auto; width: min(22em, 100vw - 24px); margin: 0; padding: 14px 16px; border: 0;
  border-radius: 12px; color: var(--_fg); background: var(--_raise); box-shadow: var(--_shadow);
  animation: .12s var(--_ease) appear }
.card > * { display: block }
.card .crumb { font-size: .8em; line-height: 1.34; color: var(--_muted) }
.card b { margin-block: 2px 6px; font-size: .933em; line-height: 1.43; font-weight: 700 }
.card .passage { font-size: .867em; line-height: 1.54; color: var(--_muted); text-wrap: pretty; max-height: 9.3em;
  overflow: hidden }
.card .passage mark { color: var(--_fg); background: var(--_mark); border-radius: 3px; text-decoration: none }
.card .where { display: flex; justify-content: space-between; gap: 12px; margin: 10px -16px -14px; padding: 8px 16px;
  border-block-start: 1px solid var(--_line); font-size: .8em; line-height: 1.34; color: var(--_muted) }
.card .where > :last-child { color: var(--_accent) }
.card kbd { margin-inline-end: 4px; padding: 0 5px; border: 1px solid var(--_edge); border-radius: 4px }
@media (max-width: 599px) { .card kbd { display: none } }
@media (prefers-reduced-motion) { .card { animation: none } }
@media (forced-colors: active) { .card { border: 1px solid } .card mark { background: Mark; color: MarkText } }
`,m;function L(o,e,i,c){if(!i||!HTMLElement.prototype.showPopover||m?.link===e)return;m?.close(),u(o.shadowRoot,v);let t=w(o,e,i,c),p=new AbortController,{signal:r}=p,d=setTimeout(()=>{if(!e.isConnected)return a();o.shadowRoot.querySelector("dialog").append(t),t.showPopover(),y(t,e),e.setAttribute("aria-describedby",t.id)},x),s,a=()=>{clearTimeout(d),clearTimeout(s),p.abort(),t.remove(),e.removeAttribute("aria-describedby"),m?.link===e&&(m=void 0)},g=()=>s=setTimeout(a,f);for(let l of[e,t])l.addEventListener("pointerleave",g,{signal:r}),l.addEventListener("pointerenter",()=>clearTimeout(s),{signal:r});e.addEventListener("focusout",a,{signal:r}),e.addEventListener("click",a,{signal:r}),o.shadowRoot.querySelector(".log").addEventListener("scroll",a,{signal:r,passive:!0});let h=l=>{l.key==="Escape"&&(l.stopImmediatePropagation(),l.preventDefault(),a())};addEventListener("keydown",h,{signal:r,capture:!0}),m={link:e,close:a}}function w(o,e,{title:i,path:c,snippet:t,url:p},r){let d={...b,...o.settings.words},s=new URL(e.href).pathname===location.pathname,a=r?n("mark",{},r):t;return n("div",{class:"card",id:"card",role:"tooltip",popover:"manual",part:"card"},n("span",{class:"crumb"},c.slice(0,-1).join(" › ")),n("b",{},i),a&&n("p",{class:"passage",dir:"auto"},a),n("div",{class:"where"},n("span",{},s?d.onThisPage:d.onAnotherPage),n("span",{},n("kbd",{},"↵"),d.goThere)))}function y(o,e){let i=e.getBoundingClientRect(),{width:c,height:t}=o.getBoundingClientRect(),p=o.parentNode.getBoundingClientRect(),r=Math.min(Math.max(i.left-c/3,p.left+8),p.right-c-8),d=i.bottom+8,s=d+t<innerHeight-8?d:Math.max(8,i.top-8-t);o.style.setProperty("left",`${r}px`),o.style.setProperty("top",`${s}px`)}export{L as showCard};
