button.textContent = "Copy page";
