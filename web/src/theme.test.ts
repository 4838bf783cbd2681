import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const css = readFileSync('src/theme.css', 'utf8');

function colours(theme: string): Map<string, string> {
  const block = css.split(`[data-theme='${theme}'] {`)[1]?.split('}')[0] ?? '';
  return new Map(
    [...block.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name!, value!])
  );
}

function luminance(hex: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light! + 0.05) / (dark! + 0.05);
}

const greys = ['foreground', 'muted', 'faint'];
const surfaces = ['background', 'panel', 'raised', 'sunken', 'hover', 'accent-soft'];
const code = ['keyword', 'string', 'number', 'title', 'type', 'comment'].map((name) => `code-${name}`);
const pairs: [string, string][] = [
  ...greys.flatMap((text) => surfaces.map((surface): [string, string] => [text, surface])),
  ...code.map((text): [string, string] => [text, 'sunken']),
  ...['background', 'panel', 'raised', 'sunken'].flatMap((surface): [string, string][] => [
    ['accent', surface],
    ['waits', surface],
    ['failed', surface],
    ['done', surface]
  ]),
  ['accent-foreground', 'accent'],
  ['waits', 'waits-soft'],
  ['muted', 'waits-soft'],
  ['failed', 'waits-soft'],
  ['failed', 'failed-soft'],
  ['muted', 'failed-soft'],
  ['foreground', 'diff-add'],
  ['foreground', 'diff-del']
];

it.each(['light', 'dark'])('text of the %s theme is readable on every surface', (theme) => {
  const known = colours(theme);
  const poor = pairs
    .map(([text, surface]) => ({ text, surface, ratio: contrast(known.get(text)!, known.get(surface)!) }))
    .filter(({ ratio }) => !(ratio >= 4.5))
    .map(({ text, surface, ratio }) => `${text} on ${surface}: ${ratio.toFixed(2)}`);
  expect(poor).toEqual([]);
});
