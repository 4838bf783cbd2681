import { expect, it } from 'vitest';
import { headAndTail, lastLine, plain, visible } from './plain';

it('takes escape codes and control characters out', () => {
  expect(plain('\x1b[1;32mok\x1b[0m')).toBe('ok');
  expect(plain('\x1b]8;;http://x\x07link\x1b]8;;\x07')).toBe('link');
  expect(plain('\x1b]0;title\x1b\\a\x00b\x9bc\td')).toBe('abc\td');
  expect(plain('\x1bPq#0\x1b\\x\x1bMy')).toBe('xy');
});

it('shows what a carriage return leaves of a line', () => {
  expect(plain('10 %\r50 %\r100 %\ndone\r\n')).toBe('100 %\ndone\n');
  expect(lastLine('a\nb\rc\n\n')).toBe('c');
});

it('hides nothing of what is decided on', () => {
  expect(visible('rm -rf ~\rls\x1b[8m\n\u202etxt')).toBe('rm -rf ~‹U+000D›ls‹U+001B›[8m\n‹U+202E›txt');
  expect(visible('a\r\nb\tc é')).toBe('a\nb\tc é');
});

it('keeps head and tail of what is long', () => {
  const text = Array.from({ length: 100 }, (_, at) => String(at)).join('\n');
  const { head, hidden, tail } = headAndTail(`${text}\n`, 2, 3);
  expect([head, hidden, tail]).toEqual(['0\n1', 95, '97\n98\n99']);
  expect(headAndTail('a\nb').hidden).toBe(0);
});

it('keeps what is left of each line after its carriage returns', () => {
  expect(plain('10%\r20%\rdone\nnext\r\n\r\nab\rc\r')).toBe('done\nnext\n\nc');
});

it('takes long lines and unfinished codes in one go', () => {
  const begun = performance.now();
  for (const text of [
    'y'.repeat(1e6),
    '\x1b[' + '!'.repeat(1e6),
    '\x1b[' + '0;'.repeat(5e5),
    '\r'.repeat(1e6)
  ]) {
    plain(text);
  }
  expect(performance.now() - begun).toBeLessThan(2000);
});
