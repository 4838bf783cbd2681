import { readFileSync } from 'node:fs';
import adapter from '@sveltejs/adapter-static';

const manifest = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));

/** @type {import('@sveltejs/kit').Config} */
export default {
  kit: {
    // The daemon answers every page address with index.html; the client does the routing.
    adapter: adapter({ pages: 'build', assets: 'build', fallback: 'index.html', precompress: true }),
    // Not the time of the build, so that the same sources give the same files.
    version: { name: manifest.version }
  },
  compilerOptions: { runes: true }
};
