(()=>{var n=":root[data-roaming-docked]",s=":root[data-roaming-docked=narrow]",a=".md-header [data-roaming-open][aria-expanded]",g="box-shadow:inset 0 0 0 1px color-mix(in srgb,currentColor 36%,transparent)",$=`@media screen and (min-width:1100px){
${n} body{padding-inline-end:var(--roaming-inset)}
${n} :is(body>:is(.md-header,.navbar,[data-md-component=announce],.bd-header,.bd-header-announcement),#__docusaurus>:is(.navbar,.theme-announcement-bar)){width:auto;margin-inline-end:calc(-1*var(--roaming-inset))}
${n} .wy-grid-for-nav{width:calc(100% - var(--roaming-inset))}
${n} .wy-nav-content{padding-inline:1.618em}
${n} .md-sidebar{width:190px}
${n} .VPDoc .content{padding-inline:0}
${n} .nav-wide-wrapper{display:none}
${n} .nav-wrapper{display:block}
${n} :is(div.document,.page>.main,.main>.content,.VPDoc .content){box-sizing:border-box;min-width:0;max-width:100%}
${s} :is(.md-sidebar--secondary,.VPDoc .aside,.toc-drawer,.bd-sidebar-secondary,.right-sidebar-container,.col:has(>.theme-doc-toc-desktop)){display:none}
${s} .right-sidebar-container~.main-pane{width:100%}
${s} .col[class*=docItemCol]{max-width:100%!important}
}
@media screen and (min-width:600px){
:root[data-roaming-frame] body::after{content:"";display:block;position:fixed;z-index:3;inset:var(--roaming-top) 0 0 auto;width:var(--roaming-frame);background:var(--md-default-bg-color,var(--pst-color-background,var(--bs-body-bg,Canvas)));box-shadow:0 0 0 1px color-mix(in srgb,currentColor 13%,transparent)}
:root[data-roaming-frame]:dir(rtl) body::after{inset-inline:auto 0}
}
${a}{z-index:0;display:flex;flex:none;align-items:center;gap:8px;height:36px;margin-inline-start:8px;padding-inline:12px 8px;border-radius:4px;font:700 14px/20px var(--md-text-font-family);${g};transition:background .12s}
${a}:is(:hover,[aria-expanded=true]){opacity:1;background:color-mix(in srgb,currentColor 12%,transparent)}
${a} kbd{display:inline-block;min-width:38px;padding:0 5px;border-radius:4px;text-align:center;font:12px/16px var(--md-text-font-family);${g};white-space:nowrap}
${a}[hidden]{display:none}
@media (max-width:59.98em){
${a}{width:44px;height:44px;justify-content:center;margin:0;padding:0;box-shadow:none}
${a} svg{width:22px;height:22px}
${a} :is(b,kbd){display:none}
}
@media (forced-colors:active){${a}{border:1px solid}}`,{documentElement:r,currentScript:c}=document;if(!r.dataset.roaming){r.dataset.roaming="early";let m=new CSSStyleSheet;m.replaceSync($),document.adoptedStyleSheets.push(m);let i=e=>new URL(e,c.src),x=()=>delete r.dataset.roamingFrame,o=()=>import(i("roaming-ask.js")).catch(x),p=e=>{try{return JSON.parse(window[e].getItem(`roaming:${i("../")}:panel`))}catch{}},{open:h,size:b,inset:l,level:u,top:w,finding:y}=c&&(p("sessionStorage")??p("localStorage"))||{};if(h&&innerWidth>=600){let{style:e,dataset:t}=r;e.setProperty("--roaming-frame",`${b}px`),e.setProperty("--roaming-top",`${w}px`),t.roamingFrame="",l&&innerWidth>=1100&&(e.setProperty("--roaming-inset",`${l}px`),t.roamingDocked=u);for(let f of y?[]:["turn","trail","markdown","result","marks","tools"]){let d=document.createElement("link");d.rel="modulepreload",d.href=i(`roaming-${f}.js`),document.head.append(d)}o()}else c&&(requestAnimationFrame(()=>setTimeout(o)),addEventListener("load",o),addEventListener("click",e=>{let t=e.target.closest?.("[data-roaming-open]");!t||customElements.get("roaming-ask")||(e.preventDefault(),o().then(()=>t.click()))}))}})();
