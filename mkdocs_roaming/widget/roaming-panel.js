import{PHONE as P,WIDE as A,adopt as O,el as l,fill as R,icon as $,namedIcon as h,plain as E,raise as B,tool as g}from"./roaming-ask.js";var y=async()=>(await import(new URL("roaming-turn.js",import.meta.url))).Turn,w=(...p)=>p.filter(Boolean).join(`
`),k=class{turns=[];#t;#i;#n;#e;#o;#d=!1;#a;#g;#r;#s;constructor(t,e,i){this.#t=t,this.#i=e,this.#n=i,this.#o=this.#w().finally(()=>e.endRestoring())}get isRunning(){return!!this.#a}get isDown(){return!!this.#s}get isEmpty(){return!this.turns.length&&!this.#d}get last(){return this.#r||this.turns.at(-1)?.question}async ask(t){let{input:e}=this.#i;if(this.endOutage(),e.value.trim()===t&&(e.value=""),this.#a?.signal.aborted&&await this.#g,this.#a)return this.queue(w(this.#r,t));await(this.#g=this.#p(t))}queue(t){this.#r=t,this.#i.showNext(t)}stop(){this.#a?.abort()}reset(){this.stop(),this.queue();let{turns:t}=this,{cleared:e}=this.#n,i=t.at(-1),n=this.#i.input.value||i?.empty!==!1&&i?.question;this.endOutage(),this.#l([],Date.now());let a=()=>{this.#i.input.value||=n||"",this.#l(t,e)};this.#i.offerUndo(i&&a)}#l(t,e){for(let{article:i}of this.turns)i.remove();this.turns=[];for(let i of t)this.#u(i);this.#n.cleared=e,this.keep(),this.#t._draw()}keep(){let t=this.#c();this.#n.keepTurns(t)||this.#n.keepTurns(t.slice(-6))}#c(){let{turns:t,isShared:e,cleared:i}=this.#n;for(let o of this.turns)o.at??=Date.now()+Math.random();let n=this.turns.map(({question:o,parts:r,code:d,at:c})=>({question:o,parts:r,code:d,at:c}));if(!e)return n;let a=(t??[]).filter(({at:o})=>!n.some(r=>r.at===o)),s=({at:o=0,parts:r,code:d})=>o>i&&!(d&&!r.length);return[...a,...n].filter(s).sort((o,r)=>o.at-r.at)}async sync(){await this.#o;let t=this.#e??=await y();if(this.#a)return;let e=this.#c();if(e.length===this.turns.length&&e.every(({at:n},a)=>n===this.turns[a].at))return;let i=n=>this.turns.find(({at:a})=>a===n.at)??this.#b(t,n);this.#l(e.map(i),this.#n.cleared)}async probe(){if(!this.#s)return;clearTimeout(this.#s);let t=new URL("healthz",this.#t.settings.endpoint),e=await this.#t.fetch(t,{cache:"no-store"}).catch(()=>{});if(this.#s){if(!e||e.status>=500)return this.#h();this.endOutage(),this.#i.say(this.#t.settings.words.online)}}endOutage(){this.#s&&(this.#s=clearTimeout(this.#s),this.#t._draw())}#h(){this.#s=setTimeout(()=>this.probe(),6e4)}async#p(t){let{signal:e}=this.#a=new AbortController,i,n;try{await this.#o;let r=this.#e??=await y(),d=this.#t._describe(t,this.turns.map(c=>c.signed).filter(Boolean).slice(-6));i=new r(this.#t,t),this.#i.offerUndo(),this.#u(i),this.#x(),this.#t._draw(),this.#i.showTurn(i.article),this.#t._emit("ask",{question:t}),n=await i.run(d,e)}catch{n={code:"lost"}}if(this.stop(),this.#a=void 0,i&&!this.turns.includes(i))return i.finish(n,!1);let a=this.#r;a&&this.queue();let s=["down","money"].includes(n?.code)&&this.#t.settings.mode==="auto";if(!i||s)return this.#m(i,w(t,a));let o=this.#f(i,n);o&&(this.#i.input.value||=w(t,a),this.#t.shadowRoot.activeElement&&this.#i.input.focus()),this.keep(),this.#t._draw(),this.#n.isShared&&this.sync(),a&&!o&&this.#t.ask(a)}#m(t,e){let{words:i}=this.#t.settings;return t&&(this.turns.pop().article.remove(),this.#h()),this.#i.say(t?i.down:i.lost,!0),this.#t.prefill(w(e,this.#i.input.value))}#f(t,e){try{return t.finish(e)}catch{return t.status=void 0,t.finish({code:"lost"})}}#u(t){this.#i.add(t.article),this.turns.push(t)}#x(){for(let{empty:t,article:e}of this.turns)t&&e.remove();this.turns=this.turns.filter(({empty:t})=>!t)}#b(t,{question:e,parts:i,code:n,at:a}){let s=new t(this.#t,e);s.at=a;for(let o of i)s.part(o);return s.finish(n&&{code:n},!1),s}async#w(){let t=this.#n.turns;if(t?.length){this.#d=!0;try{this.#i.beginRestoring();let e=this.#e=await y();for(let i of t)this.#u(this.#b(e,i));this.#i.place=this.#n.state.place}catch{}this.#d=!1,this.#t._draw()}}};var u=":root[data-roaming-docked]",_=":root[data-roaming-docked=narrow]",L=`
@media screen and (min-width:1100px){
${u} body{padding-inline-end:var(--roaming-inset)}
${u} :is(body>:is(.md-header,.navbar,[data-md-component=announce],.bd-header,.bd-header-announcement),#__docusaurus>:is(.navbar,.theme-announcement-bar)){width:auto;margin-inline-end:calc(-1*var(--roaming-inset))}
${u} .wy-grid-for-nav{width:calc(100% - var(--roaming-inset))}
${u} .wy-nav-content{padding-inline:1.618em}
${u} .md-sidebar{width:190px}
${u} .VPDoc .content{padding-inline:0}
${u} .nav-wide-wrapper{display:none}
${u} .nav-wrapper{display:block}
${u} :is(div.document,.page>.main,.main>.content,.VPDoc .content){box-sizing:border-box;min-width:0;max-width:100%}
${_} :is(.md-sidebar--secondary,.VPDoc .aside,.toc-drawer,.bd-sidebar-secondary,.right-sidebar-container,.col:has(>.theme-doc-toc-desktop)){display:none}
${_} .right-sidebar-container~.main-pane{width:100%}
${_} .col[class*=docItemCol]{max-width:100%!important}
}
@media screen and (min-width:600px){
:root[data-roaming-frame] body::after{content:"";display:block;position:fixed;z-index:3;inset:var(--roaming-begin) 0 0 auto;width:var(--roaming-frame);background:var(--md-default-bg-color,var(--pst-color-background,var(--bs-body-bg,Canvas)));box-shadow:0 0 0 1px color-mix(in srgb,currentColor 13%,transparent)}
:root[data-roaming-frame]:dir(rtl) body::after{inset-inline:auto 0}
}
`,M="[data-md-component=header], .navbar, .menu-bar, .VPLocalNav, header:not(main *)",D=560,W=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li):not(nav *, table *)",H=":is(main, [role=main], article) :is(h1, h2, h3, h4, p, li, pre, td):not(nav *)",C=320,S=640,I=matchMedia("(min-width: 900px)"),U="M14 4h6v6m0-6-7 7M10 20H4v-6m0 6 7-7",j=4,V=48,G=":is(h1, h2, p, li):not(table *, header *)",q=`
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
.starting .intro { visibility: hidden }
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
:is(.waiting, .undone) { padding: 0 4px 8px }
.undo { min-height: 24px; padding: 0 4px; border: 0; background: none; color: var(--_accent); font-size: 1em; text-decoration: underline }
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
.finder .latest { min-height: 0 }

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
:host([inline]) dialog { position: static; width: auto; height: 100%; padding: 0; border: 0; border-radius: inherit; box-shadow: none; z-index: auto }
:host([inline]) :is([part=close], .resize, .expand) { display: none }
@keyframes rising { from { opacity: 0; translate: 0 4px } }
@keyframes opening { from { opacity: 0; translate: 12px } }
@media (forced-colors: active) {
  .chip, .hello > span { border: 1px solid }
  .send { forced-color-adjust: none; background: ButtonFace; color: ButtonText; border: 1px solid ButtonText }
  form:focus-within { outline: 2px solid Highlight }
}
`,z=class{#t;#i;#n;#e={};#o=!1;constructor(t,e,i){this.#t=t,this.#i=e,this.#n=i;let{words:n}=t.settings;O(t.shadowRoot,q);let a=g(n.close,h("x"),()=>t.close(),{part:"close"}),s=this.#e;s.title=l("span"),s.reset=g(n.reset,h("new"),()=>t.reset(),{part:"reset"}),s.expand=g(n.expand,$(U),this.#s,{class:"tool expand",part:"expand","aria-pressed":"false"}),s.leave=g(n.button,h("ask"),i.leave),s.polite=l("div",{class:"sr",role:"status"}),s.alert=l("div",{class:"sr",role:"alert"}),this.element=l("dialog",{part:"panel",tabindex:"-1",onkeydown:i.escape,oncancel:i.escape},this.#g(n),l("div",{class:"head",part:"header"},l("h2",{part:"title"},h("ask"),s.title),s.leave,s.reset,s.expand,a),this.#d(n),this.#a(n),s.polite,s.alert),t.shadowRoot.append(this.element);let o=()=>(this.dock(),t._draw());new ResizeObserver(o).observe(document.body)}#d(t){let e=this.#e;e.intro=l("div",{part:"suggestions",class:"intro"}),e.notice=l("div"),this.hits=l("div"),e.flow=l("div",{class:"flow"},e.intro,e.notice,this.hits);let i=()=>this.#o=!1,n={class:"log",part:"log",tabindex:"0",role:"region","aria-label":t.log,"aria-busy":"true"};return e.log=l("div",{...n,onscroll:this.#p,onwheel:i,ontouchmove:i},e.flow),new ResizeObserver(this.#p).observe(e.flow),e.log}#a(t){let e=this.#e,{submit:i,typed:n,changed:a,everywhere:s}=this.#n;this.input=l("textarea",{part:"input",rows:1,maxlength:4e3,enterkeyhint:"send",dir:"auto",onkeydown:n,oninput:a}),e.jump=g(t.latest,h("down"),this.#m,{class:"tool latest-button",hidden:!0}),e.waiting=l("p",{class:"small waiting"}),e.undone=l("p",{class:"small undone"});let o=g(t.everywhere,h("x"),s);e.chip=l("span",{class:"chip",part:"chip"},h("page"),t.here,o),e.send=l("button",{part:"send",class:"tool send"}),e.clear=g(t.clear,h("x"),()=>this.#t.prefill(""),{class:"tool clear",hidden:!0});let r=l("div",{class:"bar"},e.chip,e.send),d=l("form",{part:"form",onsubmit:i},h("find"),this.input,e.clear,r);return l("div",{class:"foot"},e.jump,e.waiting,e.undone,d)}#g(t){let e=()=>this.#t.matches(":dir(rtl)"),i=s=>{let o=Math.round(Math.min(S,Math.max(C,s)));this.#i.remember({width:o}),this.#r(o),this.dock()},{width:n}=this.#i.state;n&&this.#r(n);let a=this.#e.edge=l("div",{class:"resize",role:"separator",tabindex:"0","aria-orientation":"vertical","aria-label":t.width,"aria-valuemin":C,"aria-valuemax":S,onpointerdown:({pointerId:s})=>a.setPointerCapture(s),onpointermove:({pointerId:s,clientX:o})=>{a.hasPointerCapture(s)&&i(e()?o:document.documentElement.clientWidth-o)},onkeydown:({key:s})=>{let o={ArrowLeft:32,ArrowRight:-32}[s];o&&i(this.element.offsetWidth+(e()?-o:o))}});return a}#r(t){this.#t.style.setProperty("--roaming-width",`${t}px`)}get isOpen(){return this.element.open}show(t,e=t){this.element.classList.toggle("opening",t),this.stayBelowHeader();let i=P.matches&&!this.#t.isInline;this.element.autofocus=i,i?this.element.showModal():this.element.open=!0,this.dock(),delete document.documentElement.dataset.roamingFrame,t&&(e?this.input:this.element).focus()}close(){this.element.close(),this.#t.popover=null,this.dock()}dock=()=>{if(this.#t.isInline)return T(0);let{element:t,isOpen:e}=this,{state:i}=this.#i,n=!!i.expanded&&I.matches;t.classList.toggle("expanded",n),this.#e.expand.ariaPressed=n;let a=A.matches&&e&&!n?t.offsetWidth:0,s=innerWidth-a,o=s===i.room&&i.level?[i.level]:["","narrow"],r=m=>(T(a,m),this.#l(),Y(t)&&!this.#h().flat().some(f=>f.matches(G))),d=a?o.find(r):void 0,c=d!==void 0;c||T(0),e&&(this.#e.edge.ariaValueNow=t.offsetWidth,this.#l(),t.classList.toggle("docked",c),this.#i.remember({inset:c?a:0,level:d,room:s,frame:t.offsetWidth,begin:n?0:x(),style:L}),this.#c())};#s=()=>{this.#i.remember({expanded:!this.#i.state.expanded}),this.#t.popover=null,this.dock()};stayBelowHeader(){!this.#t.isInline&&this.#l()&&this.#c()}#l(){let{style:t}=this.#t,e=t.getPropertyValue("--_top");return t.setProperty("--_top",`${x()}px`),t.getPropertyValue("--_top")!==e}#c(){(!x()||this.#i.state.expanded||this.#h().some(t=>t.indexOf(this.#t)>0))&&B(this.#t)}#h(){let{left:t,right:e,top:i,bottom:n}=this.element.getBoundingClientRect(),a=[];for(let s=t+12;s<e;s+=(e-t-40)/3)for(let o=i+26;o<n;o+=60)a.push(document.elementsFromPoint(s,o));return a}covers(t){let{left:e,right:i,top:n,bottom:a}=t.getBoundingClientRect(),s=this.element.getBoundingClientRect();return e>=s.left&&i<=s.right&&n>=s.top&&a<=s.bottom}add(t){let{flow:e,notice:i}=this.#e;for(let n of e.querySelectorAll(".latest"))n.classList.remove("latest");t.classList.add("latest"),i.before(t)}showTurn(t){let{log:e}=this.#e;this.#o=!1,e.scrollTop=t.offsetTop-e.firstChild.offsetTop}beginRestoring(){this.#e.flow.classList.add("restored")}endRestoring(){this.#e.log.ariaBusy="false"}get place(){return this.#e.log.scrollTop}set place(t){this.#e.log.scrollTop=t??this.#e.log.scrollHeight}#p=()=>{let{log:t,jump:e}=this.#e,{scrollHeight:i,scrollTop:n,clientHeight:a}=t;this.#o&&(t.scrollTop=i),e.hidden=this.#o||i-n-a<V};#m=()=>{let{log:t}=this.#e;this.#o=this.#n.isRunning(),t.scrollTop=t.scrollHeight,this.#p(),t.focus()};say(t,e){(e?this.#e.alert:this.#e.polite).textContent=t}showNext(t){let{waiting:e}=this.#e;e.textContent=t?R(this.#t.settings.words.next,{question:E(t)}):"",this.say(e.textContent)}offerUndo(t){let{cleared:e,undo:i}=this.#t.settings.words,n=()=>{this.offerUndo(),t(),this.input.focus()},a=t?[`${e} `,l("button",{type:"button",class:"undo",onclick:n},i)]:[];this.#e.undone.replaceChildren(...a),this.say(t?`${e} ${i}`:"")}get waits(){return this.#e.send.disabled}set waits(t){this.#e.send.disabled=t}draw({onlyFinds:t,finds:e,runs:i,isDown:n,isHere:a,isEmpty:s}){let{words:o,page:r}=this.#t.settings,{title:d,reset:c,leave:m,chip:f,clear:v,intro:b}=this.#e,N=R(e?o.findTitle:o.title,{site:E(r.title||o.docs)});this.element.classList.toggle("finder",e),d.textContent=this.element.ariaLabel=N,c.hidden=e&&!t||s&&!n,m.hidden=t||!e,this.input.placeholder=this.input.ariaLabel=e?o.findPlaceholder:s?o.placeholder:o.followUp,f.hidden=!a,v.hidden=!e||!this.input.value,this.#f(i,o),this.#u(e,t,o),b.hidden=e?this.input.value.trim():!s||n,this.#x(n&&!e,o)}#f(t,e){let{send:i}=this.#e,n=t?e.stop:e.send;i.classList.toggle("idle",!t&&!this.input.value.trim()),i.ariaLabel!==n&&(i.ariaLabel=n,i.replaceChildren(h(t?"stop":"up")))}#u(t,e,i){let{intro:n}=this.#e,a=JSON.parse(this.#t.settings.page.suggestions??"[]").slice(0,j),s=JSON.stringify([t,e,a]);if(n.dataset.key===s)return;n.dataset.key=s;let o=d=>l("li",{},l("button",{class:"pick",onclick:()=>e?this.#t.prefill(d):this.#t.ask(d)},l("span",{},d),h("go"))),r=[l("span",{},h("ask")),l("h3",{},i.hello)];n.replaceChildren(l("div",{class:"hello"},...t?[]:r,l("p",{},t?i.findIntro:i.intro)),...a.length?[l(t?"h3":"h4",{class:"label"},i.suggested)]:[],l("ul",{class:"rows"},...a.map(o)))}#x(t,e){let{notice:i}=this.#e;if(!t==!i.firstChild)return;let n=[l("strong",{},e.down),l("p",{},e.kept)],s=l("button",{onclick:()=>this.#t.ask(this.input.value)},h("redo"),e.retry);i.replaceChildren(...t?[l("div",{class:"notice",part:"error"},h("off"),l("div",{},...n,s))]:[])}};function x(){let p=[...document.querySelectorAll(M)].map(t=>{let{top:e,bottom:i,left:n,right:a,width:s}=t.getBoundingClientRect(),{position:o,direction:r}=getComputedStyle(t),d=r==="rtl"?n<32:a>innerWidth-32;return/sticky|fixed/.test(o)&&e<200&&s>innerWidth/2&&d?i:0});return Math.max(0,...p)}function T(p,t=""){let e=document.documentElement,i=`${p}px`;if((e.style.getPropertyValue("--roaming-inset")||"0px")===i&&(e.dataset.roamingDocked??"")===t)return;O(document,L);let a=x(),s=d=>d.getBoundingClientRect().top,o=scrollY&&[...document.querySelectorAll(H)].find(d=>s(d)>=a),r=o&&s(o);p?e.dataset.roamingDocked=t:delete e.dataset.roamingDocked,e.style.setProperty("--roaming-inset",i),o&&scrollBy({top:s(o)-r,behavior:"instant"})}function Y(p){let t=[...document.querySelectorAll(W)].filter(r=>r.checkVisibility());if(!t.some(r=>r.matches("p, li")&&r.clientWidth>=D))return!1;let e=x(),{left:i,right:n}=p.getBoundingClientRect(),a=document.createRange(),s=r=>{let d=getComputedStyle(r).overflowX!=="visible";return a.selectNodeContents(r),[...(d?r:a).getClientRects()].find(({width:c})=>c>8)},o=t.map(r=>[r,s(r)]).filter(([,r])=>r?.top>=e&&r.bottom<innerHeight);return o.some(([,{left:r,right:d}])=>r<n&&d>i)?!1:o.slice(0,o.length/2).every(([r,{left:d,right:c,top:m,height:f}])=>[d+1,c-1].every(v=>{let b=document.elementFromPoint(v,m+f/2);return r.contains(b)||b?.closest("dialog, [role=dialog]")}))}export{k as Conversation,z as Panel};
