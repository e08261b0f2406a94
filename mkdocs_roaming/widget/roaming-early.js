(()=>{var n=".md-header [data-roaming-open][aria-expanded]",c="box-shadow:inset 0 0 0 1px color-mix(in srgb,currentColor 36%,transparent)",g=`${n}{z-index:0;display:flex;flex:none;align-items:center;gap:8px;height:36px;margin-inline-start:8px;padding-inline:12px 8px;border-radius:4px;font:700 14px/20px var(--md-text-font-family);${c};transition:background .12s}
${n}:is(:hover,[aria-expanded=true]){opacity:1;background:color-mix(in srgb,currentColor 12%,transparent)}
${n} kbd{display:inline-block;min-width:38px;padding:0 5px;border-radius:4px;text-align:center;font:12px/16px var(--md-text-font-family);${c};white-space:nowrap}
${n}[hidden]{display:none}
@media (max-width:59.98em){
${n}{width:44px;height:44px;justify-content:center;margin:0;padding:0;box-shadow:none}
${n} svg{width:22px;height:22px}
${n} :is(b,kbd){display:none}
}
@media (forced-colors:active){${n}{border:1px solid}}`;if(!customElements.get("roaming-ask")){let{documentElement:l,currentScript:p}=document,{style:m,dataset:a}=l,s=e=>{let t=new CSSStyleSheet;t.replaceSync(e),document.adoptedStyleSheets.push(t)},i=e=>new URL(e,p.src),d=e=>{try{return JSON.parse(window[e].getItem(`roaming:${i("../")}:panel`))}catch{}},r=()=>import(i("roaming-ask.js")).catch(()=>{delete a.roamingFrame,delete a.roamingDocked});s(g);let o=d("sessionStorage")??d("localStorage");if(o?.open&&innerWidth>=600){s(o.style);for(let e of["inset","frame","begin"])m.setProperty(`--roaming-${e}`,`${o[e]}px`);a.roamingFrame="",o.inset&&(a.roamingDocked=o.level);for(let e of["panel","turn","trail","markdown","result","marks","tools"]){let t=document.createElement("link");t.rel="modulepreload",t.href=i(`roaming-${e}.js`),document.head.append(t)}r()}else requestAnimationFrame(()=>setTimeout(r)),addEventListener("load",r),addEventListener("click",e=>{let t=e.target.closest?.("[data-roaming-open]");!t||customElements.get("roaming-ask")||(e.preventDefault(),r().then(()=>t.click()))})}})();
