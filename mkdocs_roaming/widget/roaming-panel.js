import{PHONE as P,WIDE as A,adopt as z,el as r,fill as T,icon as B,namedIcon as c,plain as R,raise as W,tool as u}from"./roaming-ask.js";var _=async()=>(await import(new URL("roaming-turn.js",import.meta.url))).Turn,v=(...p)=>p.filter(Boolean).join(`
`),y=class{turns=[];#t;#i;#o;#e;#s;#d=!1;#a;#h;#r;#n;constructor(t,e,i){this.#t=t,this.#i=e,this.#o=i,this.#s=this.#f().finally(()=>e.endRestoring())}get isRunning(){return!!this.#a}get isDown(){return!!this.#n}get isEmpty(){return!this.turns.length&&!this.#d}get last(){return this.#r||this.turns.at(-1)?.question}async ask(t){let{input:e}=this.#i;if(this.endOutage(),e.value.trim()===t&&(e.value=""),this.#a?.signal.aborted&&await this.#h,this.#a)return this.queue(v(this.#r,t));await(this.#h=this.#p(t))}queue(t){this.#r=t,this.#i.showNext(t)}stop(){this.#a?.abort()}reset(){this.stop(),this.queue();for(let t of this.turns.splice(0))t.article.remove();this.endOutage(),this.keep()}keep(){let t=this.turns.map(({question:e,parts:i,code:o})=>({question:e,parts:i,code:o}));this.#o.keepTurns(t)||this.#o.keepTurns(t.slice(-6))}async probe(){if(!this.#n)return;clearTimeout(this.#n);let t=new URL("healthz",this.#t.settings.endpoint),e=await this.#t.fetch(t,{cache:"no-store"}).catch(()=>{});if(this.#n){if(!e||e.status>=500)return this.#l();this.endOutage(),this.#i.say(this.#t.settings.words.online)}}endOutage(){this.#n&&(this.#n=clearTimeout(this.#n),this.#t._draw())}#l(){this.#n=setTimeout(()=>this.probe(),6e4)}async#p(t){let{signal:e}=this.#a=new AbortController,i,o;try{await this.#s;let l=this.#e??=await _(),d=this.#t._describe(t,this.turns.map(h=>h.signed).filter(Boolean).slice(-6));i=new l(this.#t,t),this.#u(i),this.#m(),this.#t._draw(),this.#i.showTurn(i.article),this.#t._emit("ask",{question:t}),o=await i.run(d,e)}catch{o={code:"lost"}}if(this.stop(),this.#a=void 0,i&&!this.turns.includes(i))return this.#t._draw();let a=this.#r;a&&this.queue();let n=["down","money"].includes(o?.code)&&this.#t.settings.mode==="auto";if(!i||n)return this.#g(i,v(t,a));let s=this.#c(i,o);s&&(this.#i.input.value||=v(t,a),this.#t.shadowRoot.activeElement&&this.#i.input.focus()),this.keep(),this.#t._draw(),a&&!s&&this.#t.ask(a)}#g(t,e){let{words:i}=this.#t.settings;return t&&(this.turns.pop().article.remove(),this.#l()),this.#i.say(t?i.down:i.lost,!0),this.#t.prefill(v(e,this.#i.input.value))}#c(t,e){try{return t.finish(e)}catch{return t.status=void 0,t.finish({code:"lost"})}}#u(t){this.#i.add(t.article),this.turns.push(t)}#m(){for(let{empty:t,article:e}of this.turns)t&&e.remove();this.turns=this.turns.filter(({empty:t})=>!t)}async#f(){let t=this.#o.turns;if(t?.length){this.#d=!0;try{this.#i.beginRestoring();let e=this.#e=await _();for(let{question:i,parts:o,code:a}of t){let n=new e(this.#t,i);for(let s of o)n.part(s);n.finish(a&&{code:a},!1),this.#u(n)}this.#i.place=this.#o.state.place}catch{}this.#d=!1,this.#t._draw()}}};var g=":root[data-roaming-docked]",k=":root[data-roaming-docked=narrow]",L=`
@media screen and (min-width:1100px){
${g} body{padding-inline-end:var(--roaming-inset)}
${g} :is(body>:is(.md-header,.navbar,[data-md-component=announce],.bd-header,.bd-header-announcement),#__docusaurus>:is(.navbar,.theme-announcement-bar)){width:auto;margin-inline-end:calc(-1*var(--roaming-inset))}
${g} .wy-grid-for-nav{width:calc(100% - var(--roaming-inset))}
${g} .wy-nav-content{padding-inline:1.618em}
${g} .md-sidebar{width:190px}
${g} .VPDoc .content{padding-inline:0}
${g} .nav-wide-wrapper{display:none}
${g} .nav-wrapper{display:block}
${g} :is(div.document,.page>.main,.main>.content,.VPDoc .content){box-sizing:border-box;min-width:0;max-width:100%}
${k} :is(.md-sidebar--secondary,.VPDoc .aside,.toc-drawer,.bd-sidebar-secondary,.right-sidebar-container,.col:has(>.theme-doc-toc-desktop)){display:none}
${k} .right-sidebar-container~.main-pane{width:100%}
${k} .col[class*=docItemCol]{max-width:100%!important}
}
@media screen and (min-width:600px){
:root[data-roaming-frame] body::after{content:"";display:block;position:fixed;z-index:3;inset:var(--roaming-begin) 0 0 auto;width:var(--roaming-frame);background:var(--md-default-bg-color,var(--pst-color-background,var(--bs-body-bg,Canvas)));box-shadow:0 0 0 1px color-mix(in srgb,currentColor 13%,transparent)}
:root[data-roaming-frame]:dir(rtl) body::after{inset-inline:auto 0}
}
`,$="[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)",M=560,D=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)",H=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)",E=320,C=640,j=matchMedia("(min-width: 900px)"),V="M14 4h6v6m0-6-7 7M10 20H4v-6m0 6 7-7",I=4,G=48,U=":is(h1, h2, p, li):not(table *, header *)",q=`
dialog:modal .resize { display: none }
.foot .tool::after { inset-inline-end: 0 }
.head .tool::after { inset-block: calc(100% + 6px) auto; inset-inline-end: 0 }

/* Rows in a frame: suggestions, sources, results */
.rows { list-style: none; padding: 0; border: 1px solid var(--_line); border-radius: 12px; overflow: hidden }
.rows > * + * { border-block-start: 1px solid var(--_line) }
.rows :focus-visible { outline-offset: -2px; border-radius: 11px }
.pick { display: flex; width: 100%; min-height: 48px; gap: 12px; align-items: center; padding-block: 12px; padding-inline: 16px 12px; border: 0;
  border-radius: 0; background: none; font-size: 1em; font-weight: 400; text-align: start }
.pick span { flex: 1 }
.pick .icon { color: var(--_muted); transition: translate .16s var(--_ease) }
.pick:hover .icon { color: var(--_accent); translate: 2px }
.pick:dir(rtl):hover .icon { translate: -2px }

/* The panel: docked below the header; on narrower screens it floats, on a phone it covers the screen */
dialog { inset-block: var(--roaming-top, var(--_top, 0px)) 0; inset-inline: auto 0; width: var(--_width);
  height: var(--roaming-height, auto); max-width: 100%; max-height: none; border: 0 solid var(--_line);
  border-inline-start-width: 1px; flex-direction: column; color: var(--_fg); background: var(--_bg);
  transition: opacity .12s, display .12s allow-discrete, overlay .12s allow-discrete }
dialog[open] { display: flex }
dialog:focus-visible { outline: 0 }
dialog.expanded { inset-block: 0; height: auto; width: min(720px, 100%) }
dialog.expanded .resize { display: none }
@media (max-width: 899.98px) { .expand { display: none } }
dialog:not([open]) { opacity: 0; pointer-events: none }
dialog.opening { animation: .18s var(--_ease) opening }
.resize { position: absolute; z-index: 2; inset-block: 0; inset-inline-start: -5px; width: 9px; cursor: ew-resize;
  touch-action: none; outline: 0 }
.resize::after { content: ""; position: absolute; inset-block: 0; inset-inline-start: 4px; width: 2px; background: var(--_accent);
  opacity: 0; transition: opacity .12s .08s }
.resize:is(:hover, :focus-visible)::after { opacity: 1 }
.head { position: relative; z-index: 1; display: flex; gap: 4px; align-items: center; flex: none; height: 52px;
  padding-inline: 20px 12px }
.head::after { content: ""; position: absolute; inset-block: 100% auto; inset-inline: 0 12px; height: 12px; pointer-events: none;
  background: linear-gradient(var(--_bg), transparent) }
h2 { flex: 1; display: flex; gap: 8px; align-items: center; min-width: 0 }
h2 span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.log { flex: 1; min-height: 0; overflow: auto; container-type: size; padding: 8px 20px 24px; overscroll-behavior: contain;
  scrollbar-width: thin; scrollbar-color: var(--_line) transparent }
.log:focus-visible { outline-offset: -2px }
.flow { display: flex; flex-direction: column; min-height: 100cqh }
.flow > * { min-width: 0; animation: .2s var(--_ease) rising }
.restored > * { animation: none }
.latest { min-height: 100cqh; align-content: start }

/* Nothing asked yet: just above the input */
.intro { margin-block-start: auto }
.hello > span { display: grid; place-items: center; width: 44px; height: 44px; margin-block: 16px; border-radius: 12px;
  background: var(--_tint) }
.hello span .icon { width: 24px; height: 24px }
.hello h3 { margin-block-end: 8px; font-size: 1.3333em; line-height: 1.4; letter-spacing: -.01em }
.hello p { color: var(--_muted); padding-block-end: 8px }

/* The endpoint cannot be reached */
.notice { display: grid; grid-template-columns: 18px 1fr; gap: 0 12px; padding: 16px; border: 1px solid var(--_line);
  border-radius: 12px; margin-block-end: 16px }
.notice > .icon { margin-block-start: 3px; color: var(--_danger) }
.notice p { margin-block-end: 12px; color: var(--_muted); font-size: .9333em; line-height: 1.43 }

/* The input */
.foot { position: relative; flex: none; padding: 0 20px 12px }
.foot::before { content: ""; position: absolute; inset: -40px 0 auto; height: 40px; pointer-events: none;
  background: linear-gradient(transparent, var(--_bg)) }
.latest-button { position: absolute; inset-block-start: -44px; inset-inline-end: 20px; border-radius: 50%; background: var(--_raise);
  box-shadow: var(--_shadow); color: var(--_fg) }
.latest-button:hover { background: var(--_raise) }
.waiting { padding: 0 4px 8px }
form { position: relative; padding: 4px; border: 1px solid var(--_edge); border-radius: 12px; background: var(--_bg) }
form:focus-within { border-color: var(--_accent); box-shadow: 0 0 0 1px var(--_accent) }
form:not(:has(textarea:focus)):focus-within { border-color: var(--_edge); box-shadow: none }
textarea { display: block; width: 100%; min-height: 40px; max-height: 144px; padding: 8px 12px 4px; border: 0; outline: 0;
  resize: none; field-sizing: content; background: none }
textarea:focus-visible { outline: 0 }
textarea::placeholder { color: var(--_muted); opacity: 1 }
:host(:dir(rtl)) textarea:placeholder-shown { text-align: right }
.bar { display: flex; align-items: center; gap: 8px; padding-inline-start: 8px }
.chip { display: inline-flex; align-items: center; gap: 6px; min-width: 0; height: 28px; padding-inline-start: 8px;
  border: 1px solid var(--_line); border-radius: var(--_radius); color: var(--_muted); font-size: .8667em }
.chip .icon { width: 16px; height: 16px }
.chip .tool { width: 26px; height: 26px; border-radius: 7px }
.chip .tool::before { content: ""; position: absolute; inset: -3px }
.send { width: 36px; height: 36px; margin-inline-start: auto; border-radius: 9px; background: var(--_accent);
  color: var(--_on-accent) }
.send:hover { background: color-mix(in srgb, var(--_accent) 88%, var(--_fg)); color: var(--_on-accent) }
.send:is(:disabled, .idle) { background: var(--_soft); color: var(--_muted); opacity: 1 }

/* The finder: its field is on top, since nothing is written back */
.finder .foot { order: 1; padding-block: 4px 8px }
.finder .foot::before, .finder .head::after, .finder h2 .icon, .finder :is(.bar, .latest-button) { display: none }
.finder form { display: flex; align-items: center; padding-block: 1px; padding-inline-start: 12px }
.finder .log { order: 2 }
form > .icon { display: none; color: var(--_muted) }
.finder form > .icon { display: block }
.finder .intro { margin-block-start: 0 }
.finder article { display: none }

.row { display: flex; flex-wrap: wrap; gap: .4em; font-size: .875em }
@media (min-width: 1100px) { :host { --_width: var(--roaming-width, clamp(352px, 27.5vw, 416px)) } }
dialog:not(.docked) { box-shadow: 0 0 40px #00000026 }
@media (max-width: 599px) {
  dialog { inset: 0; width: 100%; height: 100dvh; border: 0; padding-block-end: env(safe-area-inset-bottom) }
  .head { height: 56px; padding-inline: 16px 4px }
  .log, .foot { padding-inline: 16px }
  .send { width: 44px; height: 44px }
  .latest-button { inset-block-start: -52px }
  textarea { font-size: max(16px, 1em) }
  .chip { height: 36px }
  .chip .tool { width: 34px; height: 34px }
  .chip .tool::before { inset: -5px }
}
@media (max-height: 420px) {
  .head { height: 44px }
  .chip { display: none }
  form { display: flex; align-items: end }
}
@keyframes rising { from { opacity: 0; translate: 0 4px } }
@keyframes opening { from { opacity: 0; translate: 12px } }
@media (forced-colors: active) {
  .chip, .hello > span { border: 1px solid }
  .send { forced-color-adjust: none; background: ButtonFace; color: ButtonText; border: 1px solid ButtonText }
  form:focus-within { outline: 2px solid Highlight }
}
`,O=class{#t;#i;#o;#e={};#s=!1;constructor(t,e,i){this.#t=t,this.#i=e,this.#o=i;let{words:o}=t.settings;z(t.shadowRoot,q);let a=u(o.close,c("x"),()=>t.close(),{part:"close"}),n=this.#e;n.title=r("span"),n.reset=u(o.reset,c("new"),()=>t.reset(),{part:"reset"}),n.expand=u(o.expand,B(V),this.#n,{class:"tool expand",part:"expand","aria-pressed":"false"}),n.leave=u(o.button,c("ask"),i.leave),n.polite=r("div",{class:"sr",role:"status"}),n.alert=r("div",{class:"sr",role:"alert"}),this.element=r("dialog",{part:"panel",tabindex:"-1",onkeydown:i.escape,oncancel:i.escape},this.#h(o),r("div",{class:"head",part:"header"},r("h2",{part:"title"},c("ask"),n.title),n.leave,n.reset,n.expand,a),this.#d(o),this.#a(o),n.polite,n.alert),t.shadowRoot.append(this.element);let s=()=>(this.dock(),t._draw());new ResizeObserver(s).observe(document.body)}#d(t){let e=this.#e;e.intro=r("div",{part:"suggestions",class:"intro"}),e.notice=r("div"),this.hits=r("div"),e.flow=r("div",{class:"flow"},e.intro,e.notice,this.hits);let i=()=>this.#s=!1,o={class:"log",part:"log",tabindex:"0",role:"region","aria-label":t.log,"aria-busy":"true"};return e.log=r("div",{...o,onscroll:this.#c,onwheel:i,ontouchmove:i},e.flow),new ResizeObserver(this.#c).observe(e.flow),e.log}#a(t){let e=this.#e,{submit:i,typed:o,changed:a,everywhere:n}=this.#o;this.input=r("textarea",{part:"input",rows:1,maxlength:4e3,enterkeyhint:"send",dir:"auto",onkeydown:o,oninput:a}),e.jump=u(t.latest,c("down"),this.#u,{class:"tool latest-button",hidden:!0}),e.waiting=r("p",{class:"small waiting"});let s=u(t.everywhere,c("x"),n);e.chip=r("span",{class:"chip",part:"chip"},c("page"),t.here,s),e.send=r("button",{part:"send",class:"tool send"}),e.clear=u(t.clear,c("x"),()=>this.#t.prefill(""),{class:"tool clear",hidden:!0});let l=r("div",{class:"bar"},e.chip,e.send),d=r("form",{part:"form",onsubmit:i},c("find"),this.input,e.clear,l);return r("div",{class:"foot"},e.jump,e.waiting,d)}#h(t){let e=()=>this.#t.matches(":dir(rtl)"),i=n=>{let s=Math.round(Math.min(C,Math.max(E,n)));this.#i.remember({width:s}),this.#r(s),this.dock()},{width:o}=this.#i.state;o&&this.#r(o);let a=this.#e.edge=r("div",{class:"resize",role:"separator",tabindex:"0","aria-orientation":"vertical","aria-label":t.width,"aria-valuemin":E,"aria-valuemax":C,onpointerdown:({pointerId:n})=>a.setPointerCapture(n),onpointermove:({pointerId:n,clientX:s})=>{a.hasPointerCapture(n)&&i(e()?s:document.documentElement.clientWidth-s)},onkeydown:({key:n})=>{let s={ArrowLeft:32,ArrowRight:-32}[n];s&&i(this.element.offsetWidth+(e()?-s:s))}});return a}#r(t){this.#t.style.setProperty("--roaming-width",`${t}px`)}get isOpen(){return this.element.open}show(t,e=t){this.element.classList.toggle("opening",t),this.stayBelowHeader(),P.matches?this.element.showModal():this.element.open=!0,this.dock(),delete document.documentElement.dataset.roamingFrame,t&&(e?this.input:this.element).focus()}close(){this.element.close(),this.#t.popover=null,this.dock()}dock=()=>{let{element:t,isOpen:e}=this,{state:i}=this.#i,o=!!i.expanded&&j.matches;t.classList.toggle("expanded",o),this.#e.expand.ariaPressed=o;let a=A.matches&&e&&!o?t.offsetWidth:0,n=innerWidth-a,s=n===i.room&&i.level?[i.level]:["","narrow"],l=m=>(S(a,m),this.#l(),Y(t)&&!this.#g().flat().some(f=>f.matches(U))),d=a?s.find(l):void 0,h=d!==void 0;h||S(0),e&&(this.#e.edge.ariaValueNow=t.offsetWidth,this.#l(),t.classList.toggle("docked",h),this.#i.remember({inset:h?a:0,level:d,room:n,frame:t.offsetWidth,begin:o?0:x(),style:L}),this.#p())};#n=()=>{this.#i.remember({expanded:!this.#i.state.expanded}),this.#t.popover=null,this.dock()};stayBelowHeader(){this.#l()&&this.#p()}#l(){let{style:t}=this.#t,e=t.getPropertyValue("--_top");return t.setProperty("--_top",`${x()}px`),t.getPropertyValue("--_top")!==e}#p(){(!x()||this.#i.state.expanded||this.#g().some(t=>t.indexOf(this.#t)>0))&&W(this.#t)}#g(){let{left:t,right:e,top:i,bottom:o}=this.element.getBoundingClientRect(),a=[];for(let n=t+12;n<e;n+=(e-t-40)/3)for(let s=i+26;s<o;s+=60)a.push(document.elementsFromPoint(n,s));return a}covers(t){let{left:e,right:i,top:o,bottom:a}=t.getBoundingClientRect(),n=this.element.getBoundingClientRect();return e>=n.left&&i<=n.right&&o>=n.top&&a<=n.bottom}add(t){let{flow:e,notice:i}=this.#e;for(let o of e.querySelectorAll(".latest"))o.classList.remove("latest");t.classList.add("latest"),i.before(t)}showTurn(t){let{log:e}=this.#e;this.#s=!1,e.scrollTop=t.offsetTop-e.firstChild.offsetTop}beginRestoring(){this.#e.flow.classList.add("restored")}endRestoring(){this.#e.log.ariaBusy="false"}get place(){return this.#e.log.scrollTop}set place(t){this.#e.log.scrollTop=t??this.#e.log.scrollHeight}#c=()=>{let{log:t,jump:e}=this.#e,{scrollHeight:i,scrollTop:o,clientHeight:a}=t;this.#s&&(t.scrollTop=i),e.hidden=this.#s||i-o-a<G};#u=()=>{let{log:t}=this.#e;this.#s=this.#o.isRunning(),t.scrollTop=t.scrollHeight,this.#c(),t.focus()};say(t,e){(e?this.#e.alert:this.#e.polite).textContent=t}showNext(t){let{waiting:e}=this.#e;e.textContent=t?T(this.#t.settings.words.next,{question:R(t)}):"",this.say(e.textContent)}get waits(){return this.#e.send.disabled}set waits(t){this.#e.send.disabled=t}draw({onlyFinds:t,finds:e,runs:i,isDown:o,isHere:a,isEmpty:n}){let{words:s,page:l}=this.#t.settings,{title:d,reset:h,leave:m,chip:f,clear:w,intro:b}=this.#e,N=T(e?s.findTitle:s.title,{site:R(l.title||s.docs)});this.element.classList.toggle("finder",e),d.textContent=this.element.ariaLabel=N,h.hidden=e||n&&!o,m.hidden=t||!e,this.input.placeholder=this.input.ariaLabel=e?s.findPlaceholder:n?s.placeholder:s.followUp,f.hidden=!a,w.hidden=!e||!this.input.value,this.#m(i,s),this.#f(e,t,s),b.hidden=e?this.input.value.trim():!n||o,this.#x(o&&!e,s)}#m(t,e){let{send:i}=this.#e,o=t?e.stop:e.send;i.classList.toggle("idle",!t&&!this.input.value.trim()),i.ariaLabel!==o&&(i.ariaLabel=o,i.replaceChildren(c(t?"stop":"up")))}#f(t,e,i){let{intro:o}=this.#e,a=JSON.parse(this.#t.settings.page.suggestions??"[]").slice(0,I),n=JSON.stringify([t,e,a]);if(o.dataset.key===n)return;o.dataset.key=n;let s=d=>r("li",{},r("button",{class:"pick",onclick:()=>e?this.#t.prefill(d):this.#t.ask(d)},r("span",{},d),c("go"))),l=[r("span",{},c("ask")),r("h3",{},i.hello)];o.replaceChildren(r("div",{class:"hello"},...t?[]:l,r("p",{},t?i.findIntro:i.intro)),...a.length?[r(t?"h3":"h4",{class:"label"},i.suggested)]:[],r("ul",{class:"rows"},...a.map(s)))}#x(t,e){let{notice:i}=this.#e;if(!t==!i.firstChild)return;let o=[r("strong",{},e.down),r("p",{},e.kept)],n=r("button",{onclick:()=>this.#t.ask(this.input.value)},c("redo"),e.retry);i.replaceChildren(...t?[r("div",{class:"notice",part:"error"},c("off"),r("div",{},...o,n))]:[])}};function x(){let p=[...document.querySelectorAll($)].map(t=>{let{top:e,bottom:i,left:o,right:a,width:n}=t.getBoundingClientRect(),{position:s,direction:l}=getComputedStyle(t),d=l==="rtl"?o<32:a>innerWidth-32;return/sticky|fixed/.test(s)&&e<200&&n>innerWidth/2&&d?i:0});return Math.max(0,...p)}function S(p,t=""){let e=document.documentElement,i=`${p}px`;if((e.style.getPropertyValue("--roaming-inset")||"0px")===i&&(e.dataset.roamingDocked??"")===t)return;z(document,L);let a=x(),n=d=>d.getBoundingClientRect().top,s=scrollY&&[...document.querySelectorAll(H)].find(d=>n(d)>=a),l=s&&n(s);p?e.dataset.roamingDocked=t:delete e.dataset.roamingDocked,e.style.setProperty("--roaming-inset",i),s&&scrollBy({top:n(s)-l,behavior:"instant"})}function Y(p){let t=[...document.querySelectorAll(D)].filter(l=>l.checkVisibility());if(!t.some(l=>l.matches("p, li")&&l.clientWidth>=M))return!1;let e=x(),{left:i,right:o}=p.getBoundingClientRect(),a=document.createRange(),n=l=>{let d=getComputedStyle(l).overflowX!=="visible";return a.selectNodeContents(l),[...(d?l:a).getClientRects()].find(({width:h})=>h>8)},s=t.map(l=>[l,n(l)]).filter(([,l])=>l?.top>=e&&l.bottom<innerHeight);return s.some(([,{left:l,right:d}])=>l<o&&d>i)?!1:s.slice(0,s.length/2).every(([l,{left:d,right:h,top:m,height:f}])=>[d+1,h-1].every(w=>{let b=document.elementFromPoint(w,m+f/2);return l.contains(b)||b?.closest("dialog, [role=dialog]")}))}export{y as Conversation,O as Panel};
