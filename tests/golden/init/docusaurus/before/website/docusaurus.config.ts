import type {Config} from '@docusaurus/types';

const config: Config = {
  title: 'Osier',
  url: process.env.SITE_URL || 'https://osier.example',
  baseUrl: '/docs/',
};
export default config;
