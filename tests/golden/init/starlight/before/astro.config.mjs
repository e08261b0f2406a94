import starlight from '@astrojs/starlight';
import { defineConfig } from 'astro/config';

export default defineConfig({
  site: 'https://osier.example',
  integrations: [starlight({ title: 'Osier' })],
});
