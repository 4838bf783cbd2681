import { flushSync, mount, unmount } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';
import type { Conversation } from '$lib/protocol/conversation.svelte';
import type { PermissionRequest } from '$lib/protocol/types';
import AskCard from './ask-card.svelte';

const request: PermissionRequest & { type: 'permission_request' } = {
  type: 'permission_request',
  request_id: 'req-1',
  tool_name: 'bash',
  input: {},
  prompt: 'Run this command?',
  options: ['allow', 'deny'],
  details: [{ label: 'Command', value: 'cargo test', format: 'command' }],
  choices: [
    { id: 'once', label: 'Allow once', accelerator: 'a', intent: 'allow' },
    { id: 'exact', label: 'Always', accelerator: 'A', intent: 'persist' },
    { id: 'no', label: 'Deny', accelerator: 'd', intent: 'deny' }
  ]
};

let shown: ReturnType<typeof mount> | undefined;

function show(sending = false, more: Partial<PermissionRequest> = {}) {
  const answerPermission = vi.fn(() => Promise.resolve());
  const conversation = { answerPermission } as unknown as Conversation;
  shown = mount(AskCard, {
    target: document.body,
    props: { open: { request: { ...request, ...more }, sending }, conversation }
  });
  flushSync();
  const by = (id: string) => document.querySelector<HTMLElement>(`[data-testid="${id}"]`)!;
  const press = (target: HTMLElement, key: string, more: KeyboardEventInit = {}) =>
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, ...more }));
  return { answerPermission, by, press };
}

afterEach(() => {
  if (shown) void unmount(shown);
  document.body.replaceChildren();
});

it('keys pick a choice when the card itself has the focus, capital letters apart', () => {
  const { answerPermission, by, press } = show();
  press(by('ask-card'), 'x');
  press(by('ask-card'), 'a', { ctrlKey: true });
  expect(answerPermission).not.toHaveBeenCalled();
  press(by('ask-card'), 'A');
  expect(answerPermission).toHaveBeenCalledExactlyOnceWith('req-1', { choice_id: 'exact' }, undefined);
});

it('keys that are typed into its field answer nothing', () => {
  const { answerPermission, by, press } = show();
  press(by('ask-reason'), 'a');
  press(by('ask-reason'), 'd');
  expect(answerPermission).not.toHaveBeenCalled();
});

it('a denial takes its reason along, an approval does not', () => {
  const { answerPermission, by, press } = show();
  const field = by('ask-reason') as HTMLInputElement;
  field.value = 'use cargo nextest';
  field.dispatchEvent(new Event('input', { bubbles: true }));
  press(field, 'Enter');
  expect(answerPermission).toHaveBeenLastCalledWith('req-1', { choice_id: 'no' }, 'use cargo nextest');
  by('ask-choice-once').click();
  expect(answerPermission).toHaveBeenLastCalledWith('req-1', { choice_id: 'once' }, undefined);
});

it('what the server offers besides is shown with what it means, and picked by its key', () => {
  const form = {
    id: 'form',
    label: 'Always allow `cargo test`, flags in any order',
    description: 'Remembers the form of this command.',
    accelerator: 's',
    intent: 'persist' as const
  };
  const { answerPermission, by, press } = show(false, { choices: [...request.choices!, form] });
  const button = by('ask-choice-form');
  expect(button.textContent).toContain(form.label);
  const described = document.getElementById(button.getAttribute('aria-describedby')!);
  expect(described?.textContent).toContain(form.description);
  press(by('ask-card'), 's');
  expect(answerPermission).toHaveBeenCalledExactlyOnceWith('req-1', { choice_id: 'form' }, undefined);
});

it('nothing can be answered twice', () => {
  const { answerPermission, by, press } = show(true);
  press(by('ask-card'), 'a');
  by('ask-choice-once').click();
  expect(answerPermission).not.toHaveBeenCalled();
});
