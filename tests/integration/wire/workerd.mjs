// Serves a site and its function in workerd, the runtime of Cloudflare: `node workerd.mjs MODULES FUNCTION SITE`; prints the URL.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, file, directory] = process.argv.slice(2);
const { Miniflare } = await import(pathToFileURL(createRequire(`${modules}/x`).resolve("miniflare")));
const worker = new Miniflare({
  modules: [{ type: "ESModule", path: "function.mjs", contents: readFileSync(file, "utf8") }],
  compatibilityDate: "2025-06-01",
  host: "127.0.0.1",
  cf: false,
  assets: { directory, binding: "ASSETS", routerConfig: { invoke_user_worker_ahead_of_assets: true, has_user_worker: true } },
});
console.log(String(await worker.ready));
