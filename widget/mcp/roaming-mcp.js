// A function for hosts of static sites: it answers MCP at the path `mcp` of a published site, and sends the Markdown of a
// page to clients that prefer it. `roaming function` writes it, with the lines that a host needs.

import { openSite, Unreadable } from "./site.js";
import { callTool } from "./tools.js";
import { pack, singleLine, truncate, unpack } from "./text.js";

const MODERN = "2026-07-28";
const VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const META = "io.modelcontextprotocol/";
const MOST_BODY = 65_536; // bytes
const PARSE = -32700, REQUEST = -32600, METHOD = -32601, PARAMS = -32602, MISMATCH = -32020, VERSION = -32022;
const JSON_TYPE = { "Content-Type": "application/json" };
// The files are public, and no request changes anything: pages of all sites may send requests.
const CORS = { "Access-Control-Allow-Origin": "*", "X-Content-Type-Options": "nosniff" };
const PREFLIGHT = {
  "Access-Control-Allow-Methods": "POST",
  "Access-Control-Allow-Headers": "accept, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id",
  "Access-Control-Max-Age": "600",
};

/**
 * Respond to a request for a static site.
 *
 * `server` has the tools, instructions and version; `fetchPage` returns what the host responds to the request itself,
 * `fetchFile` its response to a request for another file of the site.
 */
export async function handle(request, server, fetchPage, fetchFile) {
  const { pathname, href } = new URL(request.url);
  const isSite = () => openSite(new URL(".", href).href, fetchFile).then(() => true, () => false); // in a folder
  if (!pathname.endsWith("/mcp") || !(pathname === "/mcp" || (await isSite()))) return negotiate(request, fetchPage, fetchFile);
  const isPage = /^(?:GET|HEAD)$/.test(request.method) && !/text\/event-stream/.test(request.headers.get("Accept"));
  const page = isPage && (await negotiate(request, fetchPage, fetchFile));
  if (page && page.status !== 404) return page; // such as docs/mcp, about MCP
  const [status, body, headers] = await respond(request, server, fetchFile);
  return new Response(body, { status, headers: { ...CORS, ...headers } });
}

// ----------------------------------------------------------------------------------------------------------------- MCP

async function respond(request, server, fetchFile) {
  if (request.method === "OPTIONS") return [204, null, PREFLIGHT];
  if (request.method !== "POST") {
    const detail = "MCP needs POST here; there are no sessions and no event streams.";
    const problem = { type: "about:blank", title: "Method Not Allowed", status: 405, detail, code: "method" };
    return [405, JSON.stringify(problem), { "Content-Type": "application/problem+json", Allow: "POST" }];
  }
  const header = (name) => request.headers.get(name) ?? "";
  if (!/application\/(?:json|\*)|\*\/\*/.test(header("Accept")))
    return send(406, undefined, REQUEST, "Not Acceptable: Client must accept application/json");
  if (!/^application\/json\b/i.test(header("Content-Type"))) return [400, "Invalid Content-Type header"];
  if (header("Content-Length") > MOST_BODY) return [413, "Request body too large"];
  const body = await request.arrayBuffer();
  if (body.byteLength > MOST_BODY) return [413, "Request body too large"];
  let message;
  try {
    message = JSON.parse(new TextDecoder().decode(body));
  } catch {
    return send(400, undefined, PARSE, "Parse error");
  }
  const version = header("MCP-Protocol-Version");
  const isModern = version !== "" && !VERSIONS.includes(version);
  const { id, method, params = {} } = message ?? {};
  const isNamed = isObject(message) && message.jsonrpc === "2.0" && typeof method === "string";
  const isRequest = isNamed && (typeof id === "string" || Number.isInteger(id));
  const isNotification = isNamed && !isRequest && !(isModern && "id" in message);
  const isResponse = !isModern && isObject(message) && method === undefined && (message.result || message.error);
  if (!isRequest && !isNotification && !isResponse)
    return send(400, undefined, REQUEST, "Body must be a single JSON-RPC request or notification object");
  const unsupported = [400, id, VERSION, "Unsupported protocol version", { supported: [MODERN], requested: version }];
  if (!isRequest) return isModern && version !== MODERN ? send(...unsupported) : [202, null, JSON_TYPE];
  if (isModern) {
    const keys = [`${META}protocolVersion`, `${META}clientCapabilities`];
    const meta = params?._meta;
    const missing = keys.filter((key) => !(key in Object(meta)));
    const quoted = keys.map((key) => `'${key}'`).join(" and ");
    if (!isObject(meta)) return send(400, id, PARAMS, `params._meta must be an object carrying the required ${quoted} envelope keys`);
    if (missing.length) return send(400, id, PARAMS, `params._meta is missing the required envelope key(s): ${missing.join(", ")}`);
    const differs = (name, what) => send(400, id, MISMATCH, `${name} header does not match the request ${what}`);
    if (version !== meta[keys[0]]) return differs("mcp-protocol-version", "envelope's protocol version");
    if (header("Mcp-Method") !== method) return differs("mcp-method", "body's method");
    if (method === "tools/call" && params.name !== undefined && header("Mcp-Name") !== params.name) return differs("mcp-name", "body's 'name' parameter");
    if (version !== MODERN) return send(...unsupported);
  }
  const result = await dispatch(method, params, isModern, server, new URL(".", request.url).href, fetchFile);
  if (result === METHOD) return send(isModern ? 404 : 200, id, METHOD, "Method not found", method);
  if (result === PARAMS) return send(isModern ? 400 : 200, id, PARAMS, "Invalid request parameters", "");
  const extra = isModern ? { resultType: "complete", _meta: { [`${META}serverInfo`]: server.info } } : {};
  return [200, JSON.stringify({ jsonrpc: "2.0", id, result: { ...result, ...extra } }), JSON_TYPE];
}
const send = (status, id = null, code, message, data) => [status, JSON.stringify({ jsonrpc: "2.0", id, error: { code, message, data } }), JSON_TYPE];
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Return the result of a method, or the code of an error. */
async function dispatch(method, params, isModern, { info, instructions, tools }, base, fetchFile) {
  const about = { capabilities: { tools: { listChanged: false } }, instructions };
  const open = (fresh) => openSite(base, fetchFile, fresh);
  if (!isObject(params)) return PARAMS;
  if (method === "ping" && !isModern) return {};
  if (method === "initialize" && !isModern) {
    const { protocolVersion: asked, capabilities, clientInfo } = params;
    if (typeof asked !== "string" || !isObject(capabilities) || !isObject(clientInfo)) return PARAMS;
    return { ...about, protocolVersion: VERSIONS.includes(asked) ? asked : VERSIONS.at(-1), serverInfo: info };
  }
  if (method === "server/discover" && isModern) return { ...about, supportedVersions: [MODERN], ttlMs: 0, cacheScope: "private" };
  if (method === "tools/list") {
    const site = await open().catch(() => undefined); // they are listed nevertheless; a call reports the error
    const full = truncate(pack(singleLine(site?.name ?? "")), 80);
    const ends = full ? [`: ${unpack(full)}`, ` The documentation: ${unpack(full)}.`] : ["", ""];
    const named = tools.map((tool) => ({ ...tool, title: tool.title + ends[0], description: tool.description + ends[1] }));
    return { tools: named, ...(isModern && { ttlMs: 60_000, cacheScope: "public" }) };
  }
  if (method !== "tools/call") return METHOD;
  if (typeof params.name !== "string" || !isObject(params.arguments ?? {})) return PARAMS;
  const call = async (fresh) => {
    const site = await open(fresh);
    site.marker ??= Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
    const { text, isError } = await callTool(site, params.name, params.arguments, site.marker);
    return { content: [{ type: "text", text }], isError };
  };
  return call().catch(() => call(true)).catch((error) => { // a new deployment has other files
    if (!(error instanceof Unreadable)) console.error(error);
    const { message } = error instanceof Unreadable ? error : new Unreadable();
    return { content: [{ type: "text", text: `${message}\n` }], isError: true };
  });
}

// --------------------------------------------------------------------------------------------------------- Negotiation

const MARKDOWN = "text/markdown";

/** Return whether a client prefers Markdown: it names text/markdown, with no less weight than HTML. */
export function prefersMarkdown(accept) {
  const weights = new Map();
  for (const range of accept.toLowerCase().split(",")) {
    const [type, ...parameters] = range.split(";").map((part) => part.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(type, weight ? Number(weight.slice(2)) : 1);
  }
  const html = weights.get("text/html") ?? weights.get("text/*") ?? weights.get("*/*") ?? 0;
  return weights.get(MARKDOWN) > 0 && weights.get(MARKDOWN) >= html;
}

/** Return the path of a page's Markdown; undefined for files that are not pages. */
export function markdownPath(path) {
  if (path.endsWith("/")) return `${path}index.md`;
  if (path.endsWith(".html")) return path.replace(/\.html$/, ".md");
  return path.split("/").pop().includes(".") ? undefined : `${path}.md`;
}

/** Respond with a page or its Markdown. */
async function negotiate(request, fetchPage, fetchFile) {
  const url = new URL(request.url);
  const path = markdownPath(url.pathname);
  if (!path || !["GET", "HEAD"].includes(request.method)) return fetchPage();
  let response;
  if (prefersMarkdown(request.headers.get("Accept") ?? "")) {
    const file = await fetchFile(new Request(new URL(path, url), request));
    const isPage = file.headers.get("Content-Type")?.startsWith("text/html"); // a 404 page, or one for all paths
    if (file.status < 400 && !isPage) {
      response = new Response(file.body, file);
      response.headers.set("Content-Type", `${MARKDOWN}; charset=utf-8`);
      response.headers.delete("Content-Encoding"); // the body is decompressed
      response.headers.delete("Content-Length");
    }
  }
  if (!response) {
    const page = await fetchPage();
    response = new Response(page.body, page);
  }
  response.headers.append("Vary", "Accept");
  return response;
}
