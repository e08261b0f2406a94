// Uses the tools at a URL with the official client, in each protocol, and prints what they return: `node mcp_client.mjs MODULES URL`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, url] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(createRequire(`${modules}/x`).resolve(name)));
const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
const found = [];
for (const options of [{}, { versionNegotiation: { mode: { pin: "2026-07-28" } } }]) {
  const client = new Client({ name: "test", version: "1" }, options);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  const { content } = await client.callTool({ name: "grep", arguments: { pattern: "drain" } });
  found.push({ version: client.getNegotiatedProtocolVersion(), tools: tools.map(({ name }) => name), text: content[0].text });
  await client.close();
}
console.log(JSON.stringify(found));
