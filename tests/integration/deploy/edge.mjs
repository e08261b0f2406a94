// Serves a folder as a static host does, through the edge function of a recipe: `node edge.mjs HOST SITE RECIPES PORT`.
import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [host, site, recipes, port] = process.argv.slice(2);
const origin = `http://127.0.0.1:${port}`;
const types = { ".html": "text/html; charset=utf-8", ".md": "text/plain", ".json": "application/json" };

/** Returns the response of the static host, without negotiation. */
function respond(request) {
  let path = join(site, decodeURIComponent(new URL(request.url).pathname));
  if (existsSync(path) && statSync(path).isDirectory()) path = join(path, "index.html");
  const status = existsSync(path) ? 200 : 404;
  if (status === 404) path = join(site, "404.html");
  const headers = { "Content-Type": types[path.match(/\.\w+$/)[0]] ?? "text/plain", ETag: `"${path.length}"` };
  if (request.headers.get("If-None-Match") === headers.ETag) return new Response(null, { status: 304, headers });
  return new Response(request.method === "HEAD" ? null : readFileSync(path), { status, headers });
}

const load = (file) => import(pathToFileURL(join(recipes, file)));
let handle;
if (host === "cloudflare") {
  const { onRequest } = await load("functions/_middleware.js");
  const env = { ASSETS: { fetch: async (request) => respond(request) } };
  handle = (request) => onRequest({ request, env, next: async () => respond(request) });
} else {
  const { default: edge, config } = await load("netlify/edge-functions/markdown.js");
  const patterns = config.excludedPath.map((path) => new RegExp(`^${path.replaceAll(".", "\\.").replaceAll("*", ".*")}$`));
  handle = (request) => {
    const isExcluded = patterns.some((pattern) => pattern.test(new URL(request.url).pathname));
    if (isExcluded || !config.method.includes(request.method)) return respond(request);
    return edge(request, { next: async () => respond(request) });
  };
}

createServer(async (incoming, outgoing) => {
  const request = new Request(origin + incoming.url, { method: incoming.method, headers: incoming.headers });
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
