import { mount, unmount } from 'svelte';
import { expect, it } from 'vitest';
import { newCall, withResult } from '$lib/protocol/messages';
import ToolBody from './tool-body.svelte';

it('the pictures of a result are shown, and named where they were left out', () => {
  const target = document.createElement('div');
  const images = [
    { mime_type: 'image/png', data: 'iVBORw0=' },
    { mime_type: 'image/gif', data: '', omitted: true }
  ];
  const result = { content: { kind: 'text', text: 'a.png' } as const, isError: false, images };
  const call = withResult(newCall('c1', 'read'), result);
  const body = mount(ToolBody, { target, props: { call, state: 'done' } });
  const picture = target.querySelector('img');
  expect(picture?.getAttribute('src')).toBe('data:image/png;base64,iVBORw0=');
  expect(picture?.alt).toBe('From read');
  expect(target.textContent).toContain('A picture (image/gif), left out of this copy.');
  void unmount(body);
});
