// The finder as WebMCP tools, for the agent of a browser: https://webmachinelearning.github.io/webmcp/
// It is loaded where the browser offers the API; index and sections are loaded when a tool is first called.
// The tools only read published files: nothing is sent to the endpoint.

const MOST_TEXT = 24_000; // characters of a result
const MOST_HITS = 20;
const HITS = 8; // if the call sets no limit
const MOST_LISTED = 100; // subsections
const LONGEST_QUERY = 1000; // characters

/** Register the tools. They are removed when `signal` aborts. */
export async function registerTools(host, context, signal) {
  const { page, words } = host.settings;
  for (const tool of describeTools(host, page.title || words.docs))
    try {
      await context.registerTool({ ...tool, annotations: { readOnlyHint: true } }, { signal });
    } catch {} // a policy of the page forbids it, or another element has registered the tool
}

function describeTools(host, site) {
  let library; // once a tool is called
  const withLibrary = (call) => async (input) => {
    try {
      const { Library } = await import("./roaming-library.js");
      library ??= new Library(host);
      await library.open();
      const { count } = library.finder;
      if (library.isLarge) throw new ToolError(`This site has ${count} sections, too many to search them in a browser.`);
      return reply(await call(library, input ?? {}));
    } catch (error) {
      // Browsers do not pass the message of an exception on to the agent.
      const reason = error instanceof ToolError ? error.message : "The sections cannot be read at the moment.";
      return reply(`${reason} All pages are listed at ${new URL("llms.txt", host.settings.page.base)}`, true);
    }
  };
  return [
    {
      name: "search_docs",
      description:
        `Search the documentation of ${site} by words. Returns the sections that match best: id, titles, address ` +
        "and first sentence. read_section opens a section by its id.",
      inputSchema: schema({
        query: { type: "string", minLength: 1, maxLength: LONGEST_QUERY, description: "Words as the documentation would put them." },
        limit: { type: "integer", minimum: 1, maximum: MOST_HITS, description: `Maximum number of sections (default: ${HITS}).` },
      }, "query"),
      execute: withLibrary(search),
    },
    {
      name: "read_section",
      description: `Read a section of the documentation of ${site} as Markdown, with its subsections unless they are too long.`,
      inputSchema: schema({ id: { type: "string", pattern: "^[0-9a-f]{8}$", description: "Id of the section, from search_docs." } }, "id"),
      execute: withLibrary(read),
    },
  ];
}
const schema = (properties, ...required) => ({ type: "object", properties, required, additionalProperties: false });
const reply = (text, isError) => ({ content: [{ type: "text", text }], ...(isError && { isError }) });

/** An error whose message the agent gets. */
class ToolError extends Error {}

async function search(library, { query, limit }) {
  if (typeof query !== "string" || !query.trim()) throw new ToolError("search_docs needs `query`, a text of one word or more.");
  const most = Math.min(Math.max(Math.trunc(limit) || HITS, 1), MOST_HITS);
  const found = await library.find(`${query.slice(0, LONGEST_QUERY)} `); // with a space the last word is complete
  if (!found.length) return "No section matches. Try other words.";
  const hits = found.slice(0, most).map((section) => {
    return [line(section), library.address(section), section.opening].filter(Boolean).join("\n");
  });
  return [`Best ${hits.length} of ${found.length} sections; read_section opens one by its id.`, ...hits].join("\n\n");
}

async function read(library, { id }) {
  const wanted = /\b[0-9a-f]{8}\b/.exec(String(id).toLowerCase())?.[0];
  if (!wanted) throw new ToolError("read_section needs `id`, 8 hexadecimal digits as search_docs returns them.");
  const section = library.finder.sections.find((one) => one.id === wanted);
  if (!section) throw new ToolError(`No section has the id ${wanted}. search_docs returns ids.`);
  const isWhole = library.size(section) <= MOST_TEXT;
  const text = (await library.text(section, { subsections: isWhole })).trim();
  const parts = [`${line(section)}\n${library.address(section)}`, text.slice(0, MOST_TEXT)];
  const inside = isWhole ? [] : section.page.sections.filter((one) => one.parent === section);
  const listed = inside.slice(0, MOST_LISTED).map(line).join("\n");
  if (listed) parts.push(`Subsections, which read_section opens:\n\n${listed}`);
  const whole = `The whole page: ${library.markdown(section.page)}`;
  if (text.length > MOST_TEXT) parts.push(`The text was cut after ${MOST_TEXT} characters. ${whole}`);
  else if (inside.length > MOST_LISTED) parts.push(`${inside.length - MOST_LISTED} more subsections. ${whole}`);
  return parts.filter(Boolean).join("\n\n");
}

const line = ({ id, path }) => `[${id}] ${path.join(" › ")}`;
