// Serves a folder as a static host does, through the function of `roaming function`: `node edge.mjs HOST SITE FILE PORT`.
// The paths of the files that the function reads are listed at /requests.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [host, site, file, port] = process.argv.slice(2);
const origin = `http://127.0.0.1:${port}`;
const types = { ".html": "text/html; charset=utf-8", ".md": "text/plain", ".json": "application/json" };
const requests = [];

/** Returns the response of the static host, without the function. */
function respond(request) {
  let path = join(site, decodeURIComponent(new URL(request.url).pathname));
  if (existsSync(path) && statSync(path).isDirectory()) path = join(path, "index.html");
  const status = existsSync(path) ? 200 : 404;
  if (status === 404) path = join(site, "404.html");
  const body = existsSync(path) ? readFileSync(path) : "Not found";
  const etag = `"${createHash("sha256").update(path).update(body).digest("hex")}"`;
  const headers = { "Content-Type": types[path.match(/\.\w+$/)[0]] ?? "text/plain", ETag: etag };
  if (request.headers.get("If-None-Match") === etag) return new Response(null, { status: 304, headers });
  return new Response(request.method === "HEAD" ? null : body, { status, headers });
}
async function fetchFile(request) {
  const { pathname, search } = new URL(request.url);
  requests.push(pathname + search);
  return respond(request);
}

const { default: edge, onRequest, config } = await import(pathToFileURL(file));
const waitUntil = (promise) => promise.catch(() => {});
let handle;
if (host === "cloudflare") {
  const env = { ASSETS: { fetch: fetchFile } };
  handle = (request) => onRequest({ request, env, next: async () => respond(request), waitUntil });
} else if (host === "workers") {
  handle = (request) => edge.fetch(request, { ASSETS: { fetch: fetchFile } }, { waitUntil });
} else {
  globalThis.fetch = fetchFile;
  const excluded = (config.excludedPath ?? []).map((path) => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll("*", ".*")}$`));
  const matcher = config.matcher ? new RegExp(`^${config.matcher}$`) : /^/;
  handle = async (request) => {
    const { pathname } = new URL(request.url);
    if (!matcher.test(pathname) || excluded.some((pattern) => pattern.test(pathname))) return respond(request);
    const response = await edge(request, { next: async () => respond(request) });
    if (!response.headers.has("x-middleware-next")) return response;
    const page = respond(request);
    for (const [name, value] of response.headers) if (!name.startsWith("x-middleware")) page.headers.set(name, value);
    return page;
  };
}

createServer(async (incoming, outgoing) => {
  if (incoming.url === "/requests") return outgoing.end(JSON.stringify(requests.splice(0)));
  const { method, headers: given } = incoming;
  const chunks = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const sent = /^(?:GET|HEAD)$/.test(method) ? undefined : Buffer.concat(chunks);
  const request = new Request(origin + incoming.url, { method, headers: given, body: sent });
  const response = await handle(request);
  const headers = Object.fromEntries(response.headers);
  let body = Buffer.from(await response.arrayBuffer());
  if (request.headers.get("Accept-Encoding")?.includes("gzip") && !headers["content-encoding"] && body.length) {
    headers["content-encoding"] = "gzip";
    body = gzipSync(body);
  }
  outgoing.writeHead(response.status, headers);
  outgoing.end(body);
}).listen(Number(port), "127.0.0.1");
