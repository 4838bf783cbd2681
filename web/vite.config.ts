import { sveltekit } from '@sveltejs/kit/vite';
import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [tailwindcss(), sveltekit()],
  build: { target: 'es2022' },
  // Svelte would mount its server build in component tests.
  resolve: process.env.VITEST ? { conditions: ['browser'] } : {},
  server: {
    proxy: {
      // `npm run dev` beside a running daemon, which must list this origin in `allowed_origins`.
      '^/(bootstrap|enroll|logout|healthz|ws)': {
        target: 'http://127.0.0.1:7411',
        changeOrigin: true,
        ws: true
      }
    }
  },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts'] }
});
