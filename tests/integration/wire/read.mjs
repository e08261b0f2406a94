// Reads answers with the `ai` package's own reader and prints what it made of each, one JSON line for each file or
// address. A file is a golden stream, served from here over a real connection; an address is asked a question.
//
//   node read.mjs AI_FOLDER (FILE | URL)…
import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [folder, ...inputs] = process.argv.slice(2)
const require = createRequire(pathToFileURL(folder + '/package.json'))
const { DefaultChatTransport, readUIMessageStream } = await import(pathToFileURL(require.resolve('ai')).href)

const server = createServer(async (request, response) => {
  for await (const _ of request);
  response.writeHead(200, { 'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1' })
  const bytes = await readFile(decodeURIComponent(request.url.slice(1)))
  for (let at = 0; at < bytes.length; at += 97) response.write(bytes.subarray(at, at + 97)) // anywhere in a character
  response.end()
})
await new Promise(ready => server.listen(0, '127.0.0.1', ready))

for (const input of inputs) {
  const api = input.startsWith('http') ? input : `http://127.0.0.1:${server.address().port}/${encodeURIComponent(input)}`
  const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Which port is the default?' }] }]
  const transport = new DefaultChatTransport({ api })
  const stream = await transport.sendMessages({ chatId: 'c', messages, trigger: 'submit-message' })
  const [chunks, errors] = [[], []]
  let message = null
  const seen = stream.pipeThrough(new TransformStream({
    transform(chunk, controller) { chunks.push(chunk.type); controller.enqueue(chunk) },
  }))
  for await (const state of readUIMessageStream({ stream: seen, onError: error => errors.push(error.message) })) message = state
  console.log(JSON.stringify({ input, chunks, errors, message }))
}
server.close()
