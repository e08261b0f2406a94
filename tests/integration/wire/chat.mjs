// Asks questions with the `ai` package's chat, renders it with `useChat`, and prints one JSON line for each question.
//
//   node chat.mjs FOLDER URL QUESTION…                      each question in a conversation of its own
//   node chat.mjs FOLDER URL --one-conversation QUESTION…
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [folder, api, ...rest] = process.argv.slice(2)
const together = rest[0] === '--one-conversation'
const questions = together ? rest.slice(1) : rest
const require = createRequire(pathToFileURL(folder + '/package.json'))
const load = name => import(pathToFileURL(require.resolve(name)).href)
const { DefaultChatTransport } = await load('ai')
const { Chat, useChat } = await load('@ai-sdk/react')
const { createElement } = (await load('react')).default
const { renderToStaticMarkup } = (await load('react-dom/server')).default

function App({ chat }) {
  const { messages } = useChat({ chat })
  const texts = messages.filter(message => message.role === 'assistant').flatMap(message => message.parts)
    .filter(part => part.type === 'text').map((part, at) => createElement('p', { key: at }, part.text))
  return createElement('main', null, texts)
}

const begin = () => new Chat({ transport: new DefaultChatTransport({ api }), onError: () => {} })
const conversation = begin()
for (const question of questions) {
  const chat = together ? conversation : begin()
  await chat.sendMessage({ text: question })
  const states = chat.messages.at(-1).parts.filter(part => part.type === 'data-status').map(part => part.data.state)
  const html = renderToStaticMarkup(createElement(App, { chat }))
  console.log(JSON.stringify({ question, html, states, status: chat.status, error: chat.error?.message ?? null }))
}
