import { expect, it } from 'vitest';
import { renderBlocks } from './markdown';

const html = (text: string) => renderBlocks(text).join('');

it('shows HTML as text', () => {
  const shown = html('<img src=x onerror=alert(1)> and <script>alert(1)</script>');
  expect(shown).not.toMatch(/<(img|script)/);
  expect(shown).toContain('&lt;img');
  expect(html('<div onclick="x">\n\nhi\n\n</div>')).not.toContain('<div');
});

it('opens links apart and refuses what runs code', () => {
  expect(html('[a](https://example.org)')).toContain('rel="noopener noreferrer nofollow"');
  expect(html('[a](https://example.org)')).toContain('target="_blank"');
  expect(html('[a](javascript:alert(1))')).not.toContain('javascript:');
});

it('fetches no picture', () => {
  const shown = html('![chart](https://example.org/a.png)');
  expect(shown).not.toContain('<img');
  expect(shown).toContain('not loaded');
  expect(html('![x](data:image/png;base64,AA==)')).toContain('<img');
});

it('colours code and escapes it', () => {
  const shown = html('```rust\nfn main() { "<b>" }\n```');
  expect(shown).toContain('hljs-keyword');
  expect(shown).toContain('&lt;b&gt;');
});

it('gives finished parts unchanged while the last one grows', () => {
  const before = renderBlocks('# One\n\nTwo and');
  const after = renderBlocks('# One\n\nTwo and **three**\n\n- four');
  expect(after[0]).toBe(before[0]);
  expect(after).toHaveLength(3);
});

it('leaves escape codes out', () => {
  expect(html('a\x1b[31mb')).toContain('ab');
});

it('lets a reference lead where this text says, also when it says so last', () => {
  const [open] = renderBlocks('See [the docs][1].\n\n');
  expect(open).not.toContain('<a');
  expect(html('See [the docs][1].\n\n[1]: https://one.test/')).toContain('href="https://one.test/"');
  expect(html('See [the docs][1].\n\n[1]: https://two.test/')).toContain('href="https://two.test/"');
});

it('shows as text what is nested too deeply to be understood', () => {
  expect(html(`${'> '.repeat(20_000)}deep <b>`)).toContain('deep &lt;b&gt;');
});
