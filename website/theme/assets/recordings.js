// The panel of this site: recorded answers are played, other questions get the sections that fit.

const PAUSES = { "data-section": 350, "start-step": 600, "text-delta": 450 }; // milliseconds before a part
const normalize = (question) => question.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim();

await customElements.whenDefined("roaming-ask");
const panel = document.querySelector("roaming-ask");

/** Return the recordings by their questions. */
async function load() {
  const response = await fetch(new URL("recordings.json", import.meta.url));
  return new Map(Object.entries(await response.json()).map(([question, parts]) => [normalize(question), parts]));
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

if (panel?.getAttribute("endpoint") === "/recorded/") { // mkdocs serve has an endpoint of its own
  let recordings;
  const ask = panel.ask;
  panel.ask = async (question) => {
    recordings ??= await load();
    return recordings.has(normalize(question)) ? ask.call(panel, question) : panel.search(question);
  };
  panel.request = async ({ question }, signal) => new Response(play(recordings.get(normalize(question)), signal));
}
