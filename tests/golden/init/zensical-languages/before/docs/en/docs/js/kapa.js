script.src = "https://widget.kapa.ai/kapa-widget.bundle.js";
