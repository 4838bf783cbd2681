import { expect, it } from 'vitest';
import { choicesOf, isRisky } from './choices';
import type { PermissionRequest } from '$lib/protocol/types';

const request: PermissionRequest = {
  request_id: 'r',
  tool_name: 'bash',
  input: {},
  prompt: '?',
  options: ['allow', 'deny']
};

it('the server’s own choices come before the plain ones', () => {
  expect(choicesOf(request).map((choice) => choice.answer)).toEqual([
    { decision: 'allow' },
    { decision: 'deny' }
  ]);
  const choices: PermissionRequest['choices'] = [{ id: 'x', label: 'X', intent: 'allow' }];
  expect(choicesOf({ ...request, choices })).toMatchObject([{ id: 'x', answer: { choice_id: 'x' } }]);
});

it('what leads outside is marked', () => {
  expect(isRisky({ label: 'Outside the workspace', value: '/etc/hosts', format: 'path' })).toBe(true);
  expect(isRisky({ label: 'Folder', value: '/home/outside', format: 'path' })).toBe(false);
  expect(isRisky({ label: 'Command', value: 'rm outside', format: 'command' })).toBe(false);
});
