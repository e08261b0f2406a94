import{PHONE as A,WIDE as B,adopt as z,el as l,fill as T,namedIcon as c,plain as R,raise as P,tool as u}from"./roaming-ask.js";var _=async()=>(await import(new URL("roaming-turn.js",import.meta.url))).Turn,x=(...h)=>h.filter(Boolean).join(`
`),y=class{turns=[];#t;#i;#n;#e;#s;#l=!1;#r;#h;#a;#o;constructor(t,e,i){this.#t=t,this.#i=e,this.#n=i,this.#s=this.#f().finally(()=>e.endRestoring())}get isRunning(){return!!this.#r}get isDown(){return!!this.#o}get isEmpty(){return!this.turns.length&&!this.#l}get last(){return this.#a||this.turns.at(-1)?.question}async ask(t){let{input:e}=this.#i;if(this.endOutage(),e.value.trim()===t&&(e.value=""),this.#r?.signal.aborted&&await this.#h,this.#r)return this.queue(x(this.#a,t));await(this.#h=this.#p(t))}queue(t){this.#a=t,this.#i.showNext(t)}stop(){this.#r?.abort()}reset(){this.stop(),this.queue();for(let t of this.turns.splice(0))t.article.remove();this.endOutage(),this.keep()}keep(){let t=this.turns.map(({question:e,parts:i,code:n})=>({question:e,parts:i,code:n}));this.#n.keepTurns(t)||this.#n.keepTurns(t.slice(-6))}async probe(){if(!this.#o)return;clearTimeout(this.#o);let t=new URL("healthz",this.#t.settings.endpoint),e=await this.#t.fetch(t,{cache:"no-store"}).catch(()=>{});if(this.#o){if(!e||e.status>=500)return this.#d();this.endOutage(),this.#i.say(this.#t.settings.words.online)}}endOutage(){this.#o&&(this.#o=clearTimeout(this.#o),this.#t._draw())}#d(){this.#o=setTimeout(()=>this.probe(),6e4)}async#p(t){let{signal:e}=this.#r=new AbortController,i,n;try{await this.#s;let a=this.#e??=await _(),d=this.#t._describe(t,this.turns.map(p=>p.signed).filter(Boolean).slice(-6));i=new a(this.#t,t),this.#g(i),this.#m(),this.#t._draw(),this.#i.showTurn(i.article),this.#t._emit("ask",{question:t}),n=await i.run(d,e)}catch{n={code:"lost"}}if(this.stop(),this.#r=void 0,i&&!this.turns.includes(i))return this.#t._draw();let r=this.#a;r&&this.queue();let o=["down","money"].includes(n?.code)&&this.#t.settings.mode==="auto";if(!i||o)return this.#c(i,x(t,r));let s=this.#u(i,n);s&&(this.#i.input.value||=x(t,r),this.#t.shadowRoot.activeElement&&this.#i.input.focus()),this.keep(),this.#t._draw(),r&&!s&&this.#t.ask(r)}#c(t,e){let{words:i}=this.#t.settings;return t&&(this.turns.pop().article.remove(),this.#d()),this.#i.say(t?i.down:i.lost,!0),this.#t.prefill(x(e,this.#i.input.value))}#u(t,e){try{return t.finish(e)}catch{return t.status=void 0,t.finish({code:"lost"})}}#g(t){this.#i.add(t.article),this.turns.push(t)}#m(){for(let{empty:t,article:e}of this.turns)t&&e.remove();this.turns=this.turns.filter(({empty:t})=>!t)}async#f(){let t=this.#n.turns;if(t?.length){this.#l=!0;try{this.#i.beginRestoring();let e=this.#e=await _();for(let{question:i,parts:n,code:r}of t){let o=new e(this.#t,i);for(let s of n)o.part(s);o.finish(r&&{code:r},!1),this.#g(o)}this.#i.place=this.#n.state.place}catch{}this.#l=!1,this.#t._draw()}}};var g=":root[data-roaming-docked]",k=":root[data-roaming-docked=narrow]",L=`
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
`,W="[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)",$=560,D=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)",H=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)",C=320,E=640,M=4,j=48,V=":is(h1, h2, p, li):not(table *, header *)",I=`
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
`,S=class{#t;#i;#n;#e={};#s=!1;constructor(t,e,i){this.#t=t,this.#i=e,this.#n=i;let{words:n}=t.settings;z(t.shadowRoot,I);let r=u(n.close,c("x"),()=>t.close(),{part:"close"}),o=this.#e;o.title=l("span"),o.reset=u(n.reset,c("new"),()=>t.reset(),{part:"reset"}),o.leave=u(n.button,c("ask"),i.leave),o.polite=l("div",{class:"sr",role:"status"}),o.alert=l("div",{class:"sr",role:"alert"}),this.element=l("dialog",{part:"panel",onkeydown:i.escape,oncancel:i.escape},this.#h(n),l("div",{class:"head",part:"header"},l("h2",{part:"title"},c("ask"),o.title),o.leave,o.reset,r),this.#l(n),this.#r(n),o.polite,o.alert),t.shadowRoot.append(this.element);let s=()=>(this.dock(),t._draw());new ResizeObserver(s).observe(document.body)}#l(t){let e=this.#e;e.intro=l("div",{part:"suggestions",class:"intro"}),e.notice=l("div"),this.hits=l("div"),e.flow=l("div",{class:"flow"},e.intro,e.notice,this.hits);let i=()=>this.#s=!1,n={class:"log",part:"log",tabindex:"0",role:"region","aria-label":t.log,"aria-busy":"true"};return e.log=l("div",{...n,onscroll:this.#c,onwheel:i,ontouchmove:i},e.flow),new ResizeObserver(this.#c).observe(e.flow),e.log}#r(t){let e=this.#e,{submit:i,typed:n,changed:r,everywhere:o}=this.#n;this.input=l("textarea",{part:"input",rows:1,maxlength:4e3,enterkeyhint:"send",dir:"auto",onkeydown:n,oninput:r}),e.jump=u(t.latest,c("down"),this.#u,{class:"tool latest-button",hidden:!0}),e.waiting=l("p",{class:"small waiting"});let s=u(t.everywhere,c("x"),o);e.chip=l("span",{class:"chip",part:"chip"},c("page"),t.here,s),e.send=l("button",{part:"send",class:"tool send"}),e.clear=u(t.clear,c("x"),()=>this.#t.prefill(""),{class:"tool clear",hidden:!0});let a=l("div",{class:"bar"},e.chip,e.send),d=l("form",{part:"form",onsubmit:i},c("find"),this.input,e.clear,a);return l("div",{class:"foot"},e.jump,e.waiting,d)}#h(t){let e=()=>this.#t.matches(":dir(rtl)"),i=o=>{let s=Math.round(Math.min(E,Math.max(C,o)));this.#i.remember({width:s}),this.#a(s),this.dock()},{width:n}=this.#i.state;n&&this.#a(n);let r=this.#e.edge=l("div",{class:"resize",role:"separator",tabindex:"0","aria-orientation":"vertical","aria-label":t.width,"aria-valuemin":C,"aria-valuemax":E,onpointerdown:({pointerId:o})=>r.setPointerCapture(o),onpointermove:({pointerId:o,clientX:s})=>{r.hasPointerCapture(o)&&i(e()?s:document.documentElement.clientWidth-s)},onkeydown:({key:o})=>{let s={ArrowLeft:32,ArrowRight:-32}[o];s&&i(this.element.offsetWidth+(e()?-s:s))}});return r}#a(t){this.#t.style.setProperty("--roaming-width",`${t}px`)}get isOpen(){return this.element.open}show(t){this.element.classList.toggle("opening",t),this.stayBelowHeader(),A.matches?this.element.showModal():this.element.open=!0,this.dock(),delete document.documentElement.dataset.roamingFrame,t&&this.input.focus()}close(){this.element.close(),this.#t.popover=null,this.dock()}dock=()=>{let{element:t,isOpen:e}=this,{state:i}=this.#i,n=B.matches&&e?t.offsetWidth:0,r=innerWidth-n,o=r===i.room&&i.level?[i.level]:["","narrow"],s=p=>(O(n,p),this.#o(),G(t)&&!this.#p().flat().some(m=>m.matches(V))),a=n?o.find(s):void 0,d=a!==void 0;d||O(0),e&&(this.#e.edge.ariaValueNow=t.offsetWidth,this.#o(),t.classList.toggle("docked",d),this.#i.remember({inset:d?n:0,level:a,room:r,frame:t.offsetWidth,begin:f(),style:L}),this.#d())};stayBelowHeader(){this.#o()&&this.#d()}#o(){let{style:t}=this.#t,e=t.getPropertyValue("--_top");return t.setProperty("--_top",`${f()}px`),t.getPropertyValue("--_top")!==e}#d(){(!f()||this.#p().some(t=>t.indexOf(this.#t)>0))&&P(this.#t)}#p(){let{left:t,right:e,top:i,bottom:n}=this.element.getBoundingClientRect(),r=[];for(let o=t+12;o<e;o+=(e-t-40)/3)for(let s=i+26;s<n;s+=60)r.push(document.elementsFromPoint(o,s));return r}covers(t){let{left:e,right:i,top:n,bottom:r}=t.getBoundingClientRect(),o=this.element.getBoundingClientRect();return e>=o.left&&i<=o.right&&n>=o.top&&r<=o.bottom}add(t){let{flow:e,notice:i}=this.#e;for(let n of e.querySelectorAll(".latest"))n.classList.remove("latest");t.classList.add("latest"),i.before(t)}showTurn(t){let{log:e}=this.#e;this.#s=!1,e.scrollTop=t.offsetTop-e.firstChild.offsetTop}beginRestoring(){this.#e.flow.classList.add("restored")}endRestoring(){this.#e.log.ariaBusy="false"}get place(){return this.#e.log.scrollTop}set place(t){this.#e.log.scrollTop=t??this.#e.log.scrollHeight}#c=()=>{let{log:t,jump:e}=this.#e,{scrollHeight:i,scrollTop:n,clientHeight:r}=t;this.#s&&(t.scrollTop=i),e.hidden=this.#s||i-n-r<j};#u=()=>{let{log:t}=this.#e;this.#s=this.#n.isRunning(),t.scrollTop=t.scrollHeight,this.#c(),t.focus()};say(t,e){(e?this.#e.alert:this.#e.polite).textContent=t}showNext(t){let{waiting:e}=this.#e;e.textContent=t?T(this.#t.settings.words.next,{question:R(t)}):"",this.say(e.textContent)}get waits(){return this.#e.send.disabled}set waits(t){this.#e.send.disabled=t}draw({onlyFinds:t,finds:e,runs:i,isDown:n,isHere:r,isEmpty:o}){let{words:s,page:a}=this.#t.settings,{title:d,reset:p,leave:m,chip:v,clear:w,intro:b}=this.#e,N=T(e?s.findTitle:s.title,{site:R(a.title||s.docs)});this.element.classList.toggle("finder",e),d.textContent=this.element.ariaLabel=N,p.hidden=e||o&&!n,m.hidden=t||!e,this.input.placeholder=this.input.ariaLabel=e?s.findPlaceholder:o?s.placeholder:s.followUp,v.hidden=!r,w.hidden=!e||!this.input.value,this.#g(i,s),this.#m(e,t,s),b.hidden=e?this.input.value.trim():!o||n,this.#f(n&&!e,s)}#g(t,e){let{send:i}=this.#e,n=t?e.stop:e.send;i.classList.toggle("idle",!t&&!this.input.value.trim()),i.ariaLabel!==n&&(i.ariaLabel=n,i.replaceChildren(c(t?"stop":"up")))}#m(t,e,i){let{intro:n}=this.#e,r=JSON.parse(this.#t.settings.page.suggestions??"[]").slice(0,M),o=JSON.stringify([t,e,r]);if(n.dataset.key===o)return;n.dataset.key=o;let s=d=>l("li",{},l("button",{class:"pick",onclick:()=>e?this.#t.prefill(d):this.#t.ask(d)},l("span",{},d),c("go"))),a=[l("span",{},c("ask")),l("h3",{},i.hello)];n.replaceChildren(l("div",{class:"hello"},...t?[]:a,l("p",{},t?i.findIntro:i.intro)),...r.length?[l(t?"h3":"h4",{class:"label"},i.suggested)]:[],l("ul",{class:"rows"},...r.map(s)))}#f(t,e){let{notice:i}=this.#e;if(!t==!i.firstChild)return;let n=[l("strong",{},e.down),l("p",{},e.kept)],o=l("button",{onclick:()=>this.#t.ask(this.input.value)},c("redo"),e.retry);i.replaceChildren(...t?[l("div",{class:"notice",part:"error"},c("off"),l("div",{},...n,o))]:[])}};function f(){let h=[...document.querySelectorAll(W)].map(t=>{let{top:e,bottom:i,left:n,right:r,width:o}=t.getBoundingClientRect(),{position:s,direction:a}=getComputedStyle(t),d=a==="rtl"?n<32:r>innerWidth-32;return/sticky|fixed/.test(s)&&e<200&&o>innerWidth/2&&d?i:0});return Math.max(0,...h)}function O(h,t=""){let e=document.documentElement,i=`${h}px`;if((e.style.getPropertyValue("--roaming-inset")||"0px")===i&&(e.dataset.roamingDocked??"")===t)return;z(document,L);let r=f(),o=d=>d.getBoundingClientRect().top,s=scrollY&&[...document.querySelectorAll(H)].find(d=>o(d)>=r),a=s&&o(s);h?e.dataset.roamingDocked=t:delete e.dataset.roamingDocked,e.style.setProperty("--roaming-inset",i),s&&scrollBy({top:o(s)-a,behavior:"instant"})}function G(h){let t=[...document.querySelectorAll(D)].filter(a=>a.checkVisibility());if(!t.some(a=>a.matches("p, li")&&a.clientWidth>=$))return!1;let e=f(),{left:i,right:n}=h.getBoundingClientRect(),r=document.createRange(),o=a=>{let d=getComputedStyle(a).overflowX!=="visible";return r.selectNodeContents(a),[...(d?a:r).getClientRects()].find(({width:p})=>p>8)},s=t.map(a=>[a,o(a)]).filter(([,a])=>a?.top>=e&&a.bottom<innerHeight);return s.some(([,{left:a,right:d}])=>a<n&&d>i)?!1:s.slice(0,s.length/2).every(([a,{left:d,right:p,top:m,height:v}])=>[d+1,p-1].every(w=>{let b=document.elementFromPoint(w,m+v/2);return a.contains(b)||b?.closest("dialog, [role=dialog]")}))}export{y as Conversation,S as Panel};
