import llmstxt from 'vitepress-plugin-llms'

export default {title: 'Osier', vite: {plugins: [llmstxt()]}}
