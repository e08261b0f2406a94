(()=>{let a=`
    button { position: fixed; inset-block-end: 24px; inset-inline-end: 24px; z-index: 3; min-height: 44px; padding: 0 16px; border: 0;
      border-radius: 22px; font: inherit; color: Canvas; background: CanvasText; cursor: pointer }
    p { inset: auto 24px 80px auto; max-width: 20em; margin: 0; padding: 12px 16px; border: 1px solid; border-radius: 12px;
      color: CanvasText; background: Canvas }
    :host { all: initial; color-scheme: inherit; font: 15px/1.6 system-ui, sans-serif }
    @media print { :host { display: none } }
  `,t=document.querySelector("roaming-ask");if(location.protocol!=="file:"||!t)return;let{label:r,note:s}=document.currentScript.dataset,o=new CSSStyleSheet;o.replaceSync(a);let e=Object.assign(document.createElement("p"),{popover:"auto",textContent:s});e.role="status";let i=Object.assign(document.createElement("button"),{type:"button",textContent:r,popoverTargetElement:e}),n=t.attachShadow({mode:"open"});n.adoptedStyleSheets=[o],n.append(i,e),addEventListener("click",({target:c})=>c.closest("[data-roaming-open]")&&e.showPopover())})();
