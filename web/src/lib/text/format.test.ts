import { expect, it } from 'vitest';
import { count, dollars, duration, shortPath, tokens } from './format';

it('numbers are short and have units', () => {
  expect([0, 999, 1234, 123_456, 2_500_000].map(tokens)).toEqual(['0', '999', '1.2k', '123k', '2.5M']);
  expect([0, 0.001, 0.42, 12].map(dollars)).toEqual(['$0.00', '<$0.01', '$0.42', '$12.00']);
  expect([48, 1500, 12_400, 83_000, 3_720_000].map(duration)).toEqual([
    '48 ms',
    '1.5 s',
    '12 s',
    '1 min 23 s',
    '1 h 2 min'
  ]);
  expect([count(1, 'line'), count(1204, 'line')]).toEqual(['1 line', '1,204 lines']);
});

it('a short path keeps its end', () => {
  expect(shortPath('/home/ana/code/site')).toBe('…/code/site');
  expect(shortPath('/tmp')).toBe('/tmp');
});
