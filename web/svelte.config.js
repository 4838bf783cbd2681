import adapter from '@sveltejs/adapter-static';

/** @type {import('@sveltejs/kit').Config} */
export default {
  kit: {
    // The daemon answers every page address with index.html; the client does the routing.
    adapter: adapter({ pages: 'build', assets: 'build', fallback: 'index.html', precompress: true }),
    // No page ever opens a remote address, so there is nothing to preload from elsewhere.
    version: { pollInterval: 0 }
  },
  compilerOptions: { runes: true }
};
