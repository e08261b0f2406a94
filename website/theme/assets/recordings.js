// The panel of this site: recorded answers are played, other questions get the sections that fit.

const PAUSES = { "data-section": 350, "start-step": 600, "text-delta": 450 }; // milliseconds before a part
const normalize = (question) => question.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

const isLink = location.search || location.hash.startsWith("#roaming="); // the widget removes the fragment
await customElements.whenDefined("roaming-ask");
const panel = document.querySelector("roaming-ask");

/** Return the recordings by their questions. */
async function load() {
  const response = await fetch(new URL("recordings.json", import.meta.url));
  return new Map(Object.entries(await response.json()).map(([question, parts]) => [normalize(question), { question, parts }]));
}

/** Return a stream of the parts as the endpoint sends them. */
function play(parts, signal) {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async start(controller) {
      for (const part of parts) {
        await new Promise((resolve) => setTimeout(resolve, PAUSES[part.type] ?? 0));
        if (signal.aborted) return controller.error(signal.reason);
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(part)}\n\n`));
      }
      controller.close();
    },
  });
}

/** Return the parts of a recording, with the other questions as the next ones. */
function offerOthers(recordings, key) {
  const parts = recordings.get(key).parts;
  const questions = [...recordings].filter(([other]) => other !== key).map(([, one]) => one.question);
  return parts.toSpliced(-1, 0, { type: "data-followups", data: { questions } });
}

/** Ask the first recorded question when the place of the panel is in sight, once in a session. */
function begin(place, question) {
  new IntersectionObserver(([{ isIntersecting }], observer) => {
    if (!isIntersecting || sessionStorage.getItem("recordings") || panel.shadowRoot.querySelector("article")) return;
    observer.disconnect();
    sessionStorage.setItem("recordings", "played");
    panel.ask(question);
  }, { threshold: 0.6 }).observe(place);
}

if (panel?.getAttribute("endpoint") === "/recorded/") { // mkdocs serve has an endpoint of its own
  const recordings = await load();
  const ask = panel.ask;
  const back = Object.assign(document.createElement("button"), { hidden: true });
  back.dataset.roamingOpen = "";
  document.body.append(back);
  let searched; // again, it leads back to the recorded answers
  panel.ask = (question) => {
    const key = normalize(question);
    if (recordings.has(key)) return ask.call(panel, question);
    if (key === searched) return back.click(), (searched = undefined);
    searched = key;
    return panel.search(question);
  };
  panel.request = async ({ question }, signal) => new Response(play(offerOthers(recordings, normalize(question)), signal));
  addEventListener("pagehide", () => { // an answer that is not complete plays again
    if (!panel.shadowRoot.querySelector("article[aria-busy=true]")) return;
    panel.reset();
    sessionStorage.removeItem("recordings");
  });
  const place = document.querySelector("[data-roaming-panel]");
  if (place && !isLink && !matchMedia("(prefers-reduced-motion)").matches) begin(place, recordings.values().next().value.question);
}
